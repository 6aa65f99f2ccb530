//! The writes of a decision, in order: every prefix of them leaves a valid state (docs/concepts.md, "Where
//! objects are").
//!
//! To grant a Cluster, the request first gets the scheduler's finalizer. Then the Cluster gets the finalizer
//! of the request, or is created with it, so that the request is bound. The status is written last. Updates
//! are edits of the stored objects, and are guarded by the revisions of these objects: if two requests
//! compete for the last room on a Cluster, one of the requests is decided again.

use std::sync::Arc;

use berth_apimachinery::types::condition;
use berth_apimachinery::{Object, time};
use berth_dialect_contract::wording::Sentences;
use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::config::{Mapping, Tenancy};
use crate::detail::{Detail, Plan, Step};
use crate::fleet::{Fleet, Operation, Place, Record, RequestMetadata};
use crate::kind::cluster_request::ClusterRequest;
use crate::names::{
    API_VERSION, GRANTED, OPERATION_ANNOTATION, PENDING, REQUEST_FINALIZER, SCHEDULED, USE_FINALIZER,
};
use crate::release::{Release, ReleasedCluster};

/// The beginnings of the messages about a request that fails.
const SENTENCES: Sentences = Sentences(&[
    "cluster * is being deleted ",
    "cluster * cannot be read: ",
    "a new cluster would be named ",
    "purpose \"",
    "the name prefix \"",
    // A name that cannot be used, which may have several words.
    "\"",
]);

/// All writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let (Some(request), Some(detail)) = (fleet.request(&decision.demand), decision.detail::<Detail>()) else {
        return Vec::new();
    };
    let mut list = Vec::new();
    match &detail.plan {
        Plan::Nothing => {}
        Plan::Grant {
            place,
            step,
            lacks_metadata,
        } => {
            let object = with_scheduler_finalizer(request, decision, &mut list);
            add_cluster_write(fleet, request, place, (*step, *lacks_metadata), &mut list);
            if !request.status.grants(place, request.requirements.generation) {
                list.push(status_write(request, decision, object, Some(place)));
            }
        }
        Plan::Fail { reason, message } => {
            let object = with_scheduler_finalizer(request, decision, &mut list);
            let is_reported = request.status.cause.as_ref().is_some_and(|cause| {
                cause[0] == "False" && cause[1] == *reason && SENTENCES.keeps(&cause[2], message)
            });
            if !(is_reported
                && request.status.phase == PENDING
                && request.status.observed_generation == request.requirements.generation)
            {
                list.push(status_write(request, decision, object, None));
            }
        }
        Plan::Release(release) => add_release_writes(fleet, request, decision, release, &mut list),
    }
    list
}

/// The condition Scheduled for the request's status; `None` if the decision does not set it.
pub(crate) fn scheduled_condition(request: &Record, decision: &Decision) -> Option<Value> {
    let (status, reason, message) = match &decision.detail::<Detail>()?.plan {
        Plan::Grant { place, .. } => ("True", GRANTED, format!("cluster {place} is granted")),
        Plan::Fail { reason, message } => ("False", *reason, message.clone()),
        Plan::Nothing | Plan::Release(_) => return None,
    };
    let view: ClusterRequest = request.object.view().unwrap_or_default();
    let conditions = view.status.map(|status| status.conditions).unwrap_or_default();
    let known = condition(&conditions, SCHEDULED).filter(|known| known.status == status);
    let since = known.and_then(|known| known.last_transition_time);
    Some(json!({
        "type": SCHEDULED, "status": status, "reason": reason, "message": message,
        "observedGeneration": request.requirements.generation,
        "lastTransitionTime": time::rfc3339(since.map_or(decision.now, |since| since.0)),
    }))
}

/// The stored object, without a resourceVersion, as the base of an edit.
fn stored_value(object: &Arc<Object>) -> Value {
    let mut value = object.parse();
    child(&mut value, "metadata").remove("resourceVersion");
    value
}

/// The JSON object at `name` in `value`. It is created if it is missing or of another type.
fn child<'a>(value: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    let slot = &mut value[name];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("it was just made an object")
}

/// The list of finalizers of the object in `value`. It is created if it is missing or of another type.
fn finalizers(value: &mut Value) -> &mut Vec<Value> {
    let slot = child(value, "metadata")
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if !slot.is_array() {
        *slot = json!([]);
    }
    slot.as_array_mut().expect("it was just made a list")
}

/// The update of the stored `object` to `value`.
fn update(object: &Arc<Object>, key: berth_apimachinery::Key, value: Value) -> Write {
    Write {
        verb: Verb::Update,
        key,
        subresource: "",
        object: value,
        base: Some(object.revision()),
    }
}

/// Returns the request with the scheduler's finalizer, and without the annotation of the operation if its value
/// is `reconcile`. Adds the write to `list` if anything changes.
fn with_scheduler_finalizer(request: &Record, decision: &Decision, list: &mut Vec<Write>) -> Value {
    let mut value = stored_value(&request.object);
    if !request.has_finalizer {
        finalizers(&mut value).push(REQUEST_FINALIZER.into());
    }
    if request.requirements.operation == Operation::Reconcile {
        let metadata = child(&mut value, "metadata");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(OPERATION_ANNOTATION);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    if !request.has_finalizer || request.requirements.operation == Operation::Reconcile {
        list.push(update(&request.object, decision.demand.clone(), value.clone()));
    }
    value
}

/// Adds the write of the granted Cluster: either its creation, or an update that adds the request's finalizer
/// (at the step [`Step::Join`]) and missing metadata of the request (if `lacks_metadata`).
fn add_cluster_write(
    fleet: &Fleet,
    request: &Record,
    place: &Place,
    (step, lacks_metadata): (Step, bool),
    list: &mut Vec<Write>,
) {
    let finalizer = format!("{USE_FINALIZER}{}", request.requirements.holder);
    match step {
        Step::None if !lacks_metadata => {}
        Step::None | Step::Join => {
            if let Some(object) = fleet.cluster(place) {
                let mut value = stored_value(object);
                if step == Step::Join {
                    finalizers(&mut value).push(finalizer.into());
                }
                if lacks_metadata {
                    copy_metadata(&request.requirements.metadata, &mut value);
                }
                list.push(update(object, place.key(), value));
            }
        }
        Step::Create | Step::Recreate => {
            if let Some(mapping) = fleet.mapping(request) {
                let is_random = step == Step::Create && request.requirements.random_name;
                let mut object = new_cluster(place, mapping, &finalizer, is_random);
                if mapping.tenancy == Tenancy::Exclusive {
                    copy_metadata(&request.requirements.metadata, &mut object);
                }
                list.push(Write {
                    verb: Verb::Create,
                    key: place.key(),
                    subresource: "",
                    object,
                    base: None,
                });
            }
        }
    }
}

/// Copies labels and annotations of the request to `cluster`, in place of entries with equal keys.
fn copy_metadata(metadata: &RequestMetadata, cluster: &mut Value) {
    for (part, entries) in metadata
        .parts()
        .into_iter()
        .filter(|(_, entries)| !entries.is_empty())
    {
        let own = child(&mut cluster["metadata"], part);
        own.extend(
            entries
                .iter()
                .map(|(key, text)| (key.clone(), text.as_str().into())),
        );
    }
}

/// A new Cluster. If the name has a random suffix (`is_random`), the prefix is the `generateName` of the
/// Cluster.
fn new_cluster(place: &Place, mapping: &Mapping, finalizer: &str, is_random: bool) -> Value {
    let template = &mapping.template;
    let mut metadata = json!({
        "namespace": &*place.namespace, "name": &*place.name, "labels": template.labels, "finalizers": [finalizer],
    });
    if !template.annotations.is_empty() {
        metadata["annotations"] = json!(template.annotations);
    }
    if let (true, crate::naming::Naming::Prefix(prefix)) = (is_random, &mapping.naming) {
        metadata["generateName"] = prefix.as_str().into();
    }
    json!({"apiVersion": API_VERSION, "kind": "Cluster", "metadata": metadata, "spec": template.spec})
}

/// The write of the request's status: Granted with the Cluster at `place`; without a `place`, Pending with
/// the Cluster that was granted before.
fn status_write(request: &Record, decision: &Decision, mut object: Value, place: Option<&Place>) -> Write {
    let condition = scheduled_condition(request, decision);
    let status = child(&mut object, "status");
    let phase = if place.is_some() { GRANTED } else { PENDING };
    status.insert("phase".to_owned(), phase.into());
    status.insert(
        "observedGeneration".to_owned(),
        request.requirements.generation.into(),
    );
    if let Some(place) = place {
        let cluster = json!({"name": &*place.name, "namespace": &*place.namespace});
        status.insert("cluster".to_owned(), cluster);
    }
    if let Some(condition) = condition {
        let slot = status.entry("conditions").or_insert_with(|| json!([]));
        let mut conditions = slot.as_array().cloned().unwrap_or_default();
        match conditions.iter_mut().find(|known| known["type"] == SCHEDULED) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
        *slot = conditions.into();
    }
    Write {
        subresource: "status",
        ..update(&request.object, decision.demand.clone(), object)
    }
}

/// Adds all writes that release the Clusters of a deleted request.
fn add_release_writes(
    fleet: &Fleet,
    request: &Record,
    decision: &Decision,
    release: &Release,
    list: &mut Vec<Write>,
) {
    let finalizer = format!("{USE_FINALIZER}{}", request.requirements.holder);
    for ReleasedCluster { place, is_deleted } in &release.clusters {
        let Some(object) = fleet.cluster(place) else {
            continue;
        };
        let mut value = stored_value(object);
        if *is_deleted {
            list.push(Write {
                verb: Verb::Delete,
                ..update(object, place.key(), value.clone())
            });
            let since = time::rfc3339(decision.now);
            child(&mut value, "metadata").insert("deletionTimestamp".to_owned(), since.into());
        }
        finalizers(&mut value).retain(|known| *known != *finalizer);
        let mut write = update(object, place.key(), value);
        if *is_deleted {
            // The deletion has changed the revision.
            write.base = None;
        }
        list.push(write);
    }
    if request.has_finalizer && release.awaited.is_none() {
        let mut value = stored_value(&request.object);
        finalizers(&mut value).retain(|known| known != REQUEST_FINALIZER);
        list.push(update(&request.object, decision.demand.clone(), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naming::Naming;

    #[test]
    fn a_name_of_several_words_that_cannot_be_used_begins_a_known_sentence() {
        for name in ["My Platform", "Platform", "My own platform"] {
            let error = Naming::Fixed(name.to_owned()).name("ns", "r").unwrap_err();
            assert!(SENTENCES.matches(&error.to_string()), "{error}");
        }
    }
}
