//! A compiled placement policy: selectors and quantities are parsed, and the names of properties are
//! collected, once per change of the policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::selector::Selector;

use crate::kind::{
    ClusterAffinity, ClusterSelectorTerm, PlacementPolicy, PlacementType, PropertyRequirement, Taint,
    Toleration,
};
use crate::names::MAX_CONSTRAINTS;

/// The mode of a policy, by which clusters are chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mode {
    /// PickAll: every cluster that fits.
    All,
    /// PickN: the best clusters that fit, up to this number.
    Number(usize),
    /// PickFixed: the clusters with these names.
    Fixed(Vec<Arc<str>>),
}

/// A compiled policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    /// The mode, by which clusters are chosen.
    pub(crate) mode: Mode,
    /// The required terms. At least one of them must match a cluster, unless the list is empty.
    pub(crate) required: Vec<Term>,
    /// The preferred terms, without terms whose weight is 0.
    pub(crate) preferred: Vec<PreferredTerm>,
    /// The tolerations of taints.
    pub(crate) tolerations: Vec<Toleration>,
    /// The topology spread constraints.
    pub(crate) spread: Vec<Constraint>,
    /// The names of the properties on which decisions depend.
    properties: BTreeSet<String>,
}

/// A required term: requirements on a cluster, all of which must be met.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The requirements on labels of a cluster.
    pub(crate) labels: Selector,
    /// The requirements on properties of a cluster.
    pub(crate) properties: Vec<PropertyTest>,
}

/// A requirement on one property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PropertyTest {
    /// The name of the property.
    pub(crate) name: String,
    /// The comparison of the property's value with the quantity.
    pub(crate) operator: Operator,
    /// The quantity to compare with.
    pub(crate) value: Quantity,
    /// The text of the quantity in the policy.
    pub(crate) text: String,
}

/// A comparison of the value of a property with a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    /// Greater than.
    Gt,
    /// Greater than or equal to.
    Ge,
    /// Equal to.
    Eq,
    /// Not equal to.
    Ne,
    /// Less than.
    Lt,
    /// Less than or equal to.
    Le,
}

impl Operator {
    /// The operator with this name in the API.
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "Gt" => Self::Gt,
            "Ge" => Self::Ge,
            "Eq" => Self::Eq,
            "Ne" => Self::Ne,
            "Lt" => Self::Lt,
            "Le" => Self::Le,
            _ => return None,
        })
    }

    /// The name of the operator in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Gt => "Gt",
            Self::Ge => "Ge",
            Self::Eq => "Eq",
            Self::Ne => "Ne",
            Self::Lt => "Lt",
            Self::Le => "Le",
        }
    }
}

impl PropertyTest {
    /// Whether `value`, the value of the property, passes. A missing property, `None`, does not pass.
    pub(crate) fn passes(&self, value: Option<Quantity>) -> bool {
        value.is_some_and(|value| match self.operator {
            Operator::Gt => value > self.value,
            Operator::Ge => value >= self.value,
            Operator::Eq => value == self.value,
            Operator::Ne => value != self.value,
            Operator::Lt => value < self.value,
            Operator::Le => value <= self.value,
        })
    }
}

/// A preferred term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreferredTerm {
    /// The weight of the term in the affinity score of a matching cluster.
    pub(crate) weight: i32,
    /// The requirements on labels of a cluster that matches the term.
    pub(crate) labels: Selector,
    /// The property that scales the weight, if any.
    pub(crate) sorter: Option<Sorter>,
}

/// A property that scales a weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sorter {
    /// The name of the property.
    pub(crate) name: String,
    /// Whether the largest value gets the full weight; otherwise, the smallest value does.
    pub(crate) descending: bool,
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Constraint {
    /// The key of the label whose values are the topology domains.
    pub(crate) key: String,
    /// The largest allowed difference between the numbers of clusters in the fullest and the emptiest domain.
    pub(crate) max_skew: i64,
    /// Whether a cluster that would violate the constraint is refused; otherwise, only its score is lower.
    pub(crate) hard: bool,
}

impl Policy {
    /// Compiles `policy`. A placement without a policy counts as PickAll.
    ///
    /// # Errors
    /// All reasons why the policy cannot be compiled, as one text. Only a placement that was stored without
    /// the validation of its kind has such a policy.
    pub(crate) fn compile(policy: Option<&PlacementPolicy>) -> Result<Self, String> {
        let none = PlacementPolicy::default();
        let policy = policy.unwrap_or(&none);
        let affinity = policy
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.cluster_affinity.as_ref());
        let mut errors = Vec::new();
        let mode = mode(policy, &mut errors);
        let required = required_terms(affinity, &mut errors);
        let preferred = preferred_terms(affinity, &mut errors);
        let constraints = &policy.topology_spread_constraints;
        if constraints.len() > MAX_CONSTRAINTS {
            let path = "spec.policy.topologySpreadConstraints";
            errors.push(FieldError::too_many(path, constraints.len(), MAX_CONSTRAINTS));
        }
        let spread = constraints.iter().map(|constraint| Constraint {
            key: constraint.topology_key.clone(),
            max_skew: constraint.max_skew.unwrap_or(1).into(),
            hard: constraint.when_unsatisfiable != "ScheduleAnyway",
        });
        if !errors.is_empty() {
            return Err(berth_apimachinery::field::aggregate(&errors));
        }
        Ok(Self {
            mode,
            spread: spread.collect(),
            tolerations: policy.tolerations.clone(),
            properties: property_names(&required, &preferred),
            required,
            preferred,
        })
    }

    /// The names of the properties on which decisions depend.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(String::as_str)
    }

    /// Whether a decision depends on any of the `changed` properties.
    pub(crate) fn uses_property<'a>(&self, mut changed: impl Iterator<Item = &'a str>) -> bool {
        !self.properties.is_empty() && changed.any(|name| self.properties.contains(name))
    }
}

/// The path of the affinity in a placement.
const AFFINITY: &str = "spec.policy.affinity.clusterAffinity";

fn mode(policy: &PlacementPolicy, errors: &mut Vec<FieldError>) -> Mode {
    match policy.placement_type {
        PlacementType::PickAll => Mode::All,
        PlacementType::PickN => Mode::Number(number(policy, errors)),
        PlacementType::PickFixed => {
            let mut seen = BTreeSet::new();
            let names = policy.cluster_names.iter().filter(|name| seen.insert(*name));
            Mode::Fixed(names.map(|name| name.as_str().into()).collect())
        }
    }
}

fn required_terms(affinity: Option<&ClusterAffinity>, errors: &mut Vec<FieldError>) -> Vec<Term> {
    let terms = affinity
        .and_then(|affinity| affinity.required.as_ref())
        .map(|required| required.cluster_selector_terms.as_slice())
        .unwrap_or_default();
    let required = terms.iter().enumerate().map(|(index, term)| {
        let list = "requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms";
        let path = format!("{AFFINITY}.{list}[{index}]");
        Term {
            labels: labels(term, &path, errors),
            properties: property_tests(term, &path, errors),
        }
    });
    required.collect()
}

fn preferred_terms(affinity: Option<&ClusterAffinity>, errors: &mut Vec<FieldError>) -> Vec<PreferredTerm> {
    let terms = affinity
        .map(|affinity| affinity.preferred.as_slice())
        .unwrap_or_default();
    let preferred = terms.iter().enumerate().map(|(index, preferred)| {
        let path = format!("{AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference");
        let sorter = preferred.preference.property_sorter.as_ref();
        PreferredTerm {
            weight: preferred.weight,
            labels: labels(&preferred.preference, &path, errors),
            sorter: sorter.map(|sorter| Sorter {
                name: sorter.name.clone(),
                descending: sorter.sort_order == "Descending",
            }),
        }
    });
    preferred.filter(|preferred| preferred.weight != 0).collect()
}

fn number(policy: &PlacementPolicy, errors: &mut Vec<FieldError>) -> usize {
    const PATH: &str = "spec.policy.numberOfClusters";
    match policy.number_of_clusters {
        None => {
            errors.push(FieldError::required(
                PATH,
                "must be specified when placementType is PickN",
            ));
            0
        }
        Some(number) => usize::try_from(number).unwrap_or_else(|_| {
            errors.push(FieldError::invalid(
                PATH,
                number,
                "must be greater than or equal to 0",
            ));
            0
        }),
    }
}

fn labels(term: &ClusterSelectorTerm, path: &str, errors: &mut Vec<FieldError>) -> Selector {
    let Some(selector) = &term.label_selector else {
        return Selector::default();
    };
    Selector::compile(selector, &format!("{path}.labelSelector")).unwrap_or_else(|problems| {
        errors.extend(problems);
        Selector::default()
    })
}

fn property_tests(term: &ClusterSelectorTerm, path: &str, errors: &mut Vec<FieldError>) -> Vec<PropertyTest> {
    let requirements = term
        .property_selector
        .as_ref()
        .map(|selector| selector.match_expressions.as_slice());
    let requirements = requirements.unwrap_or_default().iter().enumerate();
    let mut list = Vec::new();
    for (index, requirement) in requirements {
        match property_test(requirement) {
            Ok(test) => list.push(test),
            Err(problem) => {
                let path = format!("{path}.propertySelector.matchExpressions[{index}]");
                errors.push(FieldError::invalid(path, requirement.values.clone(), problem));
            }
        }
    }
    list
}

fn property_test(requirement: &PropertyRequirement) -> Result<PropertyTest, String> {
    let [text] = requirement.values.as_slice() else {
        return Err("must have exactly one value, a quantity".to_owned());
    };
    Ok(PropertyTest {
        name: requirement.name.clone(),
        operator: Operator::parse(&requirement.operator).ok_or_else(|| {
            format!(
                "\"{}\" is not an operator: use Gt, Ge, Eq, Ne, Lt or Le",
                requirement.operator
            )
        })?,
        value: Quantity::parse(text)?,
        text: text.clone(),
    })
}

/// The names of the properties on which the terms depend.
fn property_names(required: &[Term], preferred: &[PreferredTerm]) -> BTreeSet<String> {
    let tests = required
        .iter()
        .flat_map(|term| &term.properties)
        .map(|test| &test.name);
    let sorters = preferred
        .iter()
        .filter_map(|preferred| preferred.sorter.as_ref())
        .map(|sorter| &sorter.name);
    tests.chain(sorters).cloned().collect()
}

/// The index of the first of `taints` that none of `tolerations` tolerates (docs/systems/fleet.md, "Taints").
pub(crate) fn first_untolerated(taints: &[Taint], tolerations: &[Toleration]) -> Option<usize> {
    taints
        .iter()
        .position(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let matches = match toleration.operator.as_str() {
        "Exists" => toleration.key.is_empty() || toleration.key == taint.key,
        "" | "Equal" => toleration.key == taint.key && toleration.value == taint.value,
        _ => false,
    };
    effect && matches
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn taints_are_tolerated_as_documented() {
        let taint = Taint {
            key: "gpu".to_owned(),
            value: "yes".to_owned(),
            effect: "NoSchedule".to_owned(),
        };
        for (toleration, passes) in [
            (json!({"key": "gpu", "operator": "Equal", "value": "yes"}), true),
            (
                json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"}),
                true,
            ),
            (json!({"key": "gpu", "operator": "Equal", "value": "no"}), false),
            (json!({"key": "gpu", "operator": "Exists"}), true),
            (json!({"operator": "Exists"}), true),
            (json!({"operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"key": "tpu", "operator": "Exists"}), false),
            (json!({"key": "gpu", "operator": "Near", "value": "yes"}), false),
        ] {
            let list = [Toleration::deserialize(&toleration).unwrap()];
            assert_eq!(
                first_untolerated(std::slice::from_ref(&taint), &list).is_none(),
                passes,
                "{toleration}"
            );
        }
        assert_eq!(first_untolerated(std::slice::from_ref(&taint), &[]), Some(0));
        assert_eq!(first_untolerated(&[], &[]), None);
    }

    #[test]
    fn a_policy_has_at_most_a_hundred_topology_spread_constraints() {
        for (count, is_valid) in [(100, true), (101, false)] {
            let constraints = vec![json!({"topologyKey": "zone"}); count];
            let policy = json!({
                "placementType": "PickN", "numberOfClusters": 1, "topologySpreadConstraints": constraints,
            });
            let policy = PlacementPolicy::deserialize(policy).unwrap();
            assert_eq!(Policy::compile(Some(&policy)).is_ok(), is_valid, "{count}");
        }
    }

    #[test]
    fn properties_compare_as_exact_quantities() {
        let test = |operator: &str, value: &str| {
            let requirement = json!({"name": "p", "operator": operator, "values": ["1"]});
            property_test(&PropertyRequirement::deserialize(requirement).unwrap())
                .unwrap()
                .passes(Some(Quantity::parse(value).unwrap()))
        };
        let expected = [
            ("Gt", [false, false, true]),
            ("Ge", [false, true, true]),
            ("Eq", [false, true, false]),
            ("Ne", [true, false, true]),
            ("Lt", [true, false, false]),
            ("Le", [true, true, false]),
        ];
        for (operator, results) in expected {
            assert_eq!(
                ["999m", "1000m", "1.000000001"].map(|value| test(operator, value)),
                results,
                "{operator}"
            );
        }
    }
}
