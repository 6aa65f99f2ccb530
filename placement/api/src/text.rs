//! Reading of computed values for a cell or a selector.

use serde::Deserialize;
use serde_json::Value;

/// The text at `path` of a value; the empty string where it is absent.
pub(crate) fn text_at(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The part of `value` at `path`; `None` where the part is absent or unreadable.
pub(crate) fn part_at<'a, T: Deserialize<'a>>(value: &'a Value, path: &str) -> Option<T> {
    T::deserialize(value.pointer(path)?).ok()
}

/// The words joined by `separator`, or `<none>`.
pub(crate) fn joined(words: &[String], separator: &str) -> String {
    match words {
        [] => "<none>".to_owned(),
        words => words.join(separator),
    }
}
