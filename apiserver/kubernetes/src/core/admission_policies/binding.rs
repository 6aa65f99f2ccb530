//! The kinds ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding.

use std::collections::BTreeSet;

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{Column, Definition, FieldError, Kind, Schema, Write, described_by, name};
use serde::Deserialize;
use serde_json::Value;

use super::fields::{MutatingBindingFields, ValidatingBindingFields};
use super::{UNSET, matching};
use crate::core::value;

/// Supported `validationActions`: consequences of a failed validation.
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// The kind ValidatingAdmissionPolicyBinding, which puts a ValidatingAdmissionPolicy in force.
#[derive(Clone, Copy, Debug)]
pub struct ValidatingAdmissionPolicyBinding;

/// The kind MutatingAdmissionPolicyBinding, which puts a MutatingAdmissionPolicy in force.
#[derive(Clone, Copy, Debug)]
pub struct MutatingAdmissionPolicyBinding;

static VALIDATING: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info(
            &["v1"],
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicybinding",
        ),
        Schema::of::<ValidatingBindingFields>,
    )
};

static MUTATING: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info(
            &["v1", "v1beta1"],
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
            "mutatingadmissionpolicybinding",
        ),
        Schema::of::<MutatingBindingFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PolicyName", "The name of the policy").at(".spec.policyName"),
    Column::text("ParamRef", "The parameters with which the policy is evaluated")
        .computed(|binding| params_text(&binding.value()["spec"]["paramRef"]).into()),
    Column::AGE,
];

impl Kind for ValidatingAdmissionPolicyBinding {
    described_by!(VALIDATING);

    fn counts_generation(&self) -> bool {
        true
    }

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = spec_errors(&new["spec"]);
        errors.extend(action_errors(&new["spec"]));
        errors
    }
}

impl Kind for MutatingAdmissionPolicyBinding {
    described_by!(MUTATING);

    fn counts_generation(&self) -> bool {
        true
    }

    fn validate(&self, _: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let mut errors = spec_errors(&new["spec"]);
        errors.extend(matching::operations_without_effect(
            &new["spec"]["matchResources"],
            "spec.matchResources",
        ));
        errors
    }
}

/// Table cell with the `paramRef` of a binding.
fn params_text(param_ref: &Value) -> String {
    let name = value::text(param_ref, &["name"]);
    if !name.is_empty() {
        let namespace = value::text(param_ref, &["namespace"]);
        // The binding does not tell whether the kind of the parameters is namespaced.
        let namespace = if namespace.is_empty() { "*" } else { namespace };
        return format!("{namespace}/{name}");
    }
    match &param_ref["selector"] {
        Value::Null => UNSET.to_owned(),
        selector => selector.to_string(),
    }
}

/// Errors in the fields of `spec` that both kinds of bindings have.
fn spec_errors(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = value::text(spec, &["policyName"]);
    if policy.is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    } else if let Err(problem) = name::dns_subdomain(policy) {
        errors.push(FieldError::invalid("spec.policyName", policy, problem));
    }
    if spec["paramRef"].is_object() {
        errors.extend(param_ref_errors(&spec["paramRef"]));
    }
    if spec["matchResources"].is_object() {
        errors.extend(matching::match_resources_errors(
            &spec["matchResources"],
            "spec.matchResources",
            &matching::OPERATIONS,
        ));
    }
    errors
}

fn param_ref_errors(param_ref: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.paramRef";
    const BOTH: &str = "name and selector are mutually exclusive";
    let mut errors = Vec::new();
    let (param_name, selector) = (value::text(param_ref, &["name"]), &param_ref["selector"]);
    if !param_name.is_empty() {
        if let Err(problem) = name::path_segment(param_name) {
            errors.push(FieldError::invalid(format!("{PATH}.name"), param_name, problem));
        }
        if !selector.is_null() {
            errors.push(FieldError::forbidden(format!("{PATH}.name"), BOTH));
        }
    }
    if selector.is_null() {
        if param_name.is_empty() {
            errors.push(FieldError::required(
                PATH,
                "one of name or selector must be specified",
            ));
        }
    } else {
        let path = format!("{PATH}.selector");
        if let Ok(label_selector) = LabelSelector::deserialize(selector) {
            errors.extend(
                Selector::compile(&label_selector, &path)
                    .err()
                    .into_iter()
                    .flatten(),
            );
        }
        if !param_name.is_empty() {
            errors.push(FieldError::forbidden(path, BOTH));
        }
    }
    errors.extend(matching::choice_error(
        param_ref,
        PATH,
        "parameterNotFoundAction",
        &["Deny", "Allow"],
    ));
    errors
}

fn action_errors(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.validationActions";
    let mut errors = Vec::new();
    let mut known = BTreeSet::new();
    for (index, action) in value::texts(spec, &["validationActions"]).into_iter().enumerate() {
        let path = format!("{PATH}[{index}]");
        if !ACTIONS.contains(&action) {
            errors.push(FieldError::not_supported(path, action, &ACTIONS));
        }
        known.insert(action);
    }
    if known.contains("Deny") && known.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        errors.push(FieldError::invalid(
            PATH,
            spec["validationActions"].clone(),
            detail,
        ));
    }
    if known.is_empty() {
        errors.push(FieldError::required(
            PATH,
            "at least one validation action is required",
        ));
    }
    errors
}
