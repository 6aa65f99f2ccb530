//! Encoding of `metadata.managedFields`.

use std::fmt::Write;

use berth_apimachinery::time::rfc3339;
use serde_json::Value;

use super::{Entry, Identity, Managers};

impl Managers {
    /// Encodes the managers as compact JSON, in canonical order. Without managers with fields the result is
    /// empty, and the object has no `managedFields`.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut list = String::new();
        for (identity, entry) in self.sorted() {
            list.push(if list.is_empty() { '[' } else { ',' });
            write(&mut list, identity, entry);
        }
        if !list.is_empty() {
            list.push(']');
        }
        list
    }

    /// Returns the value of `metadata.managedFields`; `None` without managers with fields.
    #[must_use]
    pub fn to_value(&self) -> Option<Value> {
        serde_json::from_str(&self.encode()).ok()
    }
}

fn write(list: &mut String, identity: &Identity, entry: &Entry) {
    let (manager, operation) = (text(&identity.manager), identity.operation.as_str());
    let version = text(&entry.api_version);
    // Writing to a string cannot fail.
    _ = write!(
        list,
        "{{\"manager\":{manager},\"operation\":\"{operation}\",\"apiVersion\":{version}"
    );
    if let Some(time) = entry.time {
        _ = write!(list, ",\"time\":\"{}\"", rfc3339(time));
    }
    list.push_str(",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    entry.set.write_to(list);
    if !identity.subresource.is_empty() {
        _ = write!(list, ",\"subresource\":{}", text(&identity.subresource));
    }
    list.push('}');
}

/// Encodes a text as JSON.
pub(super) fn text(text: &str) -> String {
    Value::from(text).to_string()
}
