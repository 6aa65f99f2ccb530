//! What a MemberCluster must satisfy beyond its schema (docs/systems/fleet.md, "MemberCluster").

use meta::FieldError;
use meta::quantity::Quantity;
use meta::selector::{validate_label_key, validate_label_value};
use serde::Deserialize;
use serde_json::Value;

use super::{MemberClusterSpec, MemberClusterStatus};

/// Every violation in `spec`.
pub(super) fn spec_errors(spec: &Value) -> Vec<FieldError> {
    // What does not even parse has been refused by the schema.
    let Ok(spec) = MemberClusterSpec::deserialize(spec) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
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
        let same = |other: &super::Taint| other.key == taint.key && other.effect == taint.effect;
        if spec.taints[..index].iter().any(same) {
            let shown = format!("{}:{}", taint.key, taint.effect);
            errors.push(FieldError::duplicate(path, shown));
        }
    }
    errors
}

/// Every violation in `status`: properties that nobody could compare.
pub(super) fn status_errors(status: &Value) -> Vec<FieldError> {
    let Ok(status) = MemberClusterStatus::deserialize(status) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for (name, property) in &status.properties {
        if let Err(problem) = validate_label_key(name) {
            errors.push(FieldError::invalid("status.properties", name.as_str(), problem));
        }
        // The version of Kubernetes is reported as a property and is no quantity.
        if name != "k8s.io/k8s-version"
            && let Err(problem) = Quantity::parse(&property.value)
        {
            let path = format!("status.properties[{name}].value");
            errors.push(FieldError::invalid(path, property.value.as_str(), problem));
        }
    }
    errors
}
