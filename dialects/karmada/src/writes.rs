//! The writes of a decision (docs/systems/karmada.md, "What is written"): first the observed group of
//! clusters, then the clusters with the applied placement, then the rest of the status. Edits start from the
//! stored objects, so that unknown fields survive.

use std::collections::{BTreeMap, BTreeSet};

use berth_apimachinery::types::{Time, condition};
use berth_apimachinery::{Timestamp, time};
use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::detail::Detail;
use crate::divide::Shares;
use crate::fleet::Fleet;
use crate::names::{APPLIED_PLACEMENT, SCHEDULED};
use crate::record::{AppliedPlacement, Record};
use crate::words;

/// The reason of the condition if Karmada's scheduler succeeds.
const SUCCESS: &str = "Success";

/// The writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let Some((detail, record)) = decided_binding(fleet, decision) else {
        return Vec::new();
    };
    let mut object = stripped(record);
    let mut writes = Vec::new();
    let mut push = |subresource, object: &Value| {
        // Only the first write has a base. Each further write starts from the result of the previous one.
        let base = writes.is_empty().then_some(record.object.revision());
        writes.push(Write {
            verb: Verb::Update,
            key: decision.demand.clone(),
            subresource,
            object: object.clone(),
            base,
        });
    };
    // The group is written first: a later run could not derive the group from the clusters.
    if let Some(name) = group_name(record, detail)
        && name != record.status.scheduler_observed_affinity_name
    {
        set_status_field(&mut object, "schedulerObservingAffinityName", name.into());
        push("status", &object);
    }
    let is_list_changed = match &detail.shares {
        Some(shares) => set_clusters(&mut object, &replicas_by_name(fleet, shares)),
        None => false,
    };
    let is_annotated = detail.shares.is_some() && annotate(&mut object, record);
    if is_list_changed || is_annotated {
        push("", &object);
    }
    // The server increments the generation if the spec changes. The status names the resulting generation.
    let generation = record.object.meta().generation() + i64::from(is_list_changed);
    if update_status(&mut object, record, detail, generation, decision) {
        push("status", &object);
    }
    writes
}

/// The scheduler's own conditions, as the status will list them.
pub(crate) fn conditions(fleet: &Fleet, decision: &Decision) -> Vec<Value> {
    let Some((detail, record)) = decided_binding(fleet, decision) else {
        return Vec::new();
    };
    vec![Value::Object(scheduled_condition(record, detail, decision.now))]
}

/// The detail of `decision` and its binding; `None` if the pipeline did not run, or if the binding is gone.
fn decided_binding<'a>(fleet: &'a Fleet, decision: &'a Decision) -> Option<(&'a Detail, &'a Record)> {
    let detail = decision.detail::<Detail>()?;
    let record: &Record = fleet.bindings.get(&decision.demand)?;
    detail.trigger.is_some().then_some((detail, record))
}

fn stripped(record: &Record) -> Value {
    let mut object = record.object.parse();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    object
}

/// Replicas by the names of clusters.
fn replicas_by_name<'a>(fleet: &'a Fleet, shares: &Shares) -> BTreeMap<&'a str, i64> {
    let columns = fleet.columns();
    let shares = shares.iter();
    shares
        .map(|(candidate, share)| (&*columns.row(*candidate).name, *share))
        .collect()
}

/// Sets `spec.clusters` to the clusters of `shares`, in the order of names. If these clusters are already
/// listed with these replicas, their order stays. Other fields of a cluster's entry are kept. Returns whether
/// `object` was changed.
fn set_clusters(object: &mut Value, shares: &BTreeMap<&str, i64>) -> bool {
    let spec = object["spec"].as_object_mut();
    let Some(spec) = spec else {
        return false;
    };
    let stored_entries = spec.get("clusters").and_then(Value::as_array);
    let stored_entries: Vec<Value> = stored_entries.cloned().unwrap_or_default();
    if lists_shares(&stored_entries, shares) {
        return false;
    }
    let mut entries: BTreeMap<String, Value> = stored_entries
        .into_iter()
        .map(|entry| (cluster_name(&entry).to_owned(), entry))
        .collect();
    let new_entries = shares.iter().map(|(name, replicas)| {
        let mut entry = entries.remove(*name).unwrap_or_else(|| json!({"name": name}));
        if *replicas != 0 {
            entry["replicas"] = (*replicas).into();
        } else if let Some(fields) = entry.as_object_mut() {
            fields.remove("replicas");
        }
        entry
    });
    let new_entries: Vec<Value> = new_entries.collect();
    match new_entries.is_empty() {
        true => spec.remove("clusters"),
        false => spec.insert("clusters".to_owned(), new_entries.into()),
    };
    true
}

/// Whether `entries` of `spec.clusters` are the clusters of `shares` with their replicas, in any order.
fn lists_shares(entries: &[Value], shares: &BTreeMap<&str, i64>) -> bool {
    let names: BTreeSet<&str> = entries.iter().map(cluster_name).collect();
    let has_duplicates = names.len() < entries.len();
    !has_duplicates
        && names.len() == shares.len()
        && entries.iter().all(|entry| {
            let replicas = shares.get(cluster_name(entry));
            replicas.is_some_and(|replicas| *replicas == entry["replicas"].as_i64().unwrap_or(0))
        })
}

fn cluster_name(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

/// Records the placement of the decision in the annotation. Returns whether the annotation was changed.
fn annotate(object: &mut Value, record: &Record) -> bool {
    let placement = record.spec.placement.as_ref();
    let is_recorded = match &record.applied {
        AppliedPlacement::Placement(applied) => placement == Some(&**applied),
        AppliedPlacement::Never | AppliedPlacement::Unreadable => false,
    };
    if is_recorded {
        return false;
    }
    let text = object["spec"]["placement"].to_string();
    object["metadata"]["annotations"][APPLIED_PLACEMENT] = text.into();
    true
}

/// Updates the status of `object` for the decision. `generation` is the generation that `object` will have.
/// Returns whether anything was changed.
fn update_status(
    object: &mut Value,
    record: &Record,
    detail: &Detail,
    generation: i64,
    decision: &Decision,
) -> bool {
    let fields = scheduled_condition(record, detail, decision.now);
    let stored_condition = condition(&record.status.conditions, SCHEDULED);
    let is_current = stored_condition.is_some_and(|stored_condition| {
        stored_condition.status == fields["status"]
            && stored_condition.reason == fields["reason"]
            && words::SENTENCES.keeps(
                &stored_condition.message,
                fields["message"].as_str().unwrap_or_default(),
            )
    });
    let is_observed = detail.failure.is_some()
        || record.status.scheduler_observed_generation == generation
            && record.status.last_scheduled_time.is_some()
            && !record.is_rescheduled();
    if is_current && is_observed {
        return false;
    }
    if detail.failure.is_none() {
        set_status_field(object, "schedulerObservedGeneration", generation.into());
        // If nothing was decided, Karmada only observes the generation. A binding with the noted placement and
        // without a time was decided, but its status was not written.
        if detail.shares.is_some() || record.status.last_scheduled_time.is_none() {
            set_status_field(object, "lastScheduledTime", time::rfc3339(decision.now).into());
        }
    }
    put_condition(object, fields);
    true
}

/// Sets one field of the status.
fn set_status_field(object: &mut Value, field: &str, value: Value) {
    if !object["status"].is_object() {
        object["status"] = json!({});
    }
    object["status"][field] = value;
}

/// The name of the group that the status reports; `None` if there are no groups, if the listed clusters stay,
/// or if no group has taken the replicas: the group of the last success then stays observed, as in Karmada.
fn group_name<'a>(record: &'a Record, detail: &Detail) -> Option<&'a str> {
    detail.shares.as_ref().filter(|_| detail.failure.is_none())?;
    let placement = record.placement.as_ref()?;
    Some(placement.groups().get(detail.group?)?.name.as_str())
}

/// The condition Scheduled. The transition time of the stored condition is kept unless the status changes.
fn scheduled_condition(record: &Record, detail: &Detail, now: Timestamp) -> Map<String, Value> {
    let (status, reason) = match detail.failure {
        None => ("True", SUCCESS),
        Some(failure) => ("False", failure.condition_reason()),
    };
    let stored_condition = condition(&record.status.conditions, SCHEDULED)
        .filter(|stored_condition| stored_condition.status == status);
    let since = stored_condition
        .and_then(|stored_condition| stored_condition.last_transition_time)
        .unwrap_or(Time(now));
    let mut fields = Map::new();
    let message = words::condition(detail);
    for (name, text) in [
        ("type", SCHEDULED),
        ("status", status),
        ("reason", reason),
        ("message", message.as_str()),
    ] {
        fields.insert(name.to_owned(), text.into());
    }
    fields.insert("lastTransitionTime".to_owned(), time::rfc3339(since.0).into());
    fields
}

fn put_condition(object: &mut Value, fields: Map<String, Value>) {
    let mut list = object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let stored_condition = list.iter_mut().find(|entry| entry["type"] == fields["type"]);
    match stored_condition.and_then(Value::as_object_mut) {
        Some(entry) => entry.extend(fields),
        None => list.push(Value::Object(fields)),
    }
    set_status_field(object, "conditions", list.into());
}

#[cfg(test)]
mod tests;
