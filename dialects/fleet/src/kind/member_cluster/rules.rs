//! Rules for a MemberCluster beyond its schema (docs/systems/fleet.md, "MemberCluster").

use std::collections::HashSet;

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::{validate_label_key, validate_label_value};
use serde::Deserialize;
use serde_json::Value;

use super::MemberClusterSpec;

/// All errors in `spec`, the spec of a MemberCluster.
pub(super) fn spec_errors(spec: &Value) -> Vec<FieldError> {
    // The schema has already refused a spec that cannot be parsed.
    let Ok(spec) = MemberClusterSpec::deserialize(spec) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    let mut seen = HashSet::new();
    for (index, taint) in spec.taints.iter().enumerate() {
        let path = format!("spec.taints[{index}]");
        if let Err(problem) = validate_label_key(&taint.key) {
            errors.push(FieldError::invalid(
                format!("{path}.key"),
                taint.key.as_str(),
                problem,
            ));
        }
        if let Err(problem) = validate_label_value(&taint.value) {
            errors.push(FieldError::invalid(
                format!("{path}.value"),
                taint.value.as_str(),
                problem,
            ));
        }
        // Several taints may have the same key, if their values differ.
        if !seen.insert(taint) {
            errors.push(FieldError::duplicate(
                path,
                berth_dialect_contract::Taint::from(taint).to_string(),
            ));
        }
    }
    errors
}
