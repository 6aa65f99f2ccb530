//! Fields of `metadata` that only the server sets, and the separation of an object from its status.

use std::collections::{BTreeSet, HashSet};

use berth_apimachinery::{
    FieldError, OwnerReference, Status, StatusMetadata, Timestamp, WriteOperation, time,
};
use serde::Deserialize as _;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::served::ServedVersion;

/// Fields of `metadata` that the body of an update never changes.
const IMMUTABLE: [&str; 7] = [
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "name",
    "namespace",
];

/// Fields of `metadata` that clients may send and that are not stored.
const DROPPED: [&str; 2] = ["selfLink", "resourceVersion"];

/// Returns the metadata of an object, which are created if they are missing. Metadata of another type, which
/// decoding rejects, are replaced.
pub(crate) fn metadata(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let slot = &mut value["metadata"];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
        .expect("it was replaced by an object just above")
}

/// Returns the text `field` of the metadata; the empty string if it is missing.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value["metadata"][field].as_str().unwrap_or_default()
}

/// Sets the system fields of a new object, and resets fields that clients may not set.
pub(crate) fn on_create(value: &mut Value, served: &ServedVersion, namespace: &str, now: Timestamp) {
    let fields = metadata(value);
    // For kinds without counted generations, the generation in the body is kept.
    let is_kept =
        |field: &str| field == "name" || (field == "generation" && !served.kind().counts_generation());
    for field in IMMUTABLE.iter().chain(&DROPPED).filter(|field| !is_kept(field)) {
        fields.remove(*field);
    }
    if served.info().namespaced() {
        fields.insert("namespace".to_owned(), namespace.into());
    }
    fields.insert("uid".to_owned(), Uuid::new_v4().to_string().into());
    fields.insert("creationTimestamp".to_owned(), time::rfc3339(now).into());
    if served.kind().counts_generation() {
        fields.insert("generation".to_owned(), 1.into());
    }
    if served.info().status_subresource {
        remove(value, "status");
    }
}

/// Returns errors for setting `deletionTimestamp`, and for setting or changing `deletionGracePeriodSeconds`.
/// Other changes of these fields are no errors, but the stored values are restored.
pub(crate) fn deletion_changes(value: &Value, old: &Value) -> Vec<FieldError> {
    let field = |object: &Value, name: &str| object["metadata"][name].clone();
    let mut errors = Vec::new();
    let mut refuse = |name: &str, set: Value| {
        errors.push(FieldError::invalid(
            format!("metadata.{name}"),
            set,
            "field is immutable",
        ));
    };
    let deleted = field(value, "deletionTimestamp");
    if !deleted.is_null() && field(old, "deletionTimestamp").is_null() {
        refuse("deletionTimestamp", deleted);
    }
    let grace = field(value, "deletionGracePeriodSeconds");
    if !grace.is_null() && grace != field(old, "deletionGracePeriodSeconds") {
        refuse("deletionGracePeriodSeconds", grace);
    }
    errors
}

/// Removes duplicate owner references, which are equal in every field, and returns a warning for the client
/// if there were any. References with the same UID that differ in other fields stay: only the client knows
/// which of them is right.
pub(crate) fn deduplicate_owners(value: &mut Value) -> Option<String> {
    let owners = value
        .get_mut("metadata")?
        .get_mut("ownerReferences")?
        .as_array_mut()?;
    let mut references = HashSet::new();
    let mut duplicates = BTreeSet::new();
    owners.retain(|owner| {
        // A reference that cannot be parsed is rejected later, together with all other errors.
        let Ok(reference) = OwnerReference::deserialize(owner) else {
            return true;
        };
        let uid = reference.uid.clone();
        let first = references.insert(reference);
        if !first {
            duplicates.insert(uid);
        }
        first
    });
    (!duplicates.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; the server keeps the first of equal entries, please fix \
             your requests; duplicate UID(s) observed: {duplicates:?}"
        )
    })
}

/// Restores fields of the stored object that the body of an update never changes.
pub(crate) fn on_update(value: &mut Value, old: &Value) {
    let fields = metadata(value);
    for field in DROPPED {
        fields.remove(field);
    }
    for field in IMMUTABLE {
        match old["metadata"].get(field) {
            Some(stored) => fields.insert(field.to_owned(), stored.clone()),
            None => fields.remove(field),
        };
    }
}

/// Restores the stored status, for an update of the object itself.
pub(crate) fn keep_status(value: &mut Value, old: &Value) {
    match old.get("status") {
        Some(status) => value["status"] = status.clone(),
        None => remove(value, "status"),
    }
}

/// Restores everything except the status, for an update of the status. The metadata from the client are kept
/// as far as `rule` allows.
pub(crate) fn only_status(mut value: Value, old: &Value, rule: StatusMetadata) -> Value {
    let mut result = old.clone();
    let mut take = |field: &str| value.as_object_mut().and_then(|fields| fields.remove(field));
    match take("status") {
        Some(status) => result["status"] = status,
        None => remove(&mut result, "status"),
    }
    let new_metadata = match rule {
        StatusMetadata::Ignored => None,
        StatusMetadata::Written | StatusMetadata::WrittenButLabels => take("metadata"),
    };
    if let Some(new_metadata) = new_metadata {
        let before = std::mem::replace(&mut result["metadata"], new_metadata);
        if rule == StatusMetadata::WrittenButLabels {
            let fields = metadata(&mut result);
            match before.get("labels") {
                Some(labels) => fields.insert("labels".to_owned(), labels.clone()),
                None => fields.remove("labels"),
            };
        }
    }
    result
}

fn remove(value: &mut Value, field: &str) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove(field);
    }
}

/// Values of the fields that only the server sets. They are restored after policies and webhooks have changed
/// the object.
pub(super) struct SystemFields(Value);

impl SystemFields {
    /// Copies the fields from `value`, before policies and webhooks change it.
    pub(super) fn of(value: &Value) -> Self {
        let fields = ["metadata", "status"].into_iter();
        let fields = fields.filter_map(|field| Some((field.to_owned(), value.get(field)?.clone())));
        Self(Value::Object(fields.collect()))
    }

    /// Restores the fields in `value`. The status is what a write of the status is about, so policies and
    /// webhooks may change it there.
    pub(super) fn restore(&self, value: &mut Value, served: &ServedVersion, operation: WriteOperation) {
        on_update(value, &self.0);
        let writes_status = operation == WriteOperation::Subresource("status");
        if served.info().status_subresource && !writes_status {
            keep_status(value, &self.0);
        }
    }
}

/// Increments the generation if the content changed: a field other than apiVersion, kind, metadata and
/// status.
pub(crate) fn count_generation(value: &mut Value, old: &Value) {
    if differs_in_content(value, old) {
        raise_generation(value);
    }
}

/// Increments the generation, if the object has a generation.
pub(crate) fn raise_generation(value: &mut Value) {
    if let Some(generation) = value["metadata"]["generation"].as_i64() {
        metadata(value).insert("generation".to_owned(), generation.saturating_add(1).into());
    }
}

/// Whether `new` and `old` differ in a field other than apiVersion, kind, metadata and status.
fn differs_in_content(new: &Value, old: &Value) -> bool {
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return true;
    };
    let is_content = |name: &&String| !matches!(name.as_str(), "metadata" | "status" | "apiVersion" | "kind");
    let count = |fields: &Map<String, Value>| fields.keys().filter(is_content).count();
    count(new) != count(old)
        || new
            .iter()
            .filter(|(name, _)| is_content(name))
            .any(|(name, value)| old.get(name) != Some(value))
}

/// Maps of metadata that count as absent when they are empty.
const MAPS: [&str; 2] = ["annotations", "labels"];
/// Lists of metadata that count as absent when they are empty.
const LISTS: [&str; 2] = ["finalizers", "ownerReferences"];

/// Removes metadata fields that count as absent: Kubernetes' own encoders write `null`, or an empty list or
/// map, for empty fields. In labels and annotations, `null` becomes the empty string.
pub(crate) fn drop_nulls(value: &mut Value) {
    let Some(fields) = value.get_mut("metadata") else {
        return;
    };
    if fields.is_null() {
        *fields = Value::Object(Map::new());
    }
    let Some(fields) = fields.as_object_mut() else {
        return;
    };
    // An empty list instead of a map has the wrong type, and is rejected like other wrong types.
    fields.retain(|name, value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty() || !LISTS.contains(&name.as_str()),
        Value::Object(entries) => !entries.is_empty() || !MAPS.contains(&name.as_str()),
        _ => true,
    });
    for map in MAPS {
        let Some(entries) = fields.get_mut(map).and_then(Value::as_object_mut) else {
            continue;
        };
        for entry in entries.values_mut().filter(|entry| entry.is_null()) {
            *entry = String::new().into();
        }
    }
}

/// Checks that the object is in the namespace of the request. An object without a namespace is valid.
pub(crate) fn check_namespace(value: &Value, served: &ServedVersion, namespace: &str) -> Result<(), Status> {
    let object_namespace = text(value, "namespace");
    if served.info().namespaced() && !object_namespace.is_empty() && object_namespace != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_write_of_the_status_takes_the_metadata_that_its_kind_takes() {
        let old = json!({
            "metadata": {"name": "a", "uid": "u", "labels": {"a": "old"}},
            "spec": {"size": 1}, "status": {"phase": "Old"},
        });
        let new = json!({
            "metadata": {"name": "a", "labels": {"a": "new"}, "annotations": {"b": "new"}},
            "spec": {"size": 2}, "status": {"phase": "New"},
        });
        let written = |rule| {
            let mut value = only_status(new.clone(), &old, rule);
            on_update(&mut value, &old);
            assert_eq!(
                (&value["spec"]["size"], &value["status"]["phase"]),
                (&json!(1), &json!("New"))
            );
            assert_eq!(value["metadata"]["uid"], "u");
            [
                value["metadata"]["labels"]["a"].clone(),
                value["metadata"]["annotations"]["b"].clone(),
            ]
        };
        assert_eq!(written(StatusMetadata::Ignored), [json!("old"), Value::Null]);
        assert_eq!(written(StatusMetadata::Written), [json!("new"), json!("new")]);
        assert_eq!(
            written(StatusMetadata::WrittenButLabels),
            [json!("old"), json!("new")]
        );
        let unlabelled = json!({"metadata": {"name": "a"}});
        let value = only_status(new.clone(), &unlabelled, StatusMetadata::WrittenButLabels);
        assert_eq!(value["metadata"].get("labels"), None);
    }
}
