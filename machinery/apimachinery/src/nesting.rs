//! Limit of the nesting of objects: recursive code reads stored objects, and would overflow the stack on
//! deeper ones.

use serde_json::Value;

/// Highest allowed depth of an object.
pub const DEPTH_LIMIT: usize = 100;

/// Depth of `value`, counted up to `cap`; a scalar has depth 0. The function does not recurse.
#[must_use]
pub fn depth(value: &Value, cap: usize) -> usize {
    depth_and_count(value, cap).0
}

/// Whether the nesting of `value` is at most [`DEPTH_LIMIT`] deep.
#[must_use]
pub fn is_shallow(value: &Value) -> bool {
    depth(value, DEPTH_LIMIT + 1) <= DEPTH_LIMIT
}

/// Returns the depth, at most `cap`, and the number of counted values.
pub(crate) fn depth_and_count(value: &Value, cap: usize) -> (usize, usize) {
    let mut level: Vec<&Value> = vec![value];
    let mut count = 1;
    for depth in 0..cap {
        let mut next = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => next.extend(items),
                Value::Object(fields) => next.extend(fields.values()),
                _ => {}
            }
        }
        if next.is_empty() {
            return (depth, count);
        }
        count += next.len();
        level = next;
    }
    (cap, count)
}
