//! Reads and edits of the metadata of unparsed objects, mostly of the labels, annotations and finalizers that
//! each concern one workload cluster.

use std::collections::BTreeSet;

use berth_apimachinery::{Object, Timestamp};
use serde_json::{Map, Value, json};

use crate::machine::SyncState;
use crate::names::{DELETION, SOFT_FINALIZERS, STATE, SYNCER_FINALIZER};

/// The field `metadata.labels`.
pub(crate) const LABELS: &str = "labels";
/// The field `metadata.annotations`.
pub(crate) const ANNOTATIONS: &str = "annotations";

/// The map `metadata.<name>` of an object, if it exists.
pub(crate) fn part<'a>(object: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    object.get("metadata")?.get(name)?.as_object()
}

/// The text of `metadata.<name>[key]` of an object.
pub(crate) fn text<'a>(object: &'a Value, name: &str, key: &str) -> Option<&'a str> {
    part(object, name)?.get(key)?.as_str()
}

/// Sets `metadata.<name>[key]` of an object, or removes the key if `value` is `None`.
pub(crate) fn set(object: &mut Value, name: &str, key: &str, value: Option<&str>) {
    if value.is_none() && part(object, name).is_none() {
        return;
    }
    let slot = &mut object["metadata"][name];
    if !slot.is_object() {
        *slot = json!({});
    }
    let Some(map) = slot.as_object_mut() else { return };
    match value {
        Some(value) => map.insert(key.to_owned(), value.into()),
        None => map.remove(key),
    };
}

/// The value of a cluster's state label on an object. An invalid value counts as no label.
pub(crate) fn state(object: &Value, identifier: &str) -> Option<SyncState> {
    text(object, LABELS, &format!("{STATE}{identifier}")).and_then(SyncState::named)
}

/// Whether an object has a cluster's state label, with any value.
pub(crate) fn has_state(object: &Value, identifier: &str) -> bool {
    part(object, LABELS).is_some_and(|labels| labels.contains_key(&format!("{STATE}{identifier}")))
}

/// Sets a cluster's state label on an object, or removes the label if `state` is `None`.
pub(crate) fn set_state(object: &mut Value, identifier: &str, state: Option<SyncState>) {
    set(
        object,
        LABELS,
        &format!("{STATE}{identifier}"),
        state.map(SyncState::as_str),
    );
}

/// The instant in a cluster's deletion annotation on an object, if it is valid.
pub(crate) fn deletion(object: &Value, identifier: &str) -> Option<Timestamp> {
    text(object, ANNOTATIONS, &format!("{DELETION}{identifier}")).and_then(berth_apimachinery::time::parse)
}

/// Sets a cluster's deletion annotation on an object (UTC, whole seconds), or removes the annotation if `at`
/// is `None`.
pub(crate) fn set_deletion(object: &mut Value, identifier: &str, at: Option<Timestamp>) {
    let at = at.map(berth_apimachinery::time::rfc3339);
    set(
        object,
        ANNOTATIONS,
        &format!("{DELETION}{identifier}"),
        at.as_deref(),
    );
}

/// Whether soft finalizers of coordination controllers still hold an object on a cluster.
pub(crate) fn has_soft_finalizers(object: &Value, identifier: &str) -> bool {
    text(object, ANNOTATIONS, &format!("{SOFT_FINALIZERS}{identifier}"))
        .is_some_and(|names| names.split(',').any(|name| !name.trim().is_empty()))
}

/// The finalizers of an object.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = object
        .get("metadata")
        .and_then(|metadata| metadata.get("finalizers"));
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether an object has the finalizer of a cluster's syncer.
pub(crate) fn has_syncer_finalizer(object: &Value, identifier: &str) -> bool {
    finalizers(object).any(|name| name.strip_prefix(SYNCER_FINALIZER) == Some(identifier))
}

/// Adds the finalizer of a cluster's syncer to an object if `present` is true, else removes the finalizer.
pub(crate) fn set_syncer_finalizer(object: &mut Value, identifier: &str, present: bool) {
    if has_syncer_finalizer(object, identifier) == present {
        return;
    }
    let name = format!("{SYNCER_FINALIZER}{identifier}");
    let mut list: Vec<String> = finalizers(object)
        .filter(|known| **known != name)
        .map(str::to_owned)
        .collect();
    if present {
        list.push(name);
    }
    object["metadata"]["finalizers"] = list.into();
}

/// The identifiers of clusters in an object's state labels, deletion annotations and syncer finalizers.
pub(crate) fn identifiers(object: &Value) -> BTreeSet<String> {
    let keys = |name, prefix: &'static str| {
        let keys = part(object, name).into_iter().flat_map(Map::keys);
        keys.filter_map(move |key| key.strip_prefix(prefix))
    };
    let of_finalizers = finalizers(object).filter_map(|name| name.strip_prefix(SYNCER_FINALIZER));
    keys(LABELS, STATE)
        .chain(keys(ANNOTATIONS, DELETION))
        .chain(of_finalizers)
        .map(str::to_owned)
        .collect()
}

/// Whether an object has metadata of a cluster, so that [`identifiers`] contains `identifier`.
pub(crate) fn mentions(object: &Object, identifier: &str) -> bool {
    let meta = object.meta();
    let is_of = |key: &str, prefix: &str| key.strip_prefix(prefix) == Some(identifier);
    meta.labels().keys().any(|key| is_of(key, STATE))
        || object.annotations().keys().any(|key| is_of(&key, DELETION))
        || meta.finalizers().iter().any(|name| is_of(name, SYNCER_FINALIZER))
}

/// Whether an object has metadata of any cluster, so that [`identifiers`] is not empty.
pub(crate) fn mentions_any(object: &Object) -> bool {
    let meta = object.meta();
    meta.labels().keys().any(|key| key.starts_with(STATE))
        || object.annotations().keys().any(|key| key.starts_with(DELETION))
        || meta
            .finalizers()
            .iter()
            .any(|name| name.starts_with(SYNCER_FINALIZER))
}

/// The field `metadata.deletionTimestamp` of an object.
pub(crate) fn deleted_at(object: &Value) -> Option<Timestamp> {
    object
        .get("metadata")?
        .get("deletionTimestamp")?
        .as_str()
        .and_then(berth_apimachinery::time::parse)
}

/// The field `metadata.name` of an object.
pub(crate) fn name(object: &Value) -> &str {
    let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
    name.and_then(Value::as_str).unwrap_or_default()
}
