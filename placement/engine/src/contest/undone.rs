//! Detection of writes that revert another program's change to Berth's last write, as opposed to writes that
//! follow from a change of the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{Key, Object};
use berth_storage::Source;
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

/// The check whether a write reverts another program's change.
pub(super) struct WriteCheck<'a> {
    /// The present objects.
    pub(super) source: &'a dyn Source,
    /// The objects of Berth's last write; `None` for deleted objects.
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
            (Verb::Create, None, None) => self.same_picks,
            // Another writer created the object again.
            (Verb::Delete, Some(None), Some(_)) => true,
            (Verb::Delete, None, Some(now)) => self.same_picks && !is_managed(now, self.manager),
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

/// Whether `object` has fields that `manager` set.
fn is_managed(object: &Object, manager: &str) -> bool {
    managers(object).iter().any(|(name, _)| name == manager)
}

/// Returns the field manager other than `own` that changed `object` last.
fn other_manager(object: &Object, own: &str) -> Option<String> {
    let other_managers = managers(object).into_iter().filter(|(name, _)| name != own);
    other_managers
        .max_by(|one, other| one.1.cmp(&other.1))
        .map(|(name, _)| name)
}

/// Returns the field managers of `object`, each with the time of the last write.
fn managers(object: &Object) -> Vec<(String, String)> {
    let entries: Value = serde_json::from_slice(&object.managed_fields()).unwrap_or_default();
    let entries = entries.as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries
        .map(|entry| (text(&entry["manager"]), text(&entry["time"])))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
