//! Stored objects, prepared as the base of updates.

use berth_apimachinery::Object;
use serde_json::Value;

/// The stored `object` without its resourceVersion.
pub(super) fn without_version(object: &Object) -> Value {
    let mut value = object.parse();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    value
}
