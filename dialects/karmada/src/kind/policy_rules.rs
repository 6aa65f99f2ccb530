//! Rules for policies and placements beyond the schema, as in Karmada's webhooks (docs/systems/karmada.md,
//! "Refused").

use std::collections::BTreeSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::validate_label_key;
use serde_json::Value;

use super::placement::{
    ClusterAffinity, ClusterAffinityTerm, Placement, ReplicaScheduling, SpreadConstraint, WorkloadAffinity,
};
use super::policy::PolicySpec;
use crate::names::{CLAIMS, DEFAULT_SCHEDULER};

/// All errors in `spec.failover` and `spec.suspension` of `policy`, which decisions do not read.
pub(super) fn failover_and_suspension_errors(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &policy["spec"];
    let application = &spec["failover"]["application"];
    if application.is_object() && spec["propagateDeps"] != true {
        let detail = "must be true if spec.failover.application is set: an application fails over with its dependencies";
        errors.push(FieldError::required("spec.propagateDeps", detail));
    }
    let path = "spec.failover.application";
    let tolerated = &application["decisionConditions"]["tolerationSeconds"];
    if let Some(seconds) = tolerated.as_i64().filter(|seconds| *seconds < 0) {
        let path = format!("{path}.decisionConditions.tolerationSeconds");
        errors.push(FieldError::invalid(path, seconds, "must not be negative"));
    }
    if let Some(seconds) = application["gracePeriodSeconds"].as_i64() {
        let path = format!("{path}.gracePeriodSeconds");
        if seconds <= 0 {
            errors.push(FieldError::invalid(
                path.clone(),
                seconds,
                "must be greater than zero",
            ));
        }
        let purge = application["purgeMode"].as_str().unwrap_or("Gracefully");
        if purge != "Gracefully" {
            let detail = format!("may only be set if purgeMode is Gracefully; purgeMode is {purge}");
            errors.push(FieldError::forbidden(path, detail));
        }
    }
    let suspension = &spec["suspension"];
    let names = &suspension["dispatchingOnClusters"]["clusterNames"];
    if suspension["dispatching"] == true && names.as_array().is_some_and(|names| !names.is_empty()) {
        let detail =
            "may not be set together with dispatching: true, which suspends dispatching to every cluster";
        errors.push(FieldError::forbidden(
            "spec.suspension.dispatchingOnClusters",
            detail,
        ));
    }
    errors
}

/// All errors of the update of a policy from `old` to `new`: the scheduler and the permanent id of a policy
/// cannot change.
pub(super) fn change_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let scheduler = |policy: &Value| match policy["spec"]["schedulerName"].as_str() {
        None | Some("") => DEFAULT_SCHEDULER.to_owned(),
        Some(name) => name.to_owned(),
    };
    if scheduler(old) != scheduler(new) {
        let detail = format!("cannot be changed; it is {}", scheduler(old));
        errors.push(FieldError::invalid("spec.schedulerName", scheduler(new), detail));
    }
    for id in &CLAIMS[..2] {
        let (before, after) = (&old["metadata"]["labels"][*id], &new["metadata"]["labels"][*id]);
        if before.is_string() && before != after {
            let detail = "cannot be changed, since templates and bindings are claimed by this id";
            errors.push(FieldError::forbidden(format!("metadata.labels[{id}]"), detail));
        }
    }
    errors
}

/// All errors in `spec` of a policy in `namespace`. The namespace of a cluster-scoped policy is empty.
pub(super) fn errors(spec: &PolicySpec, namespace: &str) -> Vec<FieldError> {
    let mut errors = placement_errors(&spec.placement, "spec.placement");
    for (index, selector) in spec.resource_selectors.iter().enumerate() {
        let path = format!("spec.resourceSelectors[{index}]");
        let is_elsewhere = !selector.namespace.is_empty() && selector.namespace != namespace;
        if !namespace.is_empty() && is_elsewhere {
            let detail = format!("must be empty or the namespace of the policy, which is {namespace}");
            errors.push(FieldError::invalid(
                format!("{path}.namespace"),
                selector.namespace.as_str(),
                detail,
            ));
        }
        if spec.preemption == "Always" && selector.name.is_empty() {
            let detail = "must name a template if preemption is Always";
            errors.push(FieldError::required(format!("{path}.name"), detail));
        }
    }
    errors
}

/// All errors of the label selectors of resource selectors in `spec`.
pub(super) fn label_selector_errors(spec: &PolicySpec) -> Vec<FieldError> {
    let compiled = spec.label_selectors().flatten();
    compiled.filter_map(Result::err).flatten().collect()
}

/// All errors in `placement`, which is at `path`.
fn placement_errors(placement: &Placement, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(affinity) = &placement.cluster_affinity {
        if placement.cluster_affinities.is_some() {
            let detail = "may not be set together with clusterAffinity";
            errors.push(FieldError::forbidden(format!("{path}.clusterAffinities"), detail));
        }
        errors.extend(field_selector_errors(
            affinity,
            &format!("{path}.clusterAffinity"),
        ));
    }
    check_groups(placement, path, &mut errors);
    check_constraints(
        &placement.spread_constraints,
        &format!("{path}.spreadConstraints"),
        &mut errors,
    );
    if let Some(affinity) = &placement.workload_affinity {
        errors.extend(workload_affinity_errors(
            affinity,
            &format!("{path}.workloadAffinity"),
        ));
    }
    for (index, toleration) in placement.cluster_tolerations.iter().enumerate() {
        let operator = toleration.operator.as_str();
        if !matches!(operator, "" | "Equal" | "Exists") {
            let operator_path = format!("{path}.clusterTolerations[{index}].operator");
            errors.push(FieldError::not_supported(
                operator_path,
                operator,
                &["Equal", "Exists"],
            ));
        }
    }
    errors
}

/// Errors in the label keys of `affinity`, which is at `path`.
fn workload_affinity_errors(affinity: &WorkloadAffinity, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let key = |term: &Option<super::placement::WorkloadAffinityTerm>| {
        term.as_ref().map(|term| term.group_by_label_key.clone())
    };
    let keys = [
        ("affinity", key(&affinity.affinity)),
        ("antiAffinity", key(&affinity.anti_affinity)),
    ];
    for (part, key) in &keys {
        if let Some((key, Err(problem))) = key.as_ref().map(|key| (key, validate_label_key(key))) {
            let key_path = format!("{path}.{part}.groupByLabelKey");
            errors.push(FieldError::invalid(key_path, key.as_str(), problem.to_string()));
        }
    }
    if let [(_, Some(affinity_key)), (_, Some(anti_affinity_key))] = &keys
        && affinity_key == anti_affinity_key
    {
        let detail = "must differ from affinity.groupByLabelKey: workloads cannot be both together and apart";
        let key_path = format!("{path}.antiAffinity.groupByLabelKey");
        errors.push(FieldError::invalid(key_path, anti_affinity_key.as_str(), detail));
    }
    errors
}

/// Checks the groups of clusters of a placement.
fn check_groups(placement: &Placement, path: &str, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (index, term) in placement.terms().iter().enumerate() {
        let term_path = format!("{path}.clusterAffinities[{index}]");
        check_name(&term.affinity_name, &term_path, &mut names, errors);
        errors.extend(field_selector_errors(&term.affinity, &term_path));
        check_overflow(term, placement.replica_scheduling.as_ref(), &term_path, errors);
    }
}

/// Checks the name of a group or of an overflow affinity, which must not be in `names`, and adds the name to
/// `names`.
fn check_name<'a>(name: &'a str, path: &str, names: &mut BTreeSet<&'a str>, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.affinityName");
    if let Err(problem) = validate_label_key(name) {
        errors.push(FieldError::invalid(path, name, problem.to_string()));
    } else if !names.insert(name) {
        errors.push(FieldError::duplicate(path, name));
    }
}

/// Checks the overflow affinities of the group `term`.
fn check_overflow(
    term: &ClusterAffinityTerm,
    scheduling: Option<&ReplicaScheduling>,
    term_path: &str,
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
    let path = format!("{term_path}.overflowAffinities");
    if !counts_room {
        let detail = "may only be set if replicas are divided by room: set replicaDivisionPreference to Aggregated, or set \
                      dynamicWeight";
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
    if term.affinity == ClusterAffinity::default() {
        let detail = "no cluster is left for the overflow, since the group itself selects every cluster: limit the group";
        errors.push(FieldError::forbidden(path.clone(), detail));
    }
    let mut names: BTreeSet<&str> = [term.affinity_name.as_str()].into();
    for (index, entry) in list.iter().enumerate() {
        let entry_path = format!("{path}[{index}]");
        check_name(&entry.affinity_name, &entry_path, &mut names, errors);
        errors.extend(field_selector_errors(&entry.affinity, &entry_path));
    }
}

/// Errors in the keys and operators of the field selector of `affinity`, which is at `path`.
fn field_selector_errors(affinity: &ClusterAffinity, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let selector = affinity.field_selector.iter();
    let all = selector.flat_map(|selector| &selector.match_expressions);
    for (index, requirement) in all.enumerate() {
        let requirement_path = format!("{path}.fieldSelector.matchExpressions[{index}]");
        if !["provider", "region", "zone"].contains(&requirement.key.as_str()) {
            let supported = ["provider", "region", "zone"];
            errors.push(FieldError::not_supported(
                format!("{requirement_path}.key"),
                requirement.key.as_str(),
                &supported,
            ));
        }
        if !["In", "NotIn"].contains(&requirement.operator.as_str()) {
            let operator = requirement.operator.as_str();
            errors.push(FieldError::not_supported(
                format!("{requirement_path}.operator"),
                operator,
                &["In", "NotIn"],
            ));
        }
    }
    errors
}

/// Checks the spread constraints in `list`, which is at `path`.
fn check_constraints(list: &[SpreadConstraint], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, constraint) in list.iter().enumerate() {
        let constraint_path = format!("{path}[{index}]");
        let (field, label) = (
            constraint.spread_by_field.as_str(),
            constraint.spread_by_label.as_str(),
        );
        if !field.is_empty() && !label.is_empty() {
            let detail = "may not be set together with spreadByField";
            errors.push(FieldError::forbidden(
                format!("{constraint_path}.spreadByLabel"),
                detail,
            ));
        }
        for (limit, value) in [
            ("minGroups", constraint.min_groups),
            ("maxGroups", constraint.max_groups),
        ] {
            if value < 0 {
                errors.push(FieldError::invalid(
                    format!("{constraint_path}.{limit}"),
                    value,
                    "must not be negative",
                ));
            }
        }
        if constraint.max_groups > 0 && constraint.max_groups < constraint.min_groups {
            let detail = "must not be less than minGroups";
            errors.push(FieldError::invalid(
                format!("{constraint_path}.maxGroups"),
                constraint.max_groups,
                detail,
            ));
        }
        if !field.is_empty() && !seen.insert(field) {
            errors.push(FieldError::duplicate(
                format!("{constraint_path}.spreadByField"),
                field,
            ));
        }
    }
    if !seen.is_empty() && !seen.contains("cluster") {
        let detail = "one of the constraints must have spreadByField cluster";
        errors.push(FieldError::required(path, detail));
    }
}
