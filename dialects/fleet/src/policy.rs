//! A compiled placement policy: selectors and quantities are parsed and names are collected once per change
//! of a placement.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::FieldError;
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::selector::Selector;

use crate::kind::{
    ClusterSelectorTerm, PlacementPolicy, PlacementType, PropertyRequirement, Taint, Toleration,
};

/// The mode of a policy: the requested number of clusters, and the rule for them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Every cluster that fits.
    All,
    /// The best clusters, up to this number.
    Number(usize),
    /// The clusters with these names.
    Fixed(Vec<Arc<str>>),
}

/// A compiled policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    /// The requested number of clusters, and the rule for them.
    pub(crate) mode: Mode,
    /// The required terms, one of which must match, unless the list is empty.
    pub(crate) required: Vec<Term>,
    /// The preferred terms, without terms of the weight 0.
    pub(crate) preferred: Vec<PreferredTerm>,
    /// The tolerated taints.
    pub(crate) tolerations: Vec<Toleration>,
    /// The topology spread constraints.
    pub(crate) spread: Vec<Constraint>,
    /// The names of the properties on which decisions depend.
    properties: BTreeSet<String>,
}

/// A required term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// The labels that a cluster must have.
    pub(crate) labels: Selector,
    /// The requirements on properties of a cluster.
    pub(crate) properties: Vec<Test>,
}

/// A requirement on one property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    /// The property.
    pub(crate) name: String,
    /// The comparison.
    pub(crate) operator: Operator,
    /// The quantity to compare with.
    pub(crate) value: Quantity,
    /// The text of the quantity in the policy.
    pub(crate) text: String,
}

/// The comparison of a property.
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
    fn named(name: &str) -> Option<Self> {
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

    /// The token.
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

impl Test {
    /// Whether the property's value passes; a missing property does not.
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
    /// The score of a match.
    pub(crate) weight: i32,
    /// The labels that a cluster must have.
    pub(crate) labels: Selector,
    /// The property that scales the weight.
    pub(crate) sorter: Option<Sorter>,
}

/// A property that scales a weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sorter {
    /// The property.
    pub(crate) name: String,
    /// Whether the largest value gets the whole weight, not the smallest.
    pub(crate) descending: bool,
}

/// A topology spread constraint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Constraint {
    /// The key of the label.
    pub(crate) key: String,
    /// The largest allowed difference between the fullest and the emptiest domain.
    pub(crate) max_skew: i64,
    /// Whether a violation refuses the cluster.
    pub(crate) hard: bool,
}

impl Policy {
    /// Compiles `policy`. Without a policy, every cluster that fits is picked.
    ///
    /// # Errors
    /// All reasons why the policy cannot be compiled, in one text. They occur for an object that was stored
    /// without the kind's validation.
    pub(crate) fn compile(policy: Option<&PlacementPolicy>) -> Result<Self, String> {
        let none = PlacementPolicy::default();
        let policy = policy.unwrap_or(&none);
        let affinity = policy
            .affinity
            .as_ref()
            .and_then(|affinity| affinity.cluster_affinity.as_ref());
        let mut errors = Vec::new();
        let mode = match policy.placement_type {
            PlacementType::PickAll => Mode::All,
            PlacementType::PickN => Mode::Number(number(policy, &mut errors)),
            PlacementType::PickFixed => {
                let mut seen = BTreeSet::new();
                let names = policy.cluster_names.iter().filter(|name| seen.insert(*name));
                Mode::Fixed(names.map(|name| name.as_str().into()).collect())
            }
        };
        let path = "spec.policy.affinity.clusterAffinity";
        let terms = affinity
            .and_then(|affinity| affinity.required.as_ref())
            .map(|required| required.cluster_selector_terms.as_slice())
            .unwrap_or_default();
        let required = terms.iter().enumerate().map(|(index, term)| {
            let list = "requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms";
            let path = format!("{path}.{list}[{index}]");
            Term {
                labels: labels(term, &path, &mut errors),
                properties: tests(term, &path, &mut errors),
            }
        });
        let required: Vec<Term> = required.collect();
        let preferred = affinity
            .map(|affinity| affinity.preferred.as_slice())
            .unwrap_or_default();
        let preferred = preferred.iter().enumerate().map(|(index, preferred)| {
            let path = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference");
            PreferredTerm {
                weight: preferred.weight,
                labels: labels(&preferred.preference, &path, &mut errors),
                sorter: preferred
                    .preference
                    .property_sorter
                    .as_ref()
                    .map(|sorter| Sorter {
                        name: sorter.name.clone(),
                        descending: sorter.sort_order == "Descending",
                    }),
            }
        });
        let preferred: Vec<PreferredTerm> = preferred.filter(|preferred| preferred.weight != 0).collect();
        let spread = policy
            .topology_spread_constraints
            .iter()
            .map(|constraint| Constraint {
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
            properties: names(&required, &preferred),
            required,
            preferred,
        })
    }

    /// The names of the properties on which decisions depend.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &str> {
        self.properties.iter().map(String::as_str)
    }

    /// Whether a decision depends on any of these properties.
    pub(crate) fn uses_property<'a>(&self, mut changed: impl Iterator<Item = &'a str>) -> bool {
        !self.properties.is_empty() && changed.any(|name| self.properties.contains(name))
    }
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

fn tests(term: &ClusterSelectorTerm, path: &str, errors: &mut Vec<FieldError>) -> Vec<Test> {
    let requirements = term
        .property_selector
        .as_ref()
        .map(|selector| selector.match_expressions.as_slice());
    let requirements = requirements.unwrap_or_default().iter().enumerate();
    let mut list = Vec::new();
    for (index, requirement) in requirements {
        match test(requirement) {
            Ok(test) => list.push(test),
            Err(problem) => {
                let path = format!("{path}.propertySelector.matchExpressions[{index}]");
                errors.push(FieldError::invalid(path, requirement.values.clone(), problem));
            }
        }
    }
    list
}

fn test(requirement: &PropertyRequirement) -> Result<Test, String> {
    let [text] = requirement.values.as_slice() else {
        return Err("must have exactly one value".to_owned());
    };
    Ok(Test {
        name: requirement.name.clone(),
        operator: Operator::named(&requirement.operator)
            .ok_or_else(|| format!("\"{}\" is no operator", requirement.operator))?,
        value: Quantity::parse(text)?,
        text: text.clone(),
    })
}

fn names(required: &[Term], preferred: &[PreferredTerm]) -> BTreeSet<String> {
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

/// The index of the first of `taints` that no toleration covers (docs/systems/fleet.md, "Taints").
pub(crate) fn untolerated(taints: &[Taint], tolerations: &[Toleration]) -> Option<usize> {
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
                untolerated(std::slice::from_ref(&taint), &list).is_none(),
                passes,
                "{toleration}"
            );
        }
        assert_eq!(untolerated(std::slice::from_ref(&taint), &[]), Some(0));
        assert_eq!(untolerated(&[], &[]), None);
    }

    #[test]
    fn properties_compare_as_exact_quantities() {
        let test = |operator: &str, value: &str| {
            let requirement = json!({"name": "p", "operator": operator, "values": ["1"]});
            test(&PropertyRequirement::deserialize(requirement).unwrap())
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
