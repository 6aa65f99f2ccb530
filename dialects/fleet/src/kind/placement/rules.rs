//! What a ClusterResourcePlacement must satisfy beyond its schema, and what may not change (docs/systems/fleet.md,
//! "Placement policy").

use meta::FieldError;
use meta::selector::Selector;
use serde::Deserialize;
use serde_json::Value;

use super::{PlacementSpec, ResourceSelector};
use crate::kind::policy::PlacementPolicy;
use crate::kind::policy_rules;

/// Every violation in `new`, which replaces `old`.
pub(super) fn errors(old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    // What does not even parse has been refused by the schema.
    let spec = |object: &Value| {
        object
            .get("spec")
            .and_then(|spec| PlacementSpec::deserialize(spec).ok())
    };
    let Some(new) = spec(new) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for (index, selector) in new.resource_selectors.iter().enumerate() {
        resource_selector(selector, &format!("spec.resourceSelectors[{index}]"), &mut errors);
    }
    if let Some(policy) = &new.policy {
        errors.extend(policy_rules::errors(policy, "spec.policy"));
    }
    if let Some(old) = old.and_then(spec).and_then(|old| old.policy) {
        immutable(&old, new.policy.as_ref(), &mut errors);
    }
    errors
}

fn resource_selector(selector: &ResourceSelector, path: &str, errors: &mut Vec<FieldError>) {
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

/// The policy stays, its type stays, and tolerations are only added.
fn immutable(old: &PlacementPolicy, new: Option<&PlacementPolicy>, errors: &mut Vec<FieldError>) {
    let Some(new) = new else {
        errors.push(FieldError::forbidden(
            "spec.policy",
            "may not be removed once it is set",
        ));
        return;
    };
    if new.placement_type != old.placement_type {
        errors.push(FieldError::invalid(
            "spec.policy.placementType",
            new.placement_type.as_str(),
            format!("field is immutable: it is {}", old.placement_type.as_str()),
        ));
    }
    for toleration in old
        .tolerations
        .iter()
        .filter(|known| !new.tolerations.contains(known))
    {
        let detail = format!(
            "may only be added to: {} was changed or removed",
            policy_rules::shown(toleration)
        );
        errors.push(FieldError::forbidden("spec.policy.tolerations", detail));
    }
}
