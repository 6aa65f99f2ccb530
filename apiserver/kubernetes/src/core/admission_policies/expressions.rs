//! Validation of the match conditions, variables and expressions of policies.

use berth_apimachinery::FieldError;
use berth_apimachinery::selector::validate_label_key;
use berth_cel::is_identifier;
use berth_policies::{Policy, PolicyType, Problem};
use serde_json::{Value, json};

use crate::core::value;

/// Highest number of match conditions of one policy.
const MAX_CONDITIONS: usize = 64;

/// Errors in the match conditions and variables of the policy `new`, and for expressions that do not compile.
/// An unchanged `spec` is not validated again.
pub(super) fn errors(policy_type: PolicyType, old: Option<&Value>, new: &Value) -> Vec<FieldError> {
    if old.is_some_and(|old| old["spec"] == new["spec"]) {
        return Vec::new();
    }
    let spec = &new["spec"];
    let mut errors = condition_errors(spec);
    errors.extend(variable_errors(spec));
    let policy = Policy::compile(policy_type, new);
    let problems = policy.problems().into_iter();
    errors.extend(
        problems
            .filter(|problem| !is_condition(problem))
            .filter_map(field_error),
    );
    // Match conditions are evaluated before variables, and cannot refer to them.
    let mut without_variables = json!({"spec": {"matchConditions": spec["matchConditions"]}});
    if spec["paramKind"].is_object() {
        without_variables["spec"]["paramKind"] = spec["paramKind"].clone();
    }
    let problems = Policy::compile(policy_type, &without_variables)
        .problems()
        .into_iter();
    errors.extend(problems.filter(is_condition).filter_map(field_error));
    errors
}

fn is_condition(problem: &Problem) -> bool {
    problem.field.starts_with("spec.matchConditions")
}

/// Returns the error for `problem`; `None` for an empty expression, which is reported as a missing field.
fn field_error(problem: Problem) -> Option<FieldError> {
    let Problem { field, source, text } = problem;
    (!source.trim().is_empty()).then(|| FieldError::invalid(field, source, text))
}

fn condition_errors(spec: &Value) -> Vec<FieldError> {
    let condition_list = value::list(spec, &["matchConditions"]);
    let mut errors = Vec::new();
    if condition_list.len() > MAX_CONDITIONS {
        errors.push(FieldError::too_many(
            "spec.matchConditions",
            condition_list.len(),
            MAX_CONDITIONS,
        ));
    }
    for (index, one) in condition_list.iter().enumerate() {
        let at = |field: &str| format!("spec.matchConditions[{index}].{field}");
        let (name, expression) = (value::text(one, &["name"]), value::text(one, &["expression"]));
        if expression.trim().is_empty() {
            errors.push(FieldError::required(at("expression"), ""));
        }
        match validate_label_key(name) {
            _ if one["name"].is_null() => {}
            _ if name.is_empty() => errors.push(FieldError::required(at("name"), "")),
            Ok(()) => {}
            Err(problem) => errors.push(FieldError::invalid(at("name"), name, problem)),
        }
    }
    errors
}

fn variable_errors(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, one) in value::list(spec, &["variables"]).iter().enumerate() {
        let at = |field: &str| format!("spec.variables[{index}].{field}");
        let (name, expression) = (value::text(one, &["name"]), value::text(one, &["expression"]));
        if one["name"].is_null() {
            // The schema reports the missing name.
        } else if name.trim().is_empty() {
            errors.push(FieldError::required(at("name"), "name is not specified"));
        } else if !is_identifier(name) {
            let detail = "must be a valid CEL identifier";
            errors.push(FieldError::invalid(at("name"), name, detail));
        }
        if expression.trim().is_empty() {
            let detail = "expression is not specified";
            errors.push(FieldError::required(at("expression"), detail));
        }
    }
    errors
}
