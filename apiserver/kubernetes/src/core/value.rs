//! Accessors of JSON values; a missing field, or one of another type, reads as empty.

use berth_apimachinery::Timestamp;
use serde_json::{Map, Value};

/// Returns the text at `path` in `value`.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the RFC 3339 time at `path` in `value`.
pub(crate) fn instant(value: &Value, path: &[&str]) -> Option<Timestamp> {
    berth_apimachinery::time::parse(text(value, path))
}

/// Returns the list at `path` in `value`.
pub(crate) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the object at `path` in `value`.
pub(crate) fn object<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Map<String, Value>> {
    at(value, path).and_then(Value::as_object)
}

/// Whether the field at `path` in `value` is true.
pub(crate) fn flag(value: &Value, path: &[&str]) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the texts of the list at `path` in `value`, without other elements.
pub(crate) fn texts<'a>(value: &'a Value, path: &[&str]) -> Vec<&'a str> {
    list(value, path).iter().filter_map(Value::as_str).collect()
}

/// Returns the object in field `name` of `value`, which is created when it is missing or has another type.
pub(crate) fn object_mut<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = value.as_object_mut()?.entry(name).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Removes each of `fields` that is an empty map or list, which Kubernetes omits.
pub(crate) fn drop_empty(object: &mut Value, fields: &[&str]) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    for field in fields {
        let empty = match object.get(*field) {
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            _ => false,
        };
        if empty {
            object.remove(*field);
        }
    }
}
