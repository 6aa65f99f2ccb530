//! The kind ValidatingAdmissionPolicy.

use std::collections::BTreeSet;

use berth_apimachinery::selector::validate_label_key;
use berth_apimachinery::{
    Cell, Column, Definition, FieldError, Kind, KindInfo, Object, Schema, Write, WriteOperation, described_by,
};
use berth_policies::PolicyType;
use serde_json::Value;

use super::fields::ValidatingFields;
use super::{UNSET, expressions, matching};
use crate::core::value;

/// Highest number of audit annotations of one policy.
const MAX_ANNOTATIONS: usize = 20;
/// Highest length in bytes of the expression of an audit annotation.
const MAX_EXPRESSION_BYTES: usize = 5 * 1024;
/// Supported values of `reason`: reasons of a refusal.
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// The kind ValidatingAdmissionPolicy, which refuses invalid writes.
#[derive(Clone, Copy, Debug)]
pub struct ValidatingAdmissionPolicy;

static DEFINITION: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        KindInfo {
            status_subresource: true,
            ..super::info(
                &["v1"],
                "ValidatingAdmissionPolicy",
                "validatingadmissionpolicies",
                "validatingadmissionpolicy",
            )
        },
        Schema::of::<ValidatingFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Validations", "Number of validations")
        .integer()
        .computed(|policy| count(policy, "validations")),
    Column::text("ParamKind", "The kind of the parameters").computed(param_kind),
    Column::AGE,
];

impl Kind for ValidatingAdmissionPolicy {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if write.operation == WriteOperation::Subresource("status") {
            return Vec::new();
        }
        let spec = &new["spec"];
        let mut errors = matching::policy_errors(spec, &matching::OPERATIONS);
        let validations = value::list(spec, &["validations"]);
        let annotations = value::list(spec, &["auditAnnotations"]);
        if validations.is_empty() && annotations.is_empty() {
            let detail = "validations or auditAnnotations must contain at least one item";
            errors.push(FieldError::required("spec.validations", detail));
            errors.push(FieldError::required("spec.auditAnnotations", detail));
        }
        for (index, one) in validations.iter().enumerate() {
            errors.extend(validation_errors(one, &format!("spec.validations[{index}]")));
        }
        if annotations.len() > MAX_ANNOTATIONS {
            errors.push(FieldError::invalid(
                "spec.auditAnnotations",
                spec["auditAnnotations"].clone(),
                format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations"),
            ));
        }
        errors.extend(annotation_errors(
            value::text(new, &["metadata", "name"]),
            annotations,
        ));
        errors.extend(expressions::errors(PolicyType::Validating, write.old, new));
        errors
    }
}

/// Table cell with the number of items of the list in the field `list` of `spec`.
pub(super) fn count(policy: &Object, list: &str) -> Cell {
    Cell::Value(value::list(policy.value(), &["spec", list]).len().into())
}

/// Table cell with the `paramKind` of a policy.
pub(super) fn param_kind(policy: &Object) -> Cell {
    let kind = &policy.value()["spec"]["paramKind"];
    if !kind.is_object() {
        return UNSET.into();
    }
    let text = |field: &str| value::text(kind, &[field]);
    format!("{}/{}", text("apiVersion"), text("kind")).into()
}

fn validation_errors(one: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |field: &str| format!("{path}.{field}");
    let text = |field: &str| value::text(one, &[field]);
    if text("expression").trim().is_empty() {
        errors.push(FieldError::required(
            at("expression"),
            "expression is not specified",
        ));
    }
    for field in ["messageExpression", "message"] {
        if !text(field).is_empty() && text(field).trim().is_empty() {
            errors.push(FieldError::invalid(
                at(field),
                text(field),
                "must be non-empty if specified",
            ));
        }
    }
    if text("message").trim().contains(['\n', '\r']) {
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(at("message"), text("message"), detail));
    }
    if one.get("reason").is_some() && !REASONS.contains(&text("reason")) {
        errors.push(FieldError::not_supported(at("reason"), text("reason"), &REASONS));
    }
    errors
}

/// Errors in the audit annotations of the policy `name`, except expressions that do not compile.
fn annotation_errors(name: &str, annotations: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known = BTreeSet::new();
    for (index, one) in annotations.iter().enumerate() {
        let at = |field: &str| format!("spec.auditAnnotations[{index}].{field}");
        let key = value::text(one, &["key"]);
        if name.is_empty() {
            let detail = "requires metadata.name be non-empty";
            errors.push(FieldError::invalid(at("key"), key, detail));
        } else {
            let whole = format!("{name}/{key}");
            if let Err(problem) = validate_label_key(&whole) {
                errors.push(FieldError::invalid(at("key"), whole, problem));
            }
        }
        let expression = value::text(one, &["valueExpression"]).trim();
        if expression.is_empty() {
            let detail = "valueExpression is not specified";
            errors.push(FieldError::required(at("valueExpression"), detail));
        } else if expression.len() > MAX_EXPRESSION_BYTES {
            let detail = format!("must not exceed {MAX_EXPRESSION_BYTES} bytes in length");
            errors.push(FieldError::required(at("valueExpression"), detail));
        }
        if !known.insert(key) {
            errors.push(FieldError::duplicate(at("key"), key));
        }
    }
    errors
}
