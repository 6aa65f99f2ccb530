//! Rules for a placement beyond its schema, including immutable fields (docs/systems/fleet.md, "Placement
//! policy" and "Placements beside the policy").

use std::collections::HashSet;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{FieldError, Scope};
use serde::Deserialize;
use serde_json::Value;

use super::{NAMESPACE_ACCESSIBLE, PlacementSpec, ResourceSelector};
use crate::kind::policy::{PlacementType, Toleration, TopologySpreadConstraint};
use crate::kind::policy_rules;
use crate::names::MAX_CONSTRAINTS;

/// All errors in `new`, a placement of `scope` that is created or replaces `old`.
pub(super) fn errors(old: Option<&Value>, new: &Value, scope: Scope) -> Vec<FieldError> {
    // The schema has already refused a placement that cannot be parsed.
    let read = |object: &Value| PlacementSpec::deserialize(&object["spec"]).ok();
    let Some(spec) = read(new) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for (index, selector) in spec.resource_selectors.iter().enumerate() {
        check_resource_selector(selector, &format!("spec.resourceSelectors[{index}]"), &mut errors);
    }
    check_partial_namespaces(&spec, &mut errors);
    if scope == Scope::Cluster {
        check_reporting_scope(&spec, &mut errors);
    }
    if let Some(policy) = &spec.policy {
        errors.extend(policy_rules::errors(
            policy,
            &new["spec"]["policy"],
            "spec.policy",
        ));
    }
    check_strategy(&new["spec"]["strategy"], &mut errors);
    let known = old.and_then(read);
    check_constraint_count(known.as_ref(), &spec, &mut errors);
    if let Some(known) = &known {
        check_policy_change(known, &spec, &mut errors);
        if scope == Scope::Cluster {
            check_reporting_scope_change(known, &spec, &mut errors);
        }
    }
    if let Some(old) = old {
        let external = |object: &Value| object["spec"]["strategy"]["type"] == "External";
        if external(old) && !external(new) {
            let detail = "may not change from External: staged update runs depend on it";
            errors.push(FieldError::forbidden("spec.strategy.type", detail));
        }
    }
    errors
}

/// Adds the errors of the resource selector at `path`.
fn check_resource_selector(selector: &ResourceSelector, path: &str, errors: &mut Vec<FieldError>) {
    let Some(labels) = &selector.label_selector else {
        return;
    };
    if !selector.name.is_empty() {
        let detail = "may not be specified together with name";
        errors.push(FieldError::forbidden(format!("{path}.labelSelector"), detail));
    }
    let compiled = Selector::compile(labels, &format!("{path}.labelSelector"));
    errors.extend(compiled.err().unwrap_or_default());
}

/// Adds the errors of Namespaces with the selection scope NamespaceWithResourceSelectors: such a namespace
/// must be selected by name, and no other selector may select Namespaces.
fn check_partial_namespaces(spec: &PlacementSpec, errors: &mut Vec<FieldError>) {
    const PARTIAL: &str = "NamespaceWithResourceSelectors";
    let all: Vec<_> = spec.namespaces().collect();
    let core = |selector: &ResourceSelector| selector.group.is_empty() && selector.version == "v1";
    for &(index, selector) in all
        .iter()
        .filter(|(_, selector)| core(selector) && selector.selection_scope.as_deref() == Some(PARTIAL))
    {
        let path = format!("spec.resourceSelectors[{index}]");
        if selector.name.is_empty() {
            let detail = format!("must be specified when selectionScope is {PARTIAL}");
            errors.push(FieldError::required(format!("{path}.name"), detail));
        }
        if all.len() > 1 {
            let detail = format!("may be {PARTIAL} only if no other selector selects Namespaces");
            errors.push(FieldError::forbidden(format!("{path}.selectionScope"), detail));
        }
    }
}

/// Adds the error of a placement with the reporting scope NamespaceAccessible that does not have exactly one
/// selector of Namespaces.
fn check_reporting_scope(spec: &PlacementSpec, errors: &mut Vec<FieldError>) {
    let count = spec.namespaces().count();
    if spec.status_reporting_scope.as_deref() == Some(NAMESPACE_ACCESSIBLE) && count != 1 {
        let detail = format!(
            "NamespaceAccessible needs exactly one resourceSelector with kind Namespace, which names the namespace for the copy \
             of the status; there are {count}"
        );
        errors.push(FieldError::forbidden("spec.statusReportingScope", detail));
    }
}

/// Adds the errors of `strategy`, such as settings that belong to another type of strategy.
fn check_strategy(strategy: &Value, errors: &mut Vec<FieldError>) {
    let rolling = &strategy["rollingUpdate"];
    if strategy["type"] == "External" && !rolling.is_null() {
        let detail = "may not be specified when type is External";
        errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", detail));
    }
    let period = &rolling["unavailablePeriodSeconds"];
    if period.as_i64().is_some_and(|seconds| seconds < 0) {
        errors.push(FieldError::invalid(
            "spec.strategy.rollingUpdate.unavailablePeriodSeconds",
            period.clone(),
            "must be greater than or equal to 0",
        ));
    }
    let apply = &strategy["applyStrategy"];
    if !apply["serverSideApplyConfig"].is_null() && apply["type"] != "ServerSideApply" {
        errors.push(FieldError::forbidden(
            "spec.strategy.applyStrategy.serverSideApplyConfig",
            "may only be specified when type is ServerSideApply",
        ));
    }
}

/// Adds the error of a changed `statusReportingScope`, which is immutable after it is set.
fn check_reporting_scope_change(old: &PlacementSpec, new: &PlacementSpec, errors: &mut Vec<FieldError>) {
    if let Some(scope) = &old.status_reporting_scope
        && new.status_reporting_scope.as_ref() != Some(scope)
    {
        errors.push(FieldError::invalid(
            "spec.statusReportingScope",
            new.status_reporting_scope.clone(),
            format!("field is immutable: it is {scope}"),
        ));
    }
}

/// The topology spread constraints of a placement with this `spec`.
fn constraints(spec: &PlacementSpec) -> &[TopologySpreadConstraint] {
    let policy = spec.policy.as_ref();
    policy.map_or(&[], |policy| &policy.topology_spread_constraints)
}

/// Adds the error of too many topology spread constraints. A placement that is stored with them may keep
/// them, so that it can still be changed in other fields, and deleted.
fn check_constraint_count(old: Option<&PlacementSpec>, new: &PlacementSpec, errors: &mut Vec<FieldError>) {
    let count = constraints(new).len();
    if count > MAX_CONSTRAINTS && old.map(constraints) != Some(constraints(new)) {
        let path = "spec.policy.topologySpreadConstraints";
        errors.push(FieldError::too_many(path, count, MAX_CONSTRAINTS));
    }
}

/// Adds the errors of a changed policy: a policy cannot be removed, its type cannot change, and tolerations
/// can only be added. A placement without a policy counts as PickAll.
fn check_policy_change(old: &PlacementSpec, new: &PlacementSpec, errors: &mut Vec<FieldError>) {
    let Some(policy) = &new.policy else {
        if old.policy.is_some() {
            let detail = "may not be removed once it is set";
            errors.push(FieldError::forbidden("spec.policy", detail));
        }
        return;
    };
    let known = old.policy.as_ref();
    let known_type = known.map_or(PlacementType::PickAll, |known| known.placement_type);
    if policy.placement_type != known_type {
        let reason = match known {
            Some(_) => String::new(),
            None => ", since without a policy every cluster that fits is picked".to_owned(),
        };
        errors.push(FieldError::invalid(
            "spec.policy.placementType",
            policy.placement_type.as_str(),
            format!("field is immutable: it is {}{reason}", known_type.as_str()),
        ));
    }
    let kept: HashSet<&Toleration> = policy.tolerations.iter().collect();
    let known_tolerations = known.into_iter().flat_map(|known| &known.tolerations);
    for toleration in known_tolerations.filter(|known| !kept.contains(known)) {
        let detail = format!(
            "tolerations may only be added: {} was changed or removed",
            policy_rules::error_value(toleration)
        );
        errors.push(FieldError::forbidden("spec.policy.tolerations", detail));
    }
}
