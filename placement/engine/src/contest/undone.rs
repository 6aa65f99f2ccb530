//! Detection of undone writes. Another program may have changed an object that Berth wrote; a planned write
//! that changes it back is a correction. A planned write that follows from a change of the world is not.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Key, Object};
use berth_storage::Source;
use serde::Deserialize;
use serde_json::Value;

/// Time stamps of conditions, which may differ between otherwise equal writes.
const TIMES: [&str; 3] = ["lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime"];
/// Fields of metadata that may hold decisions. The API server writes the other fields.
const METADATA: [&str; 3] = ["labels", "annotations", "finalizers"];

/// A part of Berth's last write that another program undid.
pub(super) struct UndoneWrite {
    /// The changed object.
    pub(super) key: Key,
    /// The field manager of the other program, if the object names it.
    pub(super) manager: Option<String>,
}

/// The check whether a planned write changes back an object that another program changed.
pub(super) struct WriteCheck<'a> {
    /// The present objects.
    pub(super) source: &'a dyn Source,
    /// The objects that Berth wrote for the decision, as last written; `None` for deleted objects. Objects
    /// that needed no write are missing.
    pub(super) last_written: &'a BTreeMap<Key, Option<Arc<Object>>>,
    /// Whether the picked clusters are those of Berth's last write.
    pub(super) same_picks: bool,
    /// The field manager of Berth's writes.
    pub(super) manager: &'a str,
}

impl WriteCheck<'_> {
    /// Returns the undone part that `write` restores; `None` if `write` restores nothing that another program
    /// undid.
    pub(super) fn undone(&self, write: &Write) -> Option<UndoneWrite> {
        let all = self.source.cached(write.key.resource);
        let now = all.get(&write.key.namespace, &write.key.name);
        let last = self.last_written.get(&write.key);
        let is_undone = match (write.verb, last, now) {
            (Verb::Update, Some(Some(last)), Some(now)) => restores(&write.object, last.value(), now.value()),
            // Another writer deleted the object.
            (Verb::Create, Some(Some(_)), None) => true,
            // Berth has not written the object. If the clusters are those of the last decision, that decision
            // found the object in place, and another writer has deleted it since. For others, it is new.
            (Verb::Create, None, None) => self.same_picks,
            // Another writer created the object again.
            (Verb::Delete, Some(None), Some(_)) => true,
            // Berth has not written the object. If the clusters are those of the last decision, that decision
            // would have deleted the object, so another writer has created it since. But an object that has
            // Berth as a field manager is from before a restart, or from another replica.
            (Verb::Delete, None, Some(now)) => self.same_picks && !may_be_managed(now, self.manager),
            _ => false,
        };
        is_undone.then(|| UndoneWrite {
            key: write.key.clone(),
            manager: now.and_then(|now| other_manager(now, self.manager)),
        })
    }
}

/// Whether `planned` restores a value that `last` had and `now` no longer has.
fn restores(planned: &Value, last: &Value, now: &Value) -> bool {
    let Some(fields) = planned.as_object() else {
        return false;
    };
    fields.iter().any(|(field, value)| match field.as_str() {
        "apiVersion" | "kind" => false,
        "metadata" => METADATA
            .iter()
            .any(|part| brings_back(&value[part], &last["metadata"][part], &now["metadata"][part])),
        _ => brings_back(value, &last[field], &now[field]),
    })
}

/// Whether `now` has another decision than `last`.
pub(super) fn differs(last: &Value, now: &Value) -> bool {
    // A write of `last` over `now` would restore what changed. The opposite direction finds top-level fields
    // that only `now` has, which the first direction does not see.
    restores(last, last, now) || restores(now, now, last)
}

/// Whether the value `planned` of a field restores a part that `last` had and `now` no longer has. A list is
/// compared as a whole.
fn brings_back(planned: &Value, last: &Value, now: &Value) -> bool {
    if is_same(planned, now) {
        return false;
    }
    match (planned, last, now) {
        (Value::Object(fields), Value::Object(_), Value::Object(others)) => {
            let removed = others.keys().filter(|name| !fields.contains_key(*name));
            fields
                .keys()
                .chain(removed)
                .any(|name| brings_back(&planned[name], &last[name], &now[name]))
        }
        _ => is_same(planned, last),
    }
}

/// Whether the two values are equal except for time stamps ([`TIMES`]).
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let counts = |name: &&String| !TIMES.contains(&name.as_str());
            one.keys().filter(counts).count() == other.keys().filter(counts).count()
                && one
                    .iter()
                    .filter(|(name, _)| counts(name))
                    .all(|(name, value)| other.get(name).is_some_and(|found| is_same(value, found)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        _ => one == other,
    }
}

/// Whether `object` has fields that `manager` set. True if the managed fields cannot be read: then no other
/// program is accused.
fn may_be_managed(object: &Object, manager: &str) -> bool {
    managers(object).is_none_or(|entries| entries.iter().any(|entry| entry.manager == manager))
}

/// Returns the field manager other than `own` that changed `object` last; `None` if there is none, or the
/// managed fields cannot be read.
fn other_manager(object: &Object, own: &str) -> Option<String> {
    let others = managers(object)?.into_iter().filter(|entry| entry.manager != own);
    others
        .max_by(|one, other| one.time.cmp(&other.time))
        .map(|entry| entry.manager)
}

/// An entry of managed fields: a field manager, with the time of its last write.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ManagerEntry {
    manager: String,
    time: Option<String>,
}

/// Returns the entries of the managed fields of `object`; `None` if they cannot be read, which is logged.
fn managers(object: &Object) -> Option<Vec<ManagerEntry>> {
    let json = object.managers();
    if json.is_empty() {
        return Some(Vec::new());
    }
    let entries = serde_json::from_slice(json).inspect_err(|error| {
        let (namespace, name) = (object.meta().namespace(), object.meta().name());
        tracing::warn!(
            namespace,
            name,
            %error,
            "cannot read the managed fields of an object with a decision"
        );
    });
    entries.ok()
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Revision;
    use serde_json::json;

    use super::*;

    #[test]
    fn managed_fields_that_cannot_be_read_accuse_no_other_program() {
        let object = |managed: Value| {
            let metadata = json!({"name": "d", "managedFields": managed});
            let value = json!({"apiVersion": "example/v1", "kind": "D", "metadata": metadata});
            Object::new(&value, Revision(1)).unwrap()
        };
        let of_other = object(json!([
            {"manager": "berth", "time": "2026-01-01T00:00:02Z"},
            {"manager": "first", "time": "2026-01-01T00:00:00Z"},
            {"manager": "second", "time": "2026-01-01T00:00:01Z"},
        ]));
        assert_eq!(other_manager(&of_other, "berth").as_deref(), Some("second"));
        assert!(may_be_managed(&of_other, "berth") && !may_be_managed(&of_other, "third"));
        let unreadable = object(json!([{"manager": 3}]));
        assert_eq!(other_manager(&unreadable, "berth"), None);
        assert!(may_be_managed(&unreadable, "berth"));
    }

    #[test]
    fn what_another_program_changed_is_told_from_what_the_world_asks_for() {
        let decided = |clusters: Value, time: &str| {
            json!({
                "metadata": {"name": "d", "resourceVersion": time, "labels": {"of": "p"}},
                "status": {"decisions": clusters, "conditions": [{"type": "C", "status": "True", "lastTransitionTime": time}]},
            })
        };
        let ours = decided(json!(["a"]), "1");
        for (planned, now, expected, case) in [
            (
                decided(json!(["a"]), "3"),
                decided(json!(["b"]), "2"),
                true,
                "another cluster is written",
            ),
            (
                decided(json!(["b"]), "3"),
                decided(json!(["a"]), "2"),
                false,
                "another cluster is decided",
            ),
            (
                decided(json!(["c"]), "3"),
                decided(json!(["b"]), "2"),
                false,
                "both moved on",
            ),
            (
                decided(json!(["a"]), "3"),
                decided(json!(["a"]), "2"),
                false,
                "only times differ",
            ),
        ] {
            assert_eq!(restores(&planned, &ours, &now), expected, "{case}");
        }
        assert!(differs(&ours, &decided(json!(["b"]), "2")) && !differs(&ours, &decided(json!(["a"]), "2")));
        let without = json!({"metadata": ours["metadata"]});
        assert!(
            differs(&ours, &without) && differs(&without, &ours),
            "a part comes or goes"
        );
        let mut unlabelled = ours.clone();
        unlabelled["metadata"]["labels"] = json!({});
        assert!(restores(&ours, &ours, &unlabelled), "a label is taken away");
        let mut extra = ours.clone();
        extra["status"]["note"] = json!("theirs");
        assert!(!restores(&extra, &ours, &extra), "a field of others is left");
        assert!(
            restores(&ours, &ours, &extra),
            "a field is added, and taken away again"
        );
    }
}
