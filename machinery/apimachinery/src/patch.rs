//! JSON patches (RFC 6902), with a budget: the cost of an operation depends on the object, so a patch
//! of a few kilobytes could otherwise move or copy gigabytes.

use std::fmt;
use std::io;

pub use json_patch::Patch;
use json_patch::jsonptr::Pointer;
use json_patch::{AddOperation, PatchErrorKind, PatchOperation};
use serde_json::Value;

use crate::budget::{Budget, BudgetExceeded};
use crate::nesting::{DEPTH_LIMIT, depth, depth_and_count};

#[cfg(test)]
mod tests;

/// Highest number of operations; patches with more are refused.
pub const OPERATIONS_LIMIT: usize = 10_000;

/// Limit of the copied values of one patch together, in bytes of JSON.
pub const COPY_LIMIT: u64 = 3 * 1024 * 1024;

/// Limit of the steps of one patch. Moving sixteen elements of a list is one step.
pub const STEP_LIMIT: u64 = 2_000_000;

/// Number of list elements, or of bytes of a pointer, that cost one step.
const PER_STEP: usize = 16;

/// Reason why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The patch cannot be applied, for the reason in the message.
    Failed(String),
    /// A `test` operation found another value, as the message says.
    TestFailed(String),
    /// The patch exceeds its budget.
    Exceeded(BudgetExceeded),
}

/// Default budget of a JSON patch.
#[must_use]
pub fn budget() -> Budget {
    Budget::new("the JSON patch", STEP_LIMIT, COPY_LIMIT)
}

/// Budget of a JSON patch from a webhook or an admission policy, which administrators configure: ten times as
/// many steps.
#[must_use]
pub fn trusted_budget() -> Budget {
    Budget::new("the JSON patch", 10 * STEP_LIMIT, COPY_LIMIT)
}

/// Applies `patch` to `value` as kube-apiserver does: replacing a missing field adds the field, and a test
/// takes a missing field for `null`. After an error, `value` is partly patched and must be dropped.
///
/// # Errors
/// When an operation or a test fails, there are too many operations, the object would be nested too deeply,
/// or the budget is used up.
pub fn apply(patch: &Patch, value: &mut Value, budget: &mut Budget) -> Result<(), Problem> {
    run(patch, value, budget, false)
}

/// Applies `patch` to `value` exactly as RFC 6902 requires: replaced and tested values must exist. After an
/// error, `value` is partly patched and must be dropped.
///
/// # Errors
/// As [`apply`].
pub fn apply_strictly(patch: &Patch, value: &mut Value, budget: &mut Budget) -> Result<(), Problem> {
    run(patch, value, budget, true)
}

fn run(patch: &Patch, value: &mut Value, budget: &mut Budget, is_strict: bool) -> Result<(), Problem> {
    if patch.0.len() > OPERATIONS_LIMIT {
        return Err(Problem::Failed(too_many(patch.0.len())));
    }
    // Upper bound of the nesting, which each operation may raise. The real depth is measured only when the
    // bound is too high. Copying a value into itself doubles the nesting, and deep values overflow the stack
    // of recursive code.
    let mut bound = depth(value, DEPTH_LIMIT + 1);
    for (index, operation) in patch.0.iter().enumerate() {
        let describe = |problem: &dyn fmt::Display| format!("operation {index}{problem}");
        let refuse = |path: &str, kind: &PatchErrorKind| {
            let text = describe(&format_args!(" at {path:?}: {kind}"));
            match kind {
                PatchErrorKind::TestFailed => Problem::TestFailed(text),
                _ => Problem::Failed(text),
            }
        };
        charge(operation, value, budget)?;
        match test_of_absence(operation, value).filter(|_| !is_strict) {
            Some(true) => continue,
            Some(false) => return Err(refuse(operation.path().as_str(), &PatchErrorKind::TestFailed)),
            None => {}
        }
        let added = Some(operation).filter(|_| !is_strict);
        let added = added.and_then(|operation| replaces_absence(operation, value));
        json_patch::patch_unsafe(value, std::slice::from_ref(added.as_ref().unwrap_or(operation)))
            .map_err(|error| refuse(error.path.as_str(), &error.kind))?;
        bound = bound.max(depth_after(operation, bound));
        if bound > DEPTH_LIMIT {
            let (measured, value_count) = depth_and_count(value, DEPTH_LIMIT + 1);
            budget.spend(value_count)?;
            bound = measured;
        }
        if bound > DEPTH_LIMIT {
            return Err(Problem::Failed(describe(&format_args!(
                ": the object would be nested deeper than {DEPTH_LIMIT} levels"
            ))));
        }
    }
    Ok(())
}

/// Whether `operation`, a test of a missing field, succeeds: only a test for `null` does, so that a patch can
/// add a map only where it is missing. `None` for every other operation.
fn test_of_absence(operation: &PatchOperation, value: &Value) -> Option<bool> {
    let PatchOperation::Test(test) = operation else {
        return None;
    };
    let (parent, field) = test.path.split_back()?;
    let parent = value.pointer(parent.as_str())?.as_object()?;
    let is_missing = !parent.contains_key(field.decoded().as_ref());
    is_missing.then(|| test.value.is_null())
}

/// Returns the operation to apply instead of `operation`, if `operation` replaces a missing field:
/// kube-apiserver adds the field.
fn replaces_absence(operation: &PatchOperation, value: &Value) -> Option<PatchOperation> {
    let PatchOperation::Replace(replace) = operation else {
        return None;
    };
    let (parent, field) = replace.path.split_back()?;
    let parent = value.pointer(parent.as_str())?.as_object()?;
    if parent.contains_key(field.decoded().as_ref()) {
        return None;
    }
    Some(PatchOperation::Add(AddOperation {
        path: replace.path.clone(),
        value: replace.value.clone(),
    }))
}

/// Message about a patch with `count` operations, more than [`OPERATIONS_LIMIT`].
#[must_use]
pub fn too_many(count: usize) -> String {
    format!("The allowed maximum operations in a JSON patch is {OPERATIONS_LIMIT}, got {count}")
}

/// Charges `operation` on `value` to the budget, before it is applied.
fn charge(operation: &PatchOperation, value: &Value, budget: &mut Budget) -> Result<(), BudgetExceeded> {
    let pointer_cost = |pointer: &Pointer| 1 + pointer.as_str().len() / PER_STEP;
    let steps = match operation {
        PatchOperation::Add(add) => pointer_cost(&add.path) + shift_cost(value, &add.path),
        PatchOperation::Remove(remove) => pointer_cost(&remove.path) + shift_cost(value, &remove.path),
        PatchOperation::Replace(replace) => pointer_cost(&replace.path),
        PatchOperation::Test(test) => pointer_cost(&test.path),
        PatchOperation::Move(from_to) => {
            pointer_cost(&from_to.path)
                + pointer_cost(&from_to.from)
                + shift_cost(value, &from_to.from)
                + shift_cost(value, &from_to.path)
        }
        PatchOperation::Copy(from_to) => {
            let copied = value.pointer(from_to.from.as_str());
            let mut bytes = BudgetWriter(budget);
            if copied.is_some_and(|copied| serde_json::to_writer(&mut bytes, copied).is_err()) {
                // Writing fails only because of the budget. This second call returns the exceeded limit.
                budget.spend_bytes(0)?;
            }
            pointer_cost(&from_to.path) + pointer_cost(&from_to.from) + shift_cost(value, &from_to.path)
        }
    };
    budget.spend(steps)
}

/// Number of steps for opening or closing a gap at `pointer`, if it points into a list.
fn shift_cost(value: &Value, pointer: &Pointer) -> usize {
    let Some((parent, last)) = pointer.split_back() else {
        return 0;
    };
    let Some(Value::Array(list)) = value.pointer(parent.as_str()) else {
        return 0;
    };
    let index = last
        .to_index()
        .ok()
        .map(|index| index.for_len_unchecked(list.len()));
    list.len().saturating_sub(index.unwrap_or_default()) / PER_STEP
}

/// Writer that discards the bytes and charges them to a budget.
struct BudgetWriter<'a>(&'a mut Budget);

impl io::Write for BudgetWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.spend_bytes(bytes.len()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Upper bound of the object's depth after `operation`, if its depth was at most `before`.
fn depth_after(operation: &PatchOperation, before: usize) -> usize {
    let steps = |pointer: &Pointer| pointer.count();
    let value_depth = |value| depth(value, DEPTH_LIMIT + 1);
    match operation {
        PatchOperation::Add(add) => steps(&add.path) + value_depth(&add.value),
        PatchOperation::Replace(replace) => steps(&replace.path) + value_depth(&replace.value),
        PatchOperation::Move(from_to) => steps(&from_to.path) + before - steps(&from_to.from).min(before),
        PatchOperation::Copy(from_to) => steps(&from_to.path) + before - steps(&from_to.from).min(before),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => before,
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Failed(problem)
    }
}

impl From<BudgetExceeded> for Problem {
    fn from(exceeded: BudgetExceeded) -> Self {
        Self::Exceeded(exceeded)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(problem) | Self::TestFailed(problem) => f.write_str(problem),
            Self::Exceeded(exceeded) => exceeded.fmt(f),
        }
    }
}

impl std::error::Error for Problem {}
