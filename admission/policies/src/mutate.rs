//! Application of one mutation of a MutatingAdmissionPolicy to an object.

use berth_admission::client::{self, ObjectKind, PatchError, VersionedWrite};
use berth_apply::Types;
use berth_cel::Value;
use serde_json::Value as Json;

use crate::evaluate::{Evaluation, OutOfBudget};
use crate::policy::{Mutation, Policy};

/// Fields that identify an object, which a mutation must not change.
const IDENTITY_FIELDS: [&str; 4] = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/// Applies `mutation` to `object`, which is in `version`, and returns the changed object. `None` when a
/// `test` operation of a JSON Patch fails: the object then does not change.
///
/// # Errors
/// Reason why the mutation cannot be applied, in kube-apiserver's words where kube-apiserver has the same
/// error.
pub(crate) fn apply_mutation<'a>(
    mutation: &'a Mutation,
    evaluation: &mut Evaluation<'a, '_>,
    write: &VersionedWrite<'_>,
    version: &str,
    object: &Json,
) -> Result<Option<Json>, String> {
    let expression = match mutation {
        Mutation::Apply(expression) | Mutation::Patch(expression) => expression,
    };
    if let Err(problem) = &expression.program {
        return Err(problem.clone());
    }
    // Each mutation has a budget of its own.
    evaluation.reset_budget();
    let value = match evaluation.value(expression) {
        Ok(value) => value?,
        Err(OutOfBudget) => return Err(OutOfBudget::text()),
    };
    match mutation {
        Mutation::Apply(_) => apply(&value, write, version, object),
        Mutation::Patch(_) => patch(&value, object),
    }
}

fn patch(value: &Value<'_>, object: &Json) -> Result<Option<Json>, String> {
    if let Some(problem) = value.type_name_problem() {
        return Err(format!("type mismatch: {problem}"));
    }
    let unwritable = |problem| {
        format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {problem}")
    };
    let operations = value.to_json().map_err(unwritable)?;
    let operations = serde_json::to_vec(&operations).map_err(|problem| problem.to_string())?;
    match client::apply(&operations, object) {
        Ok(changed) => Ok(Some(changed)),
        // A failed test means that the patch does not apply.
        Err(PatchError::Test(_)) => Ok(None),
        Err(problem) => Err(format!("JSON Patch: {problem}")),
    }
}

fn apply(
    value: &Value<'_>,
    write: &VersionedWrite<'_>,
    version: &str,
    object: &Json,
) -> Result<Option<Json>, String> {
    if let Some(problem) = value.type_name_problem() {
        return Err(format!("type mismatch: {problem}"));
    }
    let ObjectKind::Own { kind, .. } = write.object_kind else {
        let kind = write.kind(version);
        return Err(format!(
            "{}/{}, Kind={} has no schema on this server: use a JSONPatch instead of an ApplyConfiguration",
            kind.group, kind.version, kind.kind
        ));
    };
    let mut config = value.to_json().map_err(|problem| problem.to_string())?;
    for field in ["apiVersion", "kind"] {
        config[field] = object[field].clone();
    }
    let types = Types::of(kind.schema(version));
    let describe = |mismatches: Vec<berth_apply::Mismatch>| {
        let texts: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
        texts.join("; ")
    };
    types.paths(&config).map_err(|mismatches| {
        let problem = describe(mismatches);
        format!("error applying patch: failed to convert patch object to typed object: {problem}")
    })?;
    let atomics = types.atomics(&config);
    if !atomics.is_empty() {
        return Err(format!(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    types.paths_of_stored(object).map_err(|mismatches| {
        let problem = describe(mismatches);
        format!("error applying patch: failed to convert original object to typed object: {problem}")
    })?;
    let changed = types.merge(object, &config);
    match IDENTITY_FIELDS
        .iter()
        .find(|path| changed.pointer(path) != object.pointer(path))
    {
        Some(path) => Err(format!("must not change {path}, which identifies the object")),
        None => Ok(Some(changed)),
    }
}

/// Whether `policy` is evaluated again when a later mutation changes the object (`reinvocationPolicy:
/// IfNeeded`).
pub(crate) fn is_reinvoked(policy: &Policy) -> bool {
    matches!(policy.body, crate::policy::Body::Mutating { reinvoked: true, .. })
}
