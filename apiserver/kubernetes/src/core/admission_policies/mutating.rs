//! The kind MutatingAdmissionPolicy.

use berth_apimachinery::{Column, Definition, FieldError, Kind, Schema, Write, described_by};
use berth_policies::PolicyType;
use serde_json::Value;

use super::fields::MutatingFields;
use super::{expressions, matching, validating};
use crate::core::value;

/// Types of patches: name of the type, field of the type, field of the other type.
const PATCH_TYPES: [(&str, &str, &str); 2] = [
    ("ApplyConfiguration", "applyConfiguration", "jsonPatch"),
    ("JSONPatch", "jsonPatch", "applyConfiguration"),
];

/// The kind MutatingAdmissionPolicy, which changes objects when they are written.
#[derive(Clone, Copy, Debug)]
pub struct MutatingAdmissionPolicy;

static DEFINITION: Definition = Definition {
    columns: COLUMNS,
    ..Definition::new(
        super::info(
            &["v1", "v1beta1"],
            "MutatingAdmissionPolicy",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicy",
        ),
        Schema::of::<MutatingFields>,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Mutations", "Number of mutations")
        .integer()
        .computed(|policy| validating::count(policy, "mutations")),
    Column::text("ParamKind", "The kind of the parameters").computed(validating::param_kind),
    Column::AGE,
];

impl Kind for MutatingAdmissionPolicy {
    described_by!(DEFINITION);

    fn counts_generation(&self) -> bool {
        true
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let spec = &new["spec"];
        let mut errors = matching::policy_errors(spec, &matching::OPERATIONS);
        errors.extend(matching::operations_without_effect(
            &spec["matchConstraints"],
            "spec.matchConstraints",
        ));
        let mutations = value::list(spec, &["mutations"]);
        if mutations.is_empty() {
            let detail = "mutations must contain at least one item";
            errors.push(FieldError::required("spec.mutations", detail));
        }
        for (index, one) in mutations.iter().enumerate() {
            errors.extend(mutation_errors(one, &format!("spec.mutations[{index}]")));
        }
        errors.extend(matching::choice_error(
            spec,
            "spec",
            "reinvocationPolicy",
            &["IfNeeded", "Never"],
        ));
        errors.extend(expressions::errors(PolicyType::Mutating, write.old, new));
        errors
    }
}

fn mutation_errors(one: &Value, path: &str) -> Vec<FieldError> {
    let types = PATCH_TYPES.map(|(name, _, _)| name);
    let mut errors: Vec<FieldError> = matching::choice_error(one, path, "patchType", &types)
        .into_iter()
        .collect();
    let patch_type = value::text(one, &["patchType"]);
    let Some((name, own, other)) = PATCH_TYPES.into_iter().find(|(name, _, _)| *name == patch_type) else {
        return errors;
    };
    if one[own].is_null() {
        let detail = format!("must be specified when patchType is {name}");
        errors.push(FieldError::required(format!("{path}.{own}"), detail));
    } else if value::text(one, &[own, "expression"]).trim().is_empty() {
        errors.push(FieldError::required(format!("{path}.{own}.expression"), ""));
    }
    if !one[other].is_null() {
        let detail = format!("must not be specified when patchType is {name}");
        errors.push(FieldError::invalid(
            format!("{path}.{other}"),
            format!("{{{other}}}"),
            detail,
        ));
    }
    errors
}
