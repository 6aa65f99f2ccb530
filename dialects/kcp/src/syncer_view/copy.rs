//! The copy of an object on a workload cluster: the content of the copy, updates of an existing copy, and the
//! status to be reported upstream (docs/systems/kcp.md, "Downstream copies").
//!
//! Clusters add defaults and their own labels to a copy, so a copy may have more than the upstream object.
//! The record of a copy lists the copied fields, so that fields that are no longer copied can be removed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha224};

use super::{allocated, hex};
use crate::edit::{ANNOTATIONS, LABELS, part, set, text};
use crate::names::{
    DELETION, DOWNSTREAM_CLUSTER, INTERNAL_SCHEDULING, PLACEMENT, SOFT_FINALIZERS, SPEC_DIFF, STATE,
    STATUS_OF,
};

/// The annotation of a downstream object with the copied fields, as a [`Record`].
pub const SYNCED: &str = "internal.workloads.kcp.dev/synced";

/// The record of a copy's origin and copied fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The name of the upstream object.
    pub name: String,
    /// The hash of the copied content, without the record itself.
    pub hash: String,
    /// The top-level fields that were copied.
    pub fields: BTreeSet<String>,
    /// The keys of the labels that were copied.
    pub labels: BTreeSet<String>,
    /// The keys of the annotations that were copied.
    pub annotations: BTreeSet<String>,
}

impl Record {
    /// The record in the annotation of a downstream object; an empty record if it is missing or malformed.
    #[must_use]
    pub fn of(down: &Value) -> Self {
        let text = text(down, ANNOTATIONS, SYNCED);
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    fn new(name: &str, copy: &Value) -> Self {
        let keys = |map: Option<&Map<String, Value>>| {
            map.into_iter()
                .flat_map(Map::keys)
                .cloned()
                .collect::<BTreeSet<String>>()
        };
        let mut fields = keys(copy.as_object());
        fields.retain(|field| !UNRECORDED_FIELDS.contains(&field.as_str()));
        Self {
            name: name.to_owned(),
            hash: hex(&Sha224::digest(copy.to_string())),
            fields,
            labels: keys(part(copy, LABELS)),
            annotations: keys(part(copy, ANNOTATIONS)),
        }
    }

    fn text(&self) -> String {
        json!(self).to_string()
    }
}

/// Top-level fields that a record does not list.
const UNRECORDED_FIELDS: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
/// Fields of the metadata that are not copied, since each server has its own.
const SERVER_FIELDS: [&str; 10] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "managedFields",
    "ownerReferences",
    "selfLink",
];

/// The identifier of the cluster for which a downstream object was copied.
#[must_use]
pub fn owner(down: &Value) -> Option<&str> {
    text(down, LABELS, DOWNSTREAM_CLUSTER)
}

/// The name of the copy of an object. A ConfigMap or Secret that Kubernetes clusters create in each namespace
/// by themselves gets another name.
#[must_use]
pub fn copy_name(kind: &str, name: &str) -> String {
    match kind {
        "ConfigMap" if name == "kube-root-ca.crt" => "kcp-root-ca.crt".to_owned(),
        "Secret" if name.starts_with("default-token-") => format!("kcp-{name}"),
        _ => name.to_owned(),
    }
}

/// Returns `object` without its status and without the metadata that each server has of its own.
pub(super) fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| !SERVER_FIELDS.contains(&field.as_str()));
    }
    content
}

/// Returns the copy of `up` for `namespace` on the cluster `identifier`, including the record of the copy.
/// `up` is in the form of the view.
#[must_use]
pub fn copy(identifier: &str, up: &Value, namespace: &str) -> Value {
    let mut copy = content(up);
    let name = crate::edit::name(up).to_owned();
    let copied_name = copy_name(up["kind"].as_str().unwrap_or_default(), &name);
    if let Some(metadata) = copy["metadata"].as_object_mut() {
        metadata.insert("name".to_owned(), copied_name.into());
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    for map in [LABELS, ANNOTATIONS] {
        if let Some(entries) = copy["metadata"].get_mut(map).and_then(Value::as_object_mut) {
            entries.retain(|key, _| !is_syncing_key(key));
        }
    }
    allocated::remove_allocated(&mut copy);
    set(&mut copy, LABELS, DOWNSTREAM_CLUSTER, Some(identifier));
    let record = Record::new(&name, &copy).text();
    set(&mut copy, ANNOTATIONS, SYNCED, Some(&record));
    copy
}

/// Whether a key of labels or annotations is about syncing, and has no meaning downstream.
fn is_syncing_key(key: &str) -> bool {
    let prefixes = [
        STATE,
        DELETION,
        SOFT_FINALIZERS,
        STATUS_OF,
        SPEC_DIFF,
        INTERNAL_SCHEDULING,
    ];
    key == PLACEMENT || key == SYNCED || prefixes.iter().any(|prefix| key.starts_with(prefix))
}

/// The fields of ConfigMaps and Secrets that are copied exactly: keys that are not in the upstream object are
/// removed.
const EXACT_FIELDS: [&str; 2] = ["data", "binaryData"];

/// Whether the [`EXACT_FIELDS`] of `object` are copied exactly.
fn has_exact_fields(object: &Value) -> bool {
    matches!(object["kind"].as_str(), Some("ConfigMap" | "Secret"))
}

/// Whether `down` cannot be updated to `copy`, and has to be deleted first.
#[must_use]
pub fn must_recreate(copy: &Value, down: &Value) -> bool {
    allocated::must_recreate(copy, down)
}

/// Whether the [`EXACT_FIELDS`] of `down` and `copy` are equal. Always true for kinds without such fields.
pub(super) fn exact_fields_equal(down: &Value, copy: &Value) -> bool {
    let value_of =
        |object: &'_ Value, field: &str| object.get(field).filter(|value| !is_omittable(value)).cloned();
    !has_exact_fields(copy)
        || EXACT_FIELDS
            .iter()
            .all(|field| value_of(down, field) == value_of(copy, field))
}

/// Returns `down` updated to `copy`; `None` if `down` is up to date. An update replaces each copied top-level
/// field as a whole, except for values that the workload cluster has allocated. Top-level fields, labels and
/// annotations that were copied before and are no longer copied are removed; those of other programs stay.
#[must_use]
pub fn brought_up_to_date(copy: &Value, down: &Value) -> Option<Value> {
    let (old, new) = (Record::of(down), Record::of(copy));
    if old == new && has_content(down, copy) {
        return None;
    }
    let mut next = down.clone();
    let fields = next.as_object_mut()?;
    for removed in old.fields.difference(&new.fields) {
        fields.remove(removed);
    }
    for field in &new.fields {
        fields.insert(field.clone(), copy[field].clone());
    }
    allocated::keep_allocated(&mut next, down);
    let fields = next.as_object_mut()?;
    if has_exact_fields(copy) {
        fields.retain(|field, _| !EXACT_FIELDS.contains(&field.as_str()) || new.fields.contains(field));
    }
    for (map, before) in [(LABELS, &old.labels), (ANNOTATIONS, &old.annotations)] {
        let entries = part(copy, map);
        let is_copied = |key: &str| entries.is_some_and(|entries| entries.contains_key(key));
        for removed in before.iter().filter(|key| !is_copied(key)) {
            set(&mut next, map, removed, None);
        }
        for (key, value) in entries.into_iter().flatten() {
            set(&mut next, map, key, value.as_str());
        }
    }
    Some(next)
}

/// Whether `down` has everything that `copy` has, and no other [`EXACT_FIELDS`].
pub(super) fn has_content(down: &Value, copy: &Value) -> bool {
    contains(down, copy) && exact_fields_equal(down, copy)
}

/// Whether `actual` has everything that `expected` has; maps may have more.
fn contains(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            expected.iter().all(|(key, expected)| match actual.get(key) {
                Some(actual) => contains(actual, expected),
                None => is_omittable(expected),
            })
        }
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual
                    .iter()
                    .zip(expected)
                    .all(|(actual, expected)| contains(actual, expected))
        }
        (actual, expected) => actual == expected,
    }
}

/// Whether a server may omit a field with this value.
fn is_omittable(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The status that `down` reports, translated for upstream; `None` if it reports no status.
///
/// Generations differ between upstream and downstream. The observed generation of `down` is translated to the
/// upstream generation that was copied: the generation of `up` if the present copy was observed, else the
/// generation before.
#[must_use]
pub fn status_for(up: &Value, down: &Value, up_to_date: bool) -> Option<Value> {
    let mut status = down.get("status").filter(|status| !is_omittable(status))?.clone();
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    let observed = status.get("observedGeneration").and_then(Value::as_i64);
    if let (Some(observed), Some(up)) = (observed, generation(up)) {
        let is_current = up_to_date && generation(down).is_none_or(|down| observed >= down);
        status["observedGeneration"] = if is_current { up } else { (up - 1).max(0) }.into();
    }
    Some(status)
}

#[cfg(test)]
mod tests;
