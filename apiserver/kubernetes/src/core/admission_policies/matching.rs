//! Validation of `matchConstraints` and `matchResources`, and of the other fields that both kinds of policies
//! have.

use std::collections::BTreeSet;

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{FieldError, name};
use serde::Deserialize;
use serde_json::Value;

use crate::core::value;

/// Operations that a rule may name.
pub(super) const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// Operations whose object a mutation can change.
const MUTABLE_OPERATIONS: [&str; 2] = ["CREATE", "UPDATE"];
/// Scopes that a rule may name.
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];

/// Error unless `field` of `object`, which is at `path`, is one of `supported`.
pub(super) fn choice_error(
    object: &Value,
    path: &str,
    field: &str,
    supported: &[&str],
) -> Option<FieldError> {
    let path = format!("{path}.{field}");
    match value::text(object, &[field]) {
        "" => Some(FieldError::required(path, "")),
        actual if supported.contains(&actual) => None,
        actual => Some(FieldError::not_supported(path, actual, supported)),
    }
}

/// Errors in the fields of `spec` that both kinds of policies have, except expressions. `operations` are the
/// operations that rules may name.
pub(super) fn policy_errors(spec: &Value, operations: &[&str]) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = choice_error(spec, "spec", "failurePolicy", &["Fail", "Ignore"])
        .into_iter()
        .collect();
    if spec["paramKind"].is_object() {
        errors.extend(param_kind_errors(&spec["paramKind"]));
    }
    const PATH: &str = "spec.matchConstraints";
    let constraints = &spec["matchConstraints"];
    if constraints.is_null() {
        errors.push(FieldError::required(PATH, ""));
        return errors;
    }
    errors.extend(match_resources_errors(constraints, PATH, operations));
    if value::list(constraints, &["resourceRules"]).is_empty() {
        errors.push(FieldError::required(format!("{PATH}.resourceRules"), ""));
    }
    errors
}

fn param_kind_errors(kind: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = "spec.paramKind.apiVersion";
    let actual = value::text(kind, &["apiVersion"]);
    let (group, version) = actual.split_once('/').unwrap_or(("", actual));
    if actual.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if version.contains('/') {
        let detail = format!("unexpected GroupVersion string: {actual}");
        errors.push(FieldError::invalid(path, actual, detail));
    } else {
        if let Some(problem) = Some(group)
            .filter(|group| !group.is_empty())
            .and_then(|group| name::dns_subdomain(group).err())
        {
            errors.push(FieldError::invalid(path, group, problem));
        }
        if version.is_empty() {
            errors.push(FieldError::invalid(path, actual, "version must be specified"));
        } else if let Err(problem) = label_1035(version) {
            errors.push(FieldError::invalid(path, version, problem));
        }
    }
    let path = "spec.paramKind.kind";
    let actual = value::text(kind, &["kind"]);
    if actual.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Err(problem) = label_1035(&actual.to_lowercase()) {
        let detail = format!("may have mixed case, but should otherwise match: {problem}");
        errors.push(FieldError::invalid(path, actual, detail));
    }
    errors
}

/// Checks that `text` is an RFC 1035 label, which begins with a letter.
fn label_1035(text: &str) -> Result<(), String> {
    if text.len() > 63 {
        return Err("must be no more than 63 characters".to_owned());
    }
    if name::dns_label(text).is_ok() && text.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
         character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
         is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            .to_owned(),
    )
}

/// Errors in `matchConstraints` or `matchResources`, which is at `path`. `operations` are the operations that
/// rules may name.
pub(super) fn match_resources_errors(
    constraints: &Value,
    path: &str,
    operations: &[&str],
) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> =
        choice_error(constraints, path, "matchPolicy", &["Equivalent", "Exact"])
            .into_iter()
            .collect();
    for field in ["namespaceSelector", "objectSelector"] {
        let path = format!("{path}.{field}");
        // The schema rejects wrong types.
        match LabelSelector::deserialize(&constraints[field]) {
            _ if constraints[field].is_null() => errors.push(FieldError::required(path, "")),
            Ok(selector) => errors.extend(Selector::compile(&selector, &path).err().into_iter().flatten()),
            Err(_) => {}
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, one) in value::list(constraints, &[field]).iter().enumerate() {
            errors.extend(rule_errors(one, &format!("{path}.{field}[{index}]"), operations));
        }
    }
    errors
}

fn rule_errors(rule: &Value, path: &str, operations: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut known = BTreeSet::new();
    for (index, actual) in value::texts(rule, &["resourceNames"]).into_iter().enumerate() {
        let path = format!("{path}.resourceNames[{index}]");
        if let Err(problem) = name::path_segment(actual) {
            errors.push(FieldError::invalid(path.as_str(), actual, problem));
        }
        if !known.insert(actual) {
            errors.push(FieldError::duplicate(path, actual));
        }
    }
    errors.extend(wildcard_error(rule, path, "operations", "operations"));
    for (index, actual) in value::texts(rule, &["operations"]).into_iter().enumerate() {
        if !operations.contains(&actual) {
            let path = format!("{path}.operations[{index}]");
            errors.push(FieldError::not_supported(path, actual, operations));
        }
    }
    errors.extend(wildcard_error(rule, path, "apiGroups", "API groups"));
    errors.extend(wildcard_error(rule, path, "apiVersions", "API versions"));
    for (index, actual) in value::texts(rule, &["apiVersions"]).into_iter().enumerate() {
        if actual.is_empty() {
            errors.push(FieldError::required(format!("{path}.apiVersions[{index}]"), ""));
        }
    }
    errors.extend(resource_errors(rule, &format!("{path}.resources")));
    let scope = value::text(rule, &["scope"]);
    if rule.get("scope").is_some() && !SCOPES.contains(&scope) {
        errors.push(FieldError::not_supported(format!("{path}.scope"), scope, &SCOPES));
    }
    errors
}

/// Error if the list in `field` is empty, or has `*` together with other entries. `noun` names the entries in
/// the message.
fn wildcard_error(rule: &Value, path: &str, field: &str, noun: &str) -> Option<FieldError> {
    let path = format!("{path}.{field}");
    let actual = value::texts(rule, &[field]);
    if actual.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    (actual.len() > 1 && actual.contains(&"*")).then(|| {
        let detail = format!("if '*' is present, must not specify other {noun}");
        FieldError::invalid(path, rule[field].clone(), detail)
    })
}

/// Errors in the resources and subresources of a rule.
fn resource_errors(rule: &Value, path: &str) -> Vec<FieldError> {
    let actual = value::texts(rule, &["resources"]);
    if actual.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    let (mut resources_with_all_parts, mut parts_of_all_resources) = (BTreeSet::new(), BTreeSet::new());
    for (index, one) in actual.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if one.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let Some((resource, part)) = one.split_once('/') else {
            continue;
        };
        let mut refuse_redundant = |is_redundant: bool, pattern: String| {
            if is_redundant {
                let detail = format!("if '{pattern}' is present, must not specify {one}");
                errors.push(FieldError::invalid(path.as_str(), *one, detail));
            }
        };
        refuse_redundant(
            resources_with_all_parts.contains(resource),
            format!("{resource}/*"),
        );
        refuse_redundant(parts_of_all_resources.contains(part), format!("*/{part}"));
        if part == "*" {
            resources_with_all_parts.insert(resource);
        }
        if resource == "*" {
            parts_of_all_resources.insert(part);
        }
    }
    let mut refuse = |detail: &str| errors.push(FieldError::invalid(path, rule["resources"].clone(), detail));
    if actual.len() > 1 && actual.contains(&"*/*") {
        refuse("if '*/*' is present, must not specify other resources");
    }
    if actual.contains(&"*") && actual.iter().any(|one| *one != "*" && !one.contains('/')) {
        refuse("if '*' is present, must not specify other resources without subresources");
    }
    errors
}

/// Errors for operations in the rules of a mutating policy whose object a mutation cannot change.
pub(super) fn operations_without_effect(constraints: &Value, path: &str) -> Vec<FieldError> {
    let rules = value::list(constraints, &["resourceRules"]).iter();
    let operations = rules.flat_map(|rule| value::texts(rule, &["operations"]));
    operations
        .filter(|operation| !MUTABLE_OPERATIONS.contains(operation))
        .map(|operation| {
            FieldError::not_supported(
                format!("{path}.resourceRules.operations"),
                operation,
                &MUTABLE_OPERATIONS,
            )
        })
        .collect()
}
