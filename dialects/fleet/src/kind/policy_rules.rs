//! Rules for a placement policy beyond its schema (docs/systems/fleet.md, "Placement policy"). All errors are
//! returned at once, each with the path of a field.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use berth_apimachinery::FieldError;
use berth_apimachinery::quantity::Quantity;
use berth_apimachinery::selector::{Selector, validate_label_key, validate_label_value};

use serde_json::Value;

use super::policy::{ClusterAffinity, ClusterSelectorTerm, PlacementPolicy, PlacementType, Toleration};
use super::property;
use crate::names::MAX_NAME_LENGTH;

/// All errors in `policy`, which is at `path` and was parsed from `raw`.
pub(super) fn errors(policy: &PlacementPolicy, raw: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_unused_fields(policy, raw, path, &mut errors);
    match policy.placement_type {
        PlacementType::PickN if policy.number_of_clusters.is_none() => {
            let detail = "must be specified when placementType is PickN";
            errors.push(FieldError::required(format!("{path}.numberOfClusters"), detail));
        }
        PlacementType::PickFixed => check_cluster_names(&policy.cluster_names, path, &mut errors),
        PlacementType::PickAll | PlacementType::PickN => {}
    }
    if let Some(affinity) = policy
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.cluster_affinity.as_ref())
    {
        let path = format!("{path}.affinity.clusterAffinity");
        check_affinity(policy.placement_type, affinity, &path, &mut errors);
    }
    for (index, constraint) in policy.topology_spread_constraints.iter().enumerate() {
        if let Err(problem) = validate_label_key(&constraint.topology_key) {
            let path = format!("{path}.topologySpreadConstraints[{index}].topologyKey");
            errors.push(FieldError::invalid(
                path,
                constraint.topology_key.as_str(),
                problem,
            ));
        }
    }
    check_tolerations(&policy.tolerations, path, &mut errors);
    errors
}

/// Adds the errors of fields that the type of the policy does not use. Empty fields are refused, too, except
/// for an empty clusterNames with PickN.
fn check_unused_fields(policy: &PlacementPolicy, raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let refused: &[&str] = match policy.placement_type {
        PlacementType::PickAll => &["clusterNames", "numberOfClusters", "topologySpreadConstraints"],
        PlacementType::PickN if !policy.cluster_names.is_empty() => &["clusterNames"],
        PlacementType::PickN => &[],
        PlacementType::PickFixed => &[
            "numberOfClusters",
            "affinity",
            "topologySpreadConstraints",
            "tolerations",
        ],
    };
    for name in refused.iter().filter(|name| !raw[**name].is_null()) {
        let detail = format!(
            "may not be specified when placementType is {}",
            policy.placement_type.as_str()
        );
        errors.push(FieldError::forbidden(format!("{path}.{name}"), detail));
    }
}

/// Adds the errors of the names of a PickFixed policy.
fn check_cluster_names(names: &[String], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let path = format!("{path}.clusterNames[{index}]");
        if let Err(problem) = berth_apimachinery::name::dns_subdomain(name) {
            errors.push(FieldError::invalid(path.as_str(), name.as_str(), problem));
        }
        if name.len() > MAX_NAME_LENGTH {
            errors.push(FieldError::too_long(path.as_str(), MAX_NAME_LENGTH));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path, name.as_str()));
        }
    }
}

/// Adds the errors of the required and preferred terms.
fn check_affinity(
    placement_type: PlacementType,
    affinity: &ClusterAffinity,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let terms = affinity
        .required
        .iter()
        .flat_map(|required| &required.cluster_selector_terms);
    for (index, term) in terms.enumerate() {
        let path =
            format!("{path}.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[{index}]");
        check_label_selector(term, &path, errors);
        if let Some(selector) = &term.property_selector {
            check_property_selector(
                selector,
                &format!("{path}.propertySelector.matchExpressions"),
                errors,
            );
        }
        if term.property_sorter.is_some() {
            let detail = "may only be specified in preferredDuringSchedulingIgnoredDuringExecution";
            errors.push(FieldError::forbidden(format!("{path}.propertySorter"), detail));
        }
    }
    let path = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution");
    if placement_type == PlacementType::PickAll && !affinity.preferred.is_empty() {
        let detail = "may not be specified when placementType is PickAll";
        errors.push(FieldError::forbidden(path.as_str(), detail));
    }
    for (index, preferred) in affinity.preferred.iter().enumerate() {
        let path = format!("{path}[{index}].preference");
        check_label_selector(&preferred.preference, &path, errors);
        if preferred.preference.property_selector.is_some() {
            let detail = "may only be specified in requiredDuringSchedulingIgnoredDuringExecution";
            errors.push(FieldError::forbidden(format!("{path}.propertySelector"), detail));
        }
        if let Some(sorter) = &preferred.preference.property_sorter {
            property::check_name(&sorter.name, &format!("{path}.propertySorter.name"), errors);
        }
    }
}

/// Adds the errors of the label selector of the term at `path`.
fn check_label_selector(term: &ClusterSelectorTerm, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(selector) = &term.label_selector {
        let compiled = Selector::compile(selector, &format!("{path}.labelSelector"));
        errors.extend(compiled.err().unwrap_or_default());
    }
}

/// The values of one property that all requirements on the property allow.
#[derive(Default)]
struct Bounds {
    /// The only allowed value.
    equal: Option<Quantity>,
    /// Excluded values.
    unequal: BTreeSet<Quantity>,
    /// The lower bound, and whether the bound itself is allowed.
    low: Option<(Quantity, bool)>,
    /// The upper bound, and whether the bound itself is allowed.
    high: Option<(Quantity, bool)>,
}

impl Bounds {
    /// Adds one requirement.
    ///
    /// # Errors
    /// The reason why the requirements so far allow no value.
    fn add(&mut self, operator: &str, value: Quantity) -> Result<(), String> {
        let tighter = |known: Option<(Quantity, bool)>, new: (Quantity, bool), lower: bool| match known {
            Some((known, inclusive)) if known == new.0 => (known, inclusive && new.1),
            Some(known) if (known.0 > new.0) == lower => known,
            _ => new,
        };
        match operator {
            "Eq" => match self.equal {
                Some(known) if known != value => {
                    return Err(format!("no value is equal to both {known} and {value}"));
                }
                _ => self.equal = Some(value),
            },
            "Ne" => {
                self.unequal.insert(value);
            }
            "Gt" => self.low = Some(tighter(self.low, (value, false), true)),
            "Ge" => self.low = Some(tighter(self.low, (value, true), true)),
            "Lt" => self.high = Some(tighter(self.high, (value, false), false)),
            "Le" => self.high = Some(tighter(self.high, (value, true), false)),
            _ => {}
        }
        self.contradiction().map_or(Ok(()), Err)
    }

    /// The reason why the requirements allow no value; `None` if they are consistent.
    fn contradiction(&self) -> Option<String> {
        if let Some(equal) = self.equal {
            let below = self
                .low
                .is_some_and(|(low, inclusive)| equal < low || (equal == low && !inclusive));
            let above = self
                .high
                .is_some_and(|(high, inclusive)| equal > high || (equal == high && !inclusive));
            if below || above {
                return Some(format!("{equal} is outside the other bounds on this property"));
            }
            if self.unequal.contains(&equal) {
                return Some(format!("no value is both equal and unequal to {equal}"));
            }
        }
        let ((low, low_inclusive), (high, high_inclusive)) = (self.low?, self.high?);
        // A range that only `Ne` makes empty is accepted and matches no value, as in KubeFleet.
        let is_empty = low > high || (low == high && !(low_inclusive && high_inclusive));
        is_empty.then(|| format!("no value meets both bounds on this property, {low} and {high}"))
    }
}

/// Adds the errors of the requirements at `path`.
fn check_property_selector(
    selector: &super::policy::PropertySelector,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let mut known: BTreeMap<&str, Bounds> = BTreeMap::new();
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = format!("{path}[{index}]");
        property::check_name(&requirement.name, &format!("{path}.name"), errors);
        let [value] = requirement.values.as_slice() else {
            let detail = "must be exactly one quantity";
            errors.push(FieldError::invalid(
                format!("{path}.values"),
                requirement.values.clone(),
                detail,
            ));
            continue;
        };
        match Quantity::parse(value) {
            Err(problem) => {
                errors.push(FieldError::invalid(
                    format!("{path}.values[0]"),
                    value.as_str(),
                    problem,
                ));
            }
            Ok(quantity) => {
                let bounds = known.entry(&requirement.name).or_default();
                if let Err(problem) = bounds.add(&requirement.operator, quantity) {
                    errors.push(FieldError::invalid(path, value.as_str(), problem));
                }
            }
        }
    }
}

/// Adds the errors of the tolerations of the policy at `path`.
fn check_tolerations(tolerations: &[Toleration], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = format!("{path}.tolerations[{index}]");
        check_toleration(toleration, &path, errors);
        if !seen.insert(toleration) {
            errors.push(FieldError::duplicate(path, error_value(toleration)));
        }
    }
}

/// Adds the errors of the toleration at `path`.
fn check_toleration(toleration: &Toleration, path: &str, errors: &mut Vec<FieldError>) {
    let exists = toleration.operator == "Exists";
    if toleration.key.is_empty() {
        if !exists {
            let detail = "must be Exists when key is empty, since an empty key tolerates every taint";
            errors.push(FieldError::invalid(
                format!("{path}.operator"),
                toleration.operator.as_str(),
                detail,
            ));
        }
    } else if let Err(problem) = validate_label_key(&toleration.key) {
        errors.push(FieldError::invalid(
            format!("{path}.key"),
            toleration.key.as_str(),
            problem,
        ));
    }
    let value = toleration.value.as_str();
    if exists && !value.is_empty() {
        let detail = "must be empty when operator is Exists";
        errors.push(FieldError::invalid(format!("{path}.value"), value, detail));
    } else if let Err(problem) = validate_label_value(value) {
        errors.push(FieldError::invalid(format!("{path}.value"), value, problem));
    }
}

/// A toleration as the invalid value in an error.
pub(super) fn error_value(toleration: &Toleration) -> Value {
    serde_json::to_value(toleration).unwrap_or_default()
}
