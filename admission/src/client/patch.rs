//! Application of the JSON Patch of a webhook or a MutatingAdmissionPolicy.

use json_patch::jsonptr::Pointer;
use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

/// Highest number of operations of a patch.
const MAX_OPERATIONS: usize = 10_000;
/// Highest number of bytes that all `copy` operations of a patch may copy.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Highest depth of a patched object.
const MAX_DEPTH: usize = 128;

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

/// Applies `patch` to `object`.
///
/// # Errors
/// Reason why the patch cannot be applied.
pub fn apply(patch: &[u8], object: &Value) -> Result<Value, PatchError> {
    let patch: Patch = serde_json::from_slice(patch)
        .map_err(|problem| PatchError::Impossible(format!("it is not a JSON Patch: {problem}")))?;
    if patch.0.len() > MAX_OPERATIONS {
        return Err(PatchError::Impossible(format!(
            "it has {} operations; at most {MAX_OPERATIONS} are allowed",
            patch.0.len()
        )));
    }
    let mut changed = object.clone();
    let mut copied = 0;
    let mut depth_bound = depth(&changed);
    for (index, operation) in patch.0.iter().enumerate() {
        let impossible = |problem: String| PatchError::Impossible(format!("operation {index}: {problem}"));
        copied += copied_bytes(operation, &changed);
        if copied > MAX_COPIED_BYTES {
            return Err(impossible(format!(
                "the copied values have more than {MAX_COPIED_BYTES} bytes together"
            )));
        }
        json_patch::patch_unsafe(&mut changed, std::slice::from_ref(operation)).map_err(|problem| {
            let text = format!("at {:?}: {}", problem.path.as_str(), problem.kind);
            match problem.kind {
                PatchErrorKind::TestFailed => PatchError::Test(format!("operation {index}: {text}")),
                _ => impossible(text),
            }
        })?;
        depth_bound = depth_bound.max(depth_after(operation, depth_bound));
        if depth_bound > MAX_DEPTH {
            depth_bound = depth(&changed);
            if depth_bound > MAX_DEPTH {
                return Err(impossible(format!(
                    "the object would be nested deeper than {MAX_DEPTH} levels"
                )));
            }
        }
    }
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

/// Number of bytes of the value that `operation` copies in `object`; 0 for other operations than `copy`.
fn copied_bytes(operation: &PatchOperation, object: &Value) -> usize {
    match operation {
        PatchOperation::Copy(copy) => object
            .pointer(copy.from.as_str())
            .map_or(0, |value| value.to_string().len()),
        _ => 0,
    }
}

/// Upper bound for the depth of the object where `operation` changes it, if the depth of the object was at
/// most `before`.
fn depth_after(operation: &PatchOperation, before: usize) -> usize {
    let length = |pointer: &Pointer| pointer.count();
    match operation {
        PatchOperation::Add(add) => length(&add.path) + depth(&add.value),
        PatchOperation::Replace(replace) => length(&replace.path) + depth(&replace.value),
        PatchOperation::Move(moved) => length(&moved.path) + before,
        PatchOperation::Copy(copy) => length(&copy.path) + before,
        PatchOperation::Remove(_) | PatchOperation::Test(_) => before,
    }
}

/// Depth of `value`, counted up to `MAX_DEPTH + 1`.
fn depth(value: &Value) -> usize {
    fn depth_within(value: &Value, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        let deepest = match value {
            Value::Array(list) => list.iter().map(|one| depth_within(one, limit - 1)).max(),
            Value::Object(fields) => fields.values().map(|one| depth_within(one, limit - 1)).max(),
            _ => return 1,
        };
        1 + deepest.unwrap_or_default()
    }
    depth_within(value, MAX_DEPTH + 1)
}
