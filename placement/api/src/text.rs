//! Functions that read parts of an object for cells and field selectors.

use serde::Deserialize;
use serde_json::Value;

/// Returns the value at `path`, a JSON pointer, as text; the empty string if the value is absent.
pub(crate) fn text_at(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Returns the part of `value` at `path`, a JSON pointer; `None` if the part is absent or cannot be parsed.
pub(crate) fn part_at<'a, T: Deserialize<'a>>(value: &'a Value, path: &str) -> Option<T> {
    T::deserialize(value.pointer(path)?).ok()
}

/// Returns the words joined by `separator`, or `<none>` without words.
pub(crate) fn joined(words: &[String], separator: &str) -> String {
    match words {
        [] => "<none>".to_owned(),
        words => words.join(separator),
    }
}
