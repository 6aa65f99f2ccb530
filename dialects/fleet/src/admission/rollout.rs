//! The changes that KubeFleet's rollout may make to a binding.

use std::collections::BTreeSet;

use berth_admission::{Denial, Operation, Request};
use serde_json::{Map, Value};

use crate::kind::State;
use crate::names::WORK_FINALIZER;

/// Fields of the spec that the rollout sets (docs/systems/fleet.md, "What is guarded").
const ROLLOUT_FIELDS: [&str; 5] = [
    "resourceSnapshotName",
    "resourceOverrideSnapshots",
    "clusterResourceOverrideSnapshots",
    "applyStrategy",
    "deleteStrategy",
];

/// Fields of the metadata that may differ, since the server sets them.
const SERVER_FIELDS: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Validates a write of the rollout to a binding.
pub(super) fn check(request: &Request<'_>, object: Option<&Value>) -> Result<(), Denial> {
    match (request.operation, request.old, object) {
        (Operation::Update, Some(old), Some(new)) => check_update(old, new),
        // The rollout deletes bindings that are Unscheduled, evicted, or of a placement that is being
        // deleted.
        (Operation::Delete, ..) => Ok(()),
        _ => Err(Denial::Forbidden(
            "the rollout does not create bindings: the scheduler creates one for each cluster that it selects"
                .to_owned(),
        )),
    }
}

/// The change of the binding's state, as text; `None` if the write does not change the state.
pub(super) fn transition(request: &Request<'_>, object: Option<&Value>) -> Option<String> {
    let (from, to) = (state(request.old?), state(object?));
    (from != to).then(|| format!("from {from} to {to}"))
}

fn state(binding: &Value) -> &str {
    binding["spec"]["state"].as_str().unwrap_or("no state")
}

/// Validates an update by the rollout.
fn check_update(old: &Value, new: &Value) -> Result<(), Denial> {
    let mut problems = Vec::new();
    for name in differing(old, new) {
        match name {
            // These fields are set by the server or by the rollout.
            "apiVersion" | "kind" | "status" => {}
            "spec" => check_spec(&old["spec"], &new["spec"], &mut problems),
            "metadata" => check_metadata(&old["metadata"], &new["metadata"], &mut problems),
            other => problems.push(forbidden(other, "the rollout may not change it")),
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Denial::Forbidden(problems.join("; ")))
}

/// Adds the problems of a changed spec.
fn check_spec(old: &Value, new: &Value, problems: &mut Vec<String>) {
    let (scheduled, bound) = (State::Scheduled.as_str(), State::Bound.as_str());
    for name in differing(old, new) {
        if ROLLOUT_FIELDS.contains(&name) {
            continue;
        }
        let path = format!("spec.{name}");
        if name != "state" {
            problems.push(forbidden(&path, "only berth:scheduler writes it"));
            continue;
        }
        let state_of = |spec: &Value| spec["state"].as_str().unwrap_or("no state").to_owned();
        let (from, to) = (state_of(old), state_of(new));
        if (from.as_str(), to.as_str()) != (scheduled, bound) {
            let detail = format!(
                "from {from} to {to}: the rollout may only change Scheduled to Bound; berth:scheduler makes all other \
                 changes"
            );
            problems.push(forbidden(&path, &detail));
        }
    }
}

/// Adds the problems of changed metadata. The rollout may change only the rollout's own finalizer, which
/// keeps a binding while there is work on the cluster. Once the binding is being deleted, any finalizer may
/// change, since KubeFleet's own scheduler also removes the finalizer that Berth's scheduler sets.
fn check_metadata(old: &Value, new: &Value, problems: &mut Vec<String>) {
    for name in differing(old, new) {
        if SERVER_FIELDS.contains(&name) {
            continue;
        }
        let path = format!("metadata.{name}");
        if name != "finalizers" {
            problems.push(forbidden(&path, "only berth:scheduler writes it"));
        } else if let Some(other) = finalizers(old)
            .symmetric_difference(&finalizers(new))
            .find(|finalizer| **finalizer != WORK_FINALIZER)
            .filter(|_| old.get("deletionTimestamp").is_none())
        {
            let detail = format!("the rollout may only add or remove {WORK_FINALIZER}");
            problems.push(forbidden(&format!("{path}[{other}]"), &detail));
        }
    }
}

fn finalizers(metadata: &Value) -> BTreeSet<&str> {
    let list = metadata["finalizers"].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn forbidden(path: &str, detail: &str) -> String {
    format!("{path}: Forbidden: {detail}")
}

/// The names of the fields that differ. A field that is null counts as absent.
fn differing<'a>(old: &'a Value, new: &'a Value) -> Vec<&'a str> {
    let fields = |value: &'a Value| value.as_object().into_iter().flat_map(Map::keys);
    let names: BTreeSet<&str> = fields(old).chain(fields(new)).map(String::as_str).collect();
    names
        .into_iter()
        .filter(|name| old[*name] != new[*name])
        .collect()
}
