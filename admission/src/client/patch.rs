//! Application of the JSON Patch of a webhook or a MutatingAdmissionPolicy.

use berth_apimachinery::patch::{self, Patch, Problem};
use serde_json::Value;

/// Fields that identify an object, which a patch must not change.
const IDENTITY_FIELDS: [&str; 4] = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/// Reason why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A `test` operation of the patch failed.
    #[error("{0}")]
    Test(String),
    /// The patch is not a JSON Patch, cannot be applied, exceeds a limit, or changes an identifying field.
    #[error("{0}")]
    Impossible(String),
}

/// Applies `operations`, a JSON Patch, to `object` as kube-apiserver does: replacing a missing field adds the
/// field, and a test takes a missing field for `null`.
///
/// # Errors
/// Reason why the patch cannot be applied.
pub fn apply(operations: &[u8], object: &Value) -> Result<Value, PatchError> {
    let operations: Patch = serde_json::from_slice(operations)
        .map_err(|problem| PatchError::Impossible(format!("it is not a JSON Patch: {problem}")))?;
    let mut changed = object.clone();
    patch::apply(&operations, &mut changed, &mut patch::trusted_budget()).map_err(
        |problem| match problem {
            Problem::TestFailed(text) => PatchError::Test(text),
            problem => PatchError::Impossible(problem.to_string()),
        },
    )?;
    match IDENTITY_FIELDS
        .iter()
        .find(|path| changed.pointer(path) != object.pointer(path))
    {
        Some(path) => Err(PatchError::Impossible(format!(
            "it must not change {path}, which identifies the object"
        ))),
        None => Ok(changed),
    }
}
