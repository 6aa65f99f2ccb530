//! Rules of placements beyond the schema, as in Karmada's webhooks (docs/systems/karmada.md,
//! "Refused").

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::validate_label_key;

use super::placement::{
    ClusterAffinity, ClusterAffinityTerm, Placement, ReplicaScheduling, SpreadConstraint,
};
use super::policy::PolicySpec;

/// All errors of `spec`, of a policy in `namespace`, or of a cluster-scoped one.
pub(super) fn errors(spec: &PolicySpec, namespace: &str) -> Vec<FieldError> {
    let mut errors = placement(&spec.placement, "spec.placement");
    for (index, selector) in spec.resource_selectors.iter().enumerate() {
        let at = format!("spec.resourceSelectors[{index}]");
        let is_elsewhere = !selector.namespace.is_empty() && selector.namespace != namespace;
        if !namespace.is_empty() && is_elsewhere {
            let detail = format!("a policy selects in its own namespace, which is {namespace}");
            errors.push(FieldError::invalid(
                format!("{at}.namespace"),
                selector.namespace.as_str(),
                detail,
            ));
        }
        if spec.preemption == "Always" && selector.name.is_empty() {
            let detail = "a policy that takes templates from others names each of them";
            errors.push(FieldError::required(format!("{at}.name"), detail));
        }
    }
    errors
}

/// All errors of a placement at `path`.
pub(super) fn placement(placement: &Placement, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(affinity) = &placement.cluster_affinity {
        if placement.cluster_affinities.is_some() {
            let detail = "may not be set together with clusterAffinity";
            errors.push(FieldError::forbidden(format!("{path}.clusterAffinities"), detail));
        }
        errors.extend(fields(affinity, &format!("{path}.clusterAffinity")));
    }
    terms(placement, path, &mut errors);
    constraints(
        &placement.spread_constraints,
        &format!("{path}.spreadConstraints"),
        &mut errors,
    );
    for (index, toleration) in placement.cluster_tolerations.iter().enumerate() {
        let operator = toleration.operator.as_str();
        if !matches!(operator, "" | "Equal" | "Exists") {
            let at = format!("{path}.clusterTolerations[{index}].operator");
            errors.push(FieldError::not_supported(at, operator, &["Equal", "Exists"]));
        }
    }
    errors
}

fn terms(placement: &Placement, path: &str, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (index, term) in placement.terms().iter().enumerate() {
        let at = format!("{path}.clusterAffinities[{index}]");
        name(&term.affinity_name, &at, &mut names, errors);
        errors.extend(fields(&term.affinity, &at));
        overflow(term, placement.replica_scheduling.as_ref(), &at, errors);
    }
}

/// Records the errors of a group's name, which must differ from earlier names.
fn name<'a>(name: &'a str, at: &str, names: &mut BTreeSet<&'a str>, errors: &mut Vec<FieldError>) {
    let at = format!("{at}.affinityName");
    if let Err(problem) = validate_label_key(name) {
        errors.push(FieldError::invalid(at, name, problem.to_string()));
    } else if !names.insert(name) {
        errors.push(FieldError::duplicate(at, name));
    }
}

fn overflow(
    term: &ClusterAffinityTerm,
    scheduling: Option<&ReplicaScheduling>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(list) = term.overflow_affinities.as_ref().filter(|list| !list.is_empty()) else {
        return;
    };
    let counts_room = scheduling.is_some_and(|scheduling| {
        let weights = scheduling.weight_preference.as_ref();
        scheduling.replica_division_preference == "Aggregated"
            || weights.is_some_and(|weights| !weights.dynamic_weight.is_empty())
    });
    let path = format!("{at}.overflowAffinities");
    if !counts_room {
        let detail = "replicas flow over where room counts: with Aggregated or dynamicWeight";
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
    if term.affinity == ClusterAffinity::default() {
        let detail = "the group has every cluster already, since its own affinity says nothing";
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
    let mut names: BTreeSet<&str> = [term.affinity_name.as_str()].into();
    for (index, entry) in list.iter().enumerate() {
        let at = format!("{path}[{index}]");
        name(&entry.affinity_name, &at, &mut names, errors);
        errors.extend(fields(&entry.affinity, &at));
    }
}

/// Keys and operators of a field selector.
fn fields(affinity: &ClusterAffinity, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let selector = affinity.field_selector.iter();
    let all = selector.flat_map(|selector| &selector.match_expressions);
    for (index, requirement) in all.enumerate() {
        let at = format!("{path}.fieldSelector.matchExpressions[{index}]");
        if !["provider", "region", "zone"].contains(&requirement.key.as_str()) {
            let supported = ["provider", "region", "zone"];
            errors.push(FieldError::not_supported(
                format!("{at}.key"),
                requirement.key.as_str(),
                &supported,
            ));
        }
        if !["In", "NotIn"].contains(&requirement.operator.as_str()) {
            let operator = requirement.operator.as_str();
            errors.push(FieldError::not_supported(
                format!("{at}.operator"),
                operator,
                &["In", "NotIn"],
            ));
        }
    }
    errors
}

fn constraints(list: &[SpreadConstraint], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, constraint) in list.iter().enumerate() {
        let at = format!("{path}[{index}]");
        let (field, label) = (
            constraint.spread_by_field.as_str(),
            constraint.spread_by_label.as_str(),
        );
        if !field.is_empty() && !label.is_empty() {
            let detail = "may not be set together with spreadByField";
            errors.push(FieldError::forbidden(format!("{at}.spreadByLabel"), detail));
        }
        for (limit, value) in [
            ("minGroups", constraint.min_groups),
            ("maxGroups", constraint.max_groups),
        ] {
            if value < 0 {
                errors.push(FieldError::invalid(
                    format!("{at}.{limit}"),
                    value,
                    "must not be negative",
                ));
            }
        }
        if constraint.max_groups > 0 && constraint.max_groups < constraint.min_groups {
            let detail = "must not be less than minGroups";
            errors.push(FieldError::invalid(
                format!("{at}.maxGroups"),
                constraint.max_groups,
                detail,
            ));
        }
        if !field.is_empty() && !seen.insert(field) {
            errors.push(FieldError::duplicate(format!("{at}.spreadByField"), field));
        }
    }
    if !seen.is_empty() && !seen.contains("cluster") {
        let detail = "one of the constraints must be by cluster";
        errors.push(FieldError::required(path, detail));
    }
}
