//! Application of the JSON Patch of a webhook or a MutatingAdmissionPolicy.

use json_patch::jsonptr::Pointer;
use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

/// Highest number of operations of a patch.
const MOST_OPERATIONS: usize = 10_000;
/// Highest number of bytes that all `copy` operations together may copy.
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Deepest nesting of an object.
const MOST_DEPTH: usize = 128;

/// Fields that identify the object: a patch must not change which object is written.
const NAMES: [&str; 4] = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/// Reason why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A `test` operation of the patch failed.
    #[error("{0}")]
    Test(String),
    /// The patch cannot be applied, or changes a field that it must not change.
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
    if patch.0.len() > MOST_OPERATIONS {
        return Err(PatchError::Impossible(format!(
            "it has {} operations, at most {MOST_OPERATIONS} are carried out",
            patch.0.len()
        )));
    }
    let mut changed = object.clone();
    let mut copied = 0;
    let mut bound = depth(&changed);
    for (index, operation) in patch.0.iter().enumerate() {
        let of = |problem: String| PatchError::Impossible(format!("operation {index}: {problem}"));
        copied += bytes(operation, &changed);
        if copied > MOST_COPIED_BYTES {
            return Err(of(format!(
                "the values copied are over the limit of {MOST_COPIED_BYTES} bytes"
            )));
        }
        json_patch::patch_unsafe(&mut changed, std::slice::from_ref(operation)).map_err(|problem| {
            let text = format!("at {:?}: {}", problem.path.as_str(), problem.kind);
            match problem.kind {
                PatchErrorKind::TestFailed => PatchError::Test(format!("operation {index}: {text}")),
                _ => of(text),
            }
        })?;
        bound = bound.max(depth_after(operation, bound));
        if bound > MOST_DEPTH {
            bound = depth(&changed);
            if bound > MOST_DEPTH {
                return Err(of(format!(
                    "the object would be nested deeper than {MOST_DEPTH} levels"
                )));
            }
        }
    }
    match NAMES
        .iter()
        .find(|path| changed.pointer(path) != object.pointer(path))
    {
        Some(path) => Err(PatchError::Impossible(format!(
            "it changes {path}, and with it which object is written"
        ))),
        None => Ok(changed),
    }
}

/// Number of bytes that `operation` copies.
fn bytes(operation: &PatchOperation, value: &Value) -> usize {
    match operation {
        PatchOperation::Copy(copy) => value
            .pointer(copy.from.as_str())
            .map_or(0, |value| value.to_string().len()),
        _ => 0,
    }
}

/// Upper bound for the depth of the object at the path that `operation` changes, when the object's depth was
/// at most `before`.
fn depth_after(operation: &PatchOperation, before: usize) -> usize {
    let steps = |pointer: &Pointer| pointer.count();
    match operation {
        PatchOperation::Add(add) => steps(&add.path) + depth(&add.value),
        PatchOperation::Replace(replace) => steps(&replace.path) + depth(&replace.value),
        PatchOperation::Move(moved) => steps(&moved.path) + before,
        PatchOperation::Copy(copy) => steps(&copy.path) + before,
        PatchOperation::Remove(_) | PatchOperation::Test(_) => before,
    }
}

/// The depth of `value`, at most one more than the limit.
fn depth(value: &Value) -> usize {
    fn within(value: &Value, room: usize) -> usize {
        if room == 0 {
            return 0;
        }
        let deepest = match value {
            Value::Array(list) => list.iter().map(|one| within(one, room - 1)).max(),
            Value::Object(fields) => fields.values().map(|one| within(one, room - 1)).max(),
            _ => return 1,
        };
        1 + deepest.unwrap_or_default()
    }
    within(value, MOST_DEPTH + 1)
}
