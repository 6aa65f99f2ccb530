//! The writes of a decision, in order: every prefix of them leaves a valid state (docs/concepts.md, "Where
//! objects are").
//!
//! To grant a Cluster, the request first gets the scheduler's finalizer. Then the Cluster gets the finalizer
//! of the request, or is created with it, so that the request is bound. The status is written last. Each
//! update is an edit of the stored object and is guarded by its revision: if two requests compete for the
//! last room on a Cluster, one of them is decided again.

use std::sync::Arc;

use berth_apimachinery::types::condition;
use berth_apimachinery::{Object, time};
use berth_dialect_contract::wording::Sentences;
use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::config::{Mapping, Tenancy};
use crate::detail::{Detail, Plan, Step};
use crate::fleet::{Fleet, Operation, PassedOn, Place, Record};
use crate::kind::cluster_request::ClusterRequest;
use crate::names::{
    API_VERSION, GRANTED, OPERATION_ANNOTATION, PENDING, REQUEST_FINALIZER, SCHEDULED, USE_FINALIZER,
};
use crate::release::Release;

/// The beginnings of the messages about a request that fails.
const SENTENCES: Sentences = Sentences(&[
    "cluster * is being deleted ",
    "cluster * cannot be read: ",
    "a new cluster would be named ",
    "purpose \"",
    "the name prefix \"",
    "\"* cannot be the name of a cluster: ",
]);

/// All writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let (Some(request), Some(detail)) = (fleet.request(&decision.demand), decision.detail::<Detail>()) else {
        return Vec::new();
    };
    let mut list = Vec::new();
    match &detail.plan {
        Plan::Nothing => {}
        Plan::Grant { place, step, lacks } => {
            let object = with_scheduler_finalizer(request, decision, &mut list);
            cluster(fleet, request, place, (*step, *lacks), &mut list);
            if !request.status.grants(place, request.wants.generation) {
                list.push(status(request, decision, object, Some(place)));
            }
        }
        Plan::Fail { reason, message } => {
            let object = with_scheduler_finalizer(request, decision, &mut list);
            let is_reported = request.status.cause.as_ref().is_some_and(|cause| {
                cause[0] == "False" && cause[1] == *reason && SENTENCES.leave(&cause[2], message)
            });
            if !(is_reported
                && request.status.phase == PENDING
                && request.status.observed == request.wants.generation)
            {
                list.push(status(request, decision, object, None));
            }
        }
        Plan::Release(release) => self::release(fleet, request, decision, release, &mut list),
    }
    list
}

/// The condition for the request's status; `None` if the decision sets no condition.
pub(crate) fn cause(request: &Record, decision: &Decision) -> Option<Value> {
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
        "observedGeneration": request.wants.generation,
        "lastTransitionTime": time::rfc3339(since.map_or(decision.now, |since| since.0)),
    }))
}

/// The stored object as the base of an edit.
fn stored(object: &Arc<Object>) -> Value {
    let mut value = object.parse();
    child(&mut value, "metadata").remove("resourceVersion");
    value
}

/// The map at `name`, which is created where it is missing or of another type.
fn child<'a>(value: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    let slot = &mut value[name];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("it was just made an object")
}

fn finalizers(value: &mut Value) -> &mut Vec<Value> {
    let slot = child(value, "metadata")
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if !slot.is_array() {
        *slot = json!([]);
    }
    slot.as_array_mut().expect("it was just made a list")
}

fn update(object: &Arc<Object>, key: berth_apimachinery::Key, value: Value) -> Write {
    Write {
        verb: Verb::Update,
        key,
        subresource: "",
        object: value,
        base: Some(object.revision()),
    }
}

/// Returns the request with the scheduler's finalizer and without the annotation `reconcile`. Adds the write
/// to `list` if anything changes.
fn with_scheduler_finalizer(request: &Record, decision: &Decision, list: &mut Vec<Write>) -> Value {
    let mut value = stored(&request.object);
    if !request.finalized {
        finalizers(&mut value).push(REQUEST_FINALIZER.into());
    }
    if request.wants.operation == Operation::Reconcile {
        let metadata = child(&mut value, "metadata");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(OPERATION_ANNOTATION);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    if !request.finalized || request.wants.operation == Operation::Reconcile {
        list.push(update(&request.object, decision.demand.clone(), value.clone()));
    }
    value
}

/// Adds the write of the granted Cluster: either its creation, or an update with the request's finalizer and
/// with metadata of the request that the Cluster `lacks`.
fn cluster(
    fleet: &Fleet,
    request: &Record,
    place: &Place,
    (step, lacks): (Step, bool),
    list: &mut Vec<Write>,
) {
    let finalizer = format!("{USE_FINALIZER}{}", request.wants.holder);
    match step {
        Step::None if !lacks => {}
        Step::None | Step::Join => {
            if let Some(object) = fleet.cluster(place) {
                let mut value = stored(object);
                if step == Step::Join {
                    finalizers(&mut value).push(finalizer.into());
                }
                if lacks {
                    pass_on(&request.wants.metadata, &mut value);
                }
                list.push(update(object, place.key(), value));
            }
        }
        Step::Create | Step::Recreate => {
            if let Some(mapping) = fleet.mapping(request) {
                let generated = step == Step::Create && request.wants.random;
                let mut object = new_cluster(place, mapping, &finalizer, generated);
                if mapping.tenancy == Tenancy::Exclusive {
                    pass_on(&request.wants.metadata, &mut object);
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

/// Adds labels and annotations of the request to its Cluster, in place of entries with the same keys.
fn pass_on(metadata: &PassedOn, cluster: &mut Value) {
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

/// A new Cluster. If its name has a random suffix (`generated`), the prefix is its `generateName`.
fn new_cluster(place: &Place, mapping: &Mapping, finalizer: &str, generated: bool) -> Value {
    let template = &mapping.template;
    let mut metadata = json!({
        "namespace": &*place.namespace, "name": &*place.name, "labels": template.labels, "finalizers": [finalizer],
    });
    if !template.annotations.is_empty() {
        metadata["annotations"] = json!(template.annotations);
    }
    if let (true, crate::naming::Naming::Prefix(prefix)) = (generated, &mapping.naming) {
        metadata["generateName"] = prefix.as_str().into();
    }
    json!({"apiVersion": API_VERSION, "kind": "Cluster", "metadata": metadata, "spec": template.spec})
}

/// The write of the request's status: granted `place`, or Pending with the Cluster that was granted before.
fn status(request: &Record, decision: &Decision, mut object: Value, place: Option<&Place>) -> Write {
    let cause = cause(request, decision);
    let status = child(&mut object, "status");
    let phase = if place.is_some() { GRANTED } else { PENDING };
    status.insert("phase".to_owned(), phase.into());
    status.insert("observedGeneration".to_owned(), request.wants.generation.into());
    if let Some(place) = place {
        let cluster = json!({"name": &*place.name, "namespace": &*place.namespace});
        status.insert("cluster".to_owned(), cluster);
    }
    if let Some(cause) = cause {
        let slot = status.entry("conditions").or_insert_with(|| json!([]));
        let mut conditions = slot.as_array().cloned().unwrap_or_default();
        match conditions.iter_mut().find(|known| known["type"] == SCHEDULED) {
            Some(known) => *known = cause,
            None => conditions.push(cause),
        }
        *slot = conditions.into();
    }
    Write {
        subresource: "status",
        ..update(&request.object, decision.demand.clone(), object)
    }
}

/// Adds all writes that release the Clusters of a deleted request.
fn release(fleet: &Fleet, request: &Record, decision: &Decision, release: &Release, list: &mut Vec<Write>) {
    let finalizer = format!("{USE_FINALIZER}{}", request.wants.holder);
    for (place, deleted) in &release.leaves {
        let Some(object) = fleet.cluster(place) else {
            continue;
        };
        let mut value = stored(object);
        if *deleted {
            list.push(Write {
                verb: Verb::Delete,
                ..update(object, place.key(), value.clone())
            });
            let since = time::rfc3339(decision.now);
            child(&mut value, "metadata").insert("deletionTimestamp".to_owned(), since.into());
        }
        finalizers(&mut value).retain(|known| *known != *finalizer);
        let mut write = update(object, place.key(), value);
        if *deleted {
            // The deletion has changed the revision.
            write.base = None;
        }
        list.push(write);
    }
    if request.finalized && release.awaited.is_none() {
        let mut value = stored(&request.object);
        finalizers(&mut value).retain(|known| known != REQUEST_FINALIZER);
        list.push(update(&request.object, decision.demand.clone(), value));
    }
}
