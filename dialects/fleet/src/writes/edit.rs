//! Edits of stored objects in the form of JSON.

use std::sync::Arc;

use berth_apimachinery::Object;
use serde_json::{Map, Value, json};

/// A copy of `object` for an edit, without the resourceVersion.
pub(crate) fn without_revision(object: &Arc<Object>) -> Value {
    let mut value = object.parse();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    value
}

/// The JSON object in the field `name` of `parent`, which is created if it is missing or of another type.
pub(super) fn child<'a>(parent: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !parent.is_object() {
        *parent = json!({});
    }
    let slot = &mut parent[name];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("it was just made an object")
}

/// Sets the entry `name` of `part`, which is `labels` or `annotations`, to `value`; `None` removes the entry.
pub(super) fn set(object: &mut Value, part: &str, name: &str, value: Option<&str>) {
    let metadata = child(object, "metadata");
    let slot = metadata.entry(part).or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    let entries = slot.as_object_mut().expect("it was just made an object");
    match value {
        Some(value) => drop(entries.insert(name.to_owned(), value.into())),
        None => drop(entries.remove(name)),
    }
    if entries.is_empty() {
        metadata.remove(part);
    }
}

/// Removes `finalizer` from `object`. Returns whether the object had the finalizer.
pub(super) fn remove_finalizer(object: &mut Value, finalizer: &str) -> bool {
    let metadata = child(object, "metadata");
    let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) else {
        return false;
    };
    let before = list.len();
    list.retain(|entry| entry.as_str() != Some(finalizer));
    let is_found = list.len() < before;
    if list.is_empty() {
        metadata.remove("finalizers");
    }
    is_found
}
