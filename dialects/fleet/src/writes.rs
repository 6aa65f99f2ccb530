//! The writes of a decision, in order: after each of them, the objects are in a valid state
//! (docs/concepts.md, "Where objects are").
//!
//! Snapshots are written first: the old snapshot loses the label of the latest snapshot before the new
//! snapshot is created. Then bindings are written, new and restored bindings before released bindings. The
//! result is last: the status of the snapshot, then the condition of the placement. Edits start from the
//! stored objects, so that unknown fields are kept.

pub(crate) mod edit;

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::types::{Condition, Time, condition};
use berth_apimachinery::{GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord};
use crate::form::Form;
use crate::fulfilment::PolicyFulfilment;
use crate::hash;
use crate::kind::{ClusterDecision, State};
use crate::names::{
    BINDING_FINALIZER, INDEX_LABEL, LATEST_LABEL, PARENT_LABEL, PLACEMENT_API_VERSION, PLACEMENT_FINALIZER,
    PREVIOUS_STATE_ANNOTATION, SCHEDULED,
};
use crate::plan::{BindingStep, CurrentSnapshot, Plan, SnapshotPlan};
use edit::{child, remove_finalizer, set, without_revision};

/// The condition about the result of scheduling, as the status of the snapshot will have it.
pub(crate) fn conditions(decision: &Decision) -> Vec<Value> {
    let detail = decision.detail::<Detail>();
    let parts = detail.and_then(|detail| Some((detail.fulfilment.as_ref()?, detail.plan.as_ref()?)));
    let Some((fulfilment, plan)) = parts else {
        return Vec::new();
    };
    let (known, generation) = conditions_and_generation(&plan.snapshot);
    let content = ConditionContent::of(SCHEDULED, fulfilment);
    vec![Value::Object(content.fields(known, generation, decision.now))]
}

/// The stored conditions and the generation of the current snapshot.
fn conditions_and_generation(plan: &SnapshotPlan) -> (&[Condition], i64) {
    match &plan.current {
        CurrentSnapshot::Known(snapshot, _) => {
            (&snapshot.status.conditions, snapshot.object.meta().generation())
        }
        CurrentSnapshot::New(..) => (&[], 1),
    }
}

/// The content of a condition, without time and generation.
pub(crate) struct ConditionContent<'a> {
    /// The type of the condition.
    pub(crate) r#type: &'static str,
    /// The status of the condition: True or False.
    pub(crate) status: &'static str,
    /// The reason of the condition.
    pub(crate) reason: &'static str,
    /// The message of the condition.
    pub(crate) message: &'a str,
}

impl<'a> ConditionContent<'a> {
    /// The content of the condition of this type about the fulfilment of a policy.
    fn of(r#type: &'static str, fulfilment: &'a PolicyFulfilment) -> Self {
        Self {
            r#type,
            status: fulfilment.status(),
            reason: fulfilment.reason(),
            message: &fulfilment.message,
        }
    }

    /// The fields of the condition that replaces the condition of its type among `known`. The transition time
    /// changes only with the status.
    pub(crate) fn fields(&self, known: &[Condition], generation: i64, now: Timestamp) -> Map<String, Value> {
        let unchanged = condition(known, self.r#type).filter(|known| known.status == self.status);
        let time = unchanged
            .and_then(|known| known.last_transition_time)
            .unwrap_or(Time(now));
        let mut fields = Map::new();
        let texts = [
            ("type", self.r#type),
            ("status", self.status),
            ("reason", self.reason),
            ("message", self.message),
        ];
        for (name, text) in texts {
            fields.insert(name.to_owned(), text.into());
        }
        fields.insert(
            "lastTransitionTime".to_owned(),
            berth_apimachinery::time::rfc3339(time.0).into(),
        );
        fields.insert("observedGeneration".to_owned(), generation.into());
        fields
    }
}

/// Sets the condition with `fields` in `status.conditions`. An existing condition of the type keeps unknown
/// fields.
pub(crate) fn put_condition(object: &mut Value, fields: Map<String, Value>) {
    let slot = child(object, "status")
        .entry("conditions")
        .or_insert_with(|| json!([]));
    let mut list = slot.as_array().cloned().unwrap_or_default();
    match list
        .iter_mut()
        .find(|entry| entry["type"] == fields["type"])
        .and_then(Value::as_object_mut)
    {
        Some(entry) => entry.extend(fields),
        None => list.push(Value::Object(fields)),
    }
    *slot = Value::Array(list);
}

/// All writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let parts = decision
        .detail::<Detail>()
        .zip(fleet.placements.get(&decision.demand));
    let Some((detail, record)) = parts else {
        return Vec::new();
    };
    let mut writer = Writer {
        fleet,
        record,
        placement: &decision.demand,
        now: decision.now,
        names: BTreeSet::new(),
        list: Vec::new(),
    };
    if let Some(bindings) = &detail.released {
        writer.add_release(bindings);
    } else if let (Some(plan), Some(fulfilment)) = (&detail.plan, &detail.fulfilment) {
        writer.add_plan(plan, fulfilment);
    }
    writer.list
}

/// The list of the writes of a decision on `placement`, to which each step adds.
struct Writer<'a> {
    fleet: &'a Fleet,
    record: &'a PlacementRecord,
    placement: &'a Key,
    now: Timestamp,
    /// The names of the bindings that the list creates.
    names: BTreeSet<String>,
    list: Vec<Write>,
}

impl Writer<'_> {
    fn form(&self) -> &'static Form {
        self.record.form
    }

    fn push(
        &mut self,
        verb: Verb,
        resource: GroupResource,
        subresource: &'static str,
        object: Value,
        stored: Option<&Arc<Object>>,
    ) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        self.list.push(Write {
            verb,
            key: Key::new(resource, &self.placement.namespace, name),
            subresource,
            object,
            base: stored.map(|stored| stored.revision()),
        });
    }

    fn update(&mut self, resource: GroupResource, object: Value, stored: &Arc<Object>) {
        self.push(Verb::Update, resource, "", object, Some(stored));
    }

    /// Adds the release of a placement that is being deleted: first of its bindings, then of the placement
    /// itself, by removing the scheduler's finalizer.
    fn add_release(&mut self, bindings: &[Arc<BindingRecord>]) {
        for binding in bindings {
            let mut object = without_revision(&binding.object);
            let had_finalizer = remove_finalizer(&mut object, BINDING_FINALIZER);
            if had_finalizer {
                self.update(self.form().bindings, object.clone(), &binding.object);
            }
            if !binding.deleting() {
                let base = (!had_finalizer).then_some(&binding.object);
                self.push(Verb::Delete, self.form().bindings, "", object, base);
            }
        }
        let mut object = without_revision(&self.record.object);
        if remove_finalizer(&mut object, PLACEMENT_FINALIZER) {
            self.update(self.placement.resource, object, &self.record.object);
        }
    }

    /// Adds the writes of `plan`.
    fn add_plan(&mut self, plan: &Plan, fulfilment: &PolicyFulfilment) {
        let mut snapshot = self.add_snapshots(&plan.snapshot);
        let name = snapshot.object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        for step in &plan.steps {
            self.add_step(step, &name);
        }
        if let Some(listed) = &plan.status {
            let (known, generation) = conditions_and_generation(&plan.snapshot);
            let fields = ConditionContent::of(SCHEDULED, fulfilment).fields(known, generation, self.now);
            put_condition(&mut snapshot.object, fields);
            let status = child(&mut snapshot.object, "status");
            status.insert(
                "observedCRPGeneration".to_owned(),
                self.record.object.meta().generation().into(),
            );
            status.insert("targetClusters".to_owned(), listed.iter().map(decision).collect());
            self.push(
                Verb::Update,
                self.form().snapshots,
                "status",
                snapshot.object,
                snapshot.stored.as_ref(),
            );
        }
        if plan.condition_changes {
            let mut object = without_revision(&self.record.object);
            let generation = self.record.object.meta().generation();
            let known = &self.record.conditions;
            let content = ConditionContent::of(self.form().scheduled_condition, fulfilment);
            put_condition(&mut object, content.fields(known, generation, self.now));
            let stored = Some(&self.record.object);
            self.push(Verb::Update, self.placement.resource, "status", object, stored);
        }
    }

    /// Adds the writes of the policy snapshots. Returns the current snapshot.
    fn add_snapshots(&mut self, plan: &SnapshotPlan) -> CurrentObject {
        for old in &plan.demote {
            self.update(self.form().snapshots, demoted(old), &old.object);
        }
        for old in &plan.delete {
            let demoted_before = plan.demote.iter().any(|other| other.name == old.name);
            let object = if demoted_before {
                demoted(old)
            } else {
                without_revision(&old.object)
            };
            let base = (!demoted_before).then_some(&old.object);
            self.push(Verb::Delete, self.form().snapshots, "", object, base);
        }
        match &plan.current {
            CurrentSnapshot::Known(record, is_outdated) => {
                let mut object = without_revision(&record.object);
                if !is_outdated {
                    return CurrentObject {
                        object,
                        stored: Some(Arc::clone(&record.object)),
                    };
                }
                set(&mut object, "labels", LATEST_LABEL, Some("true"));
                self.annotate(&mut object);
                self.update(self.form().snapshots, object.clone(), &record.object);
                CurrentObject { object, stored: None }
            }
            CurrentSnapshot::New(name, index) => {
                let object = self.new_snapshot(name, *index);
                self.push(Verb::Create, self.form().snapshots, "", object.clone(), None);
                CurrentObject { object, stored: None }
            }
        }
    }

    fn annotate(&self, object: &mut Value) {
        for (name, value) in self.record.snapshot_annotations() {
            set(object, "annotations", name, value.as_deref());
        }
    }

    fn new_snapshot(&self, name: &str, index: u64) -> Value {
        let mut spec = json!({"policyHash": hash::policy(self.record.raw.as_ref())});
        let stored = self.record.object.value();
        if let Some(policy) = stored.pointer("/spec/policy").filter(|policy| !policy.is_null()) {
            spec["policy"] = policy.clone();
        }
        let mut object = json!({
            "apiVersion": PLACEMENT_API_VERSION,
            "kind": self.form().snapshot_kind,
            // A server also starts with generation 1; the status is written with this generation.
            "metadata": {"name": name, "generation": 1, "labels": {
                PARENT_LABEL: &*self.placement.name, LATEST_LABEL: "true", INDEX_LABEL: index.to_string(),
            }},
            "spec": spec,
        });
        self.annotate(&mut object);
        self.set_owner(&mut object, true);
        object
    }

    /// Sets the placement's namespace on a new object and makes the placement its owner, so that the object
    /// is deleted with the placement.
    fn set_owner(&self, object: &mut Value, controller: bool) {
        if !self.placement.namespace.is_empty() {
            object["metadata"]["namespace"] = (&*self.placement.namespace).into();
        }
        let uid = self.record.object.meta().uid();
        // An owner reference requires a uid, which a placement in a file for `berth simulate` may not have.
        if !uid.is_empty() {
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": PLACEMENT_API_VERSION, "kind": self.form().placement_kind,
                "name": &*self.placement.name, "uid": uid, "controller": controller, "blockOwnerDeletion": controller,
            }]);
        }
    }

    /// Adds the write of a step for a binding; `snapshot` is the name of the current policy snapshot.
    fn add_step(&mut self, step: &BindingStep, snapshot: &str) {
        match step {
            BindingStep::Release(binding) => {
                let mut object = without_revision(&binding.object);
                remove_finalizer(&mut object, BINDING_FINALIZER);
                self.update(self.form().bindings, object, &binding.object);
            }
            BindingStep::Create(cluster, cluster_decision) => {
                let object = self.new_binding(cluster, cluster_decision, snapshot);
                self.push(Verb::Create, self.form().bindings, "", object, None);
            }
            BindingStep::Repoint(binding, cluster_decision) => {
                let mut object = without_revision(&binding.object);
                record_decision(&mut object, cluster_decision, snapshot);
                self.update(self.form().bindings, object, &binding.object);
            }
            BindingStep::Restore(binding, state, cluster_decision) => {
                let mut object = without_revision(&binding.object);
                record_decision(&mut object, cluster_decision, snapshot);
                child(&mut object, "spec").insert("state".to_owned(), state.as_str().into());
                set(&mut object, "annotations", PREVIOUS_STATE_ANNOTATION, None);
                self.update(self.form().bindings, object, &binding.object);
            }
            BindingStep::Unschedule(binding) => {
                let mut object = without_revision(&binding.object);
                child(&mut object, "spec").insert("state".to_owned(), State::Unscheduled.as_str().into());
                let previous = Some(binding.state.as_str());
                set(&mut object, "annotations", PREVIOUS_STATE_ANNOTATION, previous);
                self.update(self.form().bindings, object, &binding.object);
            }
        }
    }

    fn new_binding(&mut self, cluster: &str, cluster_decision: &ClusterDecision, snapshot: &str) -> Value {
        let placement = &*self.placement.name;
        let name = hash::binding_name(placement, self.record.object.meta().uid(), cluster, |name| {
            self.names.contains(name) || self.fleet.has_object(&Form::binding_of(self.placement, name))
        });
        self.names.insert(name.clone());
        let mut object = json!({
            "apiVersion": PLACEMENT_API_VERSION,
            "kind": self.form().binding_kind,
            "metadata": {"name": name, "labels": {PARENT_LABEL: placement}},
            "spec": {
                "clusterDecision": decision(cluster_decision),
                "resourceSnapshotName": "",
                "schedulingPolicySnapshotName": snapshot,
                "state": State::Scheduled.as_str(),
                "targetCluster": cluster,
            },
        });
        self.set_owner(&mut object, false);
        object
    }
}

/// The current policy snapshot during the writes of a decision.
struct CurrentObject {
    /// The snapshot after the writes so far.
    object: Value,
    /// The stored snapshot, whose revision the next write requires; `None` if an earlier write of the list
    /// creates or updates the snapshot.
    stored: Option<Arc<Object>>,
}

/// The snapshot in `record` without the label of the latest snapshot.
fn demoted(record: &SnapshotRecord) -> Value {
    let mut object = without_revision(&record.object);
    set(&mut object, "labels", LATEST_LABEL, Some("false"));
    object
}

/// A decision on one cluster as JSON.
fn decision(cluster_decision: &ClusterDecision) -> Value {
    serde_json::to_value(cluster_decision).unwrap_or_default()
}

/// Records in a binding the decision on its cluster, and the current policy snapshot by its name `snapshot`.
fn record_decision(object: &mut Value, cluster_decision: &ClusterDecision, snapshot: &str) {
    let spec = child(object, "spec");
    spec.insert("schedulingPolicySnapshotName".to_owned(), snapshot.into());
    spec.insert("clusterDecision".to_owned(), decision(cluster_decision));
}
