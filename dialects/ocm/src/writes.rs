//! The writes of a decision, in order: every prefix of them leaves a valid state (docs/concepts.md, "Where
//! objects are").
//!
//! New PlacementDecisions are created empty. Then the lists of clusters change, in such an order that a
//! cluster that stays selected is always in one of the lists, as far as the limit of their length allows.
//! Then the labels and the Placement's status are written. Unneeded objects are deleted last. Edits start
//! from the stored objects, so that unknown fields survive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{Decision, Verb, Write};
use serde_json::{Map, Value, json};

use crate::decide::status::Aspect;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::kind::{Condition, DecisionGroupStatus};
use crate::names::{DECISIONS, DECISIONS_PER_OBJECT, PLACEMENT_API_VERSION};
use crate::plan::{Plan, PlannedDecision};
use crate::record::PlacementRecord;

/// The status field with the number of selected clusters.
const SELECTED: &str = "numberOfSelectedClusters";

/// The conditions of a decision as the Placement's status will list them.
pub(crate) fn conditions(fleet: &Fleet, decision: &Decision) -> Vec<Value> {
    let stored = fleet.placements.get(&decision.demand);
    let known = stored
        .map(|record| record.status.conditions.as_slice())
        .unwrap_or_default();
    let aspects = decision
        .detail::<Detail>()
        .map(Detail::aspects)
        .unwrap_or_default();
    aspects
        .iter()
        .map(|aspect| Value::Object(condition(aspect, known, decision.now)))
        .collect()
}

/// The fields of a condition. The transition time changes only if the status differs from the stored one in
/// `known`.
fn condition(aspect: &Aspect<'_>, known: &[Condition], now: Timestamp) -> Map<String, Value> {
    let same = Condition::find(known, aspect.r#type).filter(|known| *known.status == *aspect.status);
    let time = same.and_then(|known| known.last_transition_time).unwrap_or(now);
    let fields = [
        ("type", aspect.r#type.to_owned()),
        ("status", aspect.status.to_owned()),
        ("reason", aspect.reason.to_owned()),
        ("message", aspect.message.to_string()),
        ("lastTransitionTime", berth_apimachinery::time::rfc3339(time)),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect()
}

/// All writes of `decision`, in order.
pub(crate) fn writes(fleet: &Fleet, decision: &Decision) -> Vec<Write> {
    let (Some(detail), Some(record)) = (
        decision.detail::<Detail>(),
        fleet.placements.get(&decision.demand),
    ) else {
        return Vec::new();
    };
    let mut list = Vec::new();
    if let Some(plan) = &detail.plan {
        let mut writer = DecisionWriter {
            record,
            placement: &decision.demand,
            plan,
            written: BTreeSet::new(),
            list: &mut list,
        };
        writer.create_missing();
        writer.write_lists();
        writer.write_metadata();
    }
    if detail.status_changes {
        list.push(placement_status(record, decision, detail));
    }
    for surplus in detail.plan.iter().flat_map(|plan| &plan.surplus) {
        let meta = surplus.object.meta();
        list.push(Write {
            verb: Verb::Delete,
            key: Key::new(DECISIONS, meta.namespace(), meta.name()),
            subresource: "",
            object: without_revision(surplus.object.parse()),
            base: Some(surplus.object.revision()),
        });
    }
    list
}

/// Removes the resourceVersion from `object`, as in a planned [`Write`].
fn without_revision(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    object
}

/// The JSON object at `name` below `parent`. It is created if it is missing or of another type.
fn child<'a>(parent: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !parent.is_object() {
        *parent = json!({});
    }
    let slot = &mut parent[name];
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("it was just made an object")
}

/// Collects the writes of the PlacementDecisions of one plan.
struct DecisionWriter<'a> {
    record: &'a PlacementRecord,
    placement: &'a Key,
    plan: &'a Plan,
    /// Indices of the planned PlacementDecisions that an earlier write in `list` creates or changes.
    written: BTreeSet<usize>,
    list: &'a mut Vec<Write>,
}

impl DecisionWriter<'_> {
    /// Creates the missing objects without a list: a creation does not write the status.
    fn create_missing(&mut self) {
        for (index, planned) in self
            .plan
            .decisions
            .iter()
            .enumerate()
            .filter(|(_, planned)| planned.stored.is_none())
        {
            let object = self.new_object(planned);
            self.push(index, Verb::Create, "", object);
        }
    }

    /// Writes the lists. If a cluster moves from one list to another, the new list of the cluster is written
    /// first. If lists wait for each other in a cycle, one of the lists is first written with the new
    /// clusters and with the old clusters that stay selected, unless they are too many for one object.
    fn write_lists(&mut self) {
        let plan = self.plan;
        let future = future_places(&plan.decisions);
        let mut pending: BTreeSet<usize> = (0..plan.decisions.len())
            .filter(|&index| plan.decisions[index].list_changes)
            .collect();
        let mut order = ListOrder::new(&plan.decisions, &future, &pending);
        // The pending lists that no write has changed yet.
        let mut untouched = pending.clone();
        loop {
            let ready = order.ready.pop_first();
            let Some(index) = ready.or_else(|| untouched.first().copied()) else {
                break;
            };
            let planned = &plan.decisions[index];
            let merged = ready
                .is_none()
                .then(|| old_and_new(planned, &future))
                .filter(|merged| merged.len() <= DECISIONS_PER_OBJECT);
            if let Some(merged) = merged {
                self.push_list(index, &merged);
            } else {
                self.push_list(index, &planned.clusters);
                pending.remove(&index);
            }
            if untouched.remove(&index) {
                order.release(index, &pending);
            }
        }
    }

    /// Corrects labels and owners of existing objects.
    fn write_metadata(&mut self) {
        for (index, planned) in self
            .plan
            .decisions
            .iter()
            .enumerate()
            .filter(|(_, planned)| planned.metadata_changes)
        {
            let mut object = self.current(planned);
            if planned.list_changes {
                put_list(&mut object, &planned.clusters);
            }
            self.set_labels_and_owner(planned, &mut object);
            self.push(index, Verb::Update, "", object);
        }
    }

    /// Adds the write of the list of the PlacementDecision at `index`.
    fn push_list(&mut self, index: usize, clusters: &[Arc<str>]) {
        let mut object = self.current(&self.plan.decisions[index]);
        put_list(&mut object, clusters);
        self.push(index, Verb::Update, "status", object);
    }

    /// Adds a write of the PlacementDecision at `index`.
    fn push(&mut self, index: usize, verb: Verb, subresource: &'static str, object: Value) {
        let planned = &self.plan.decisions[index];
        let first = self.written.insert(index);
        let base = planned
            .stored
            .as_ref()
            .filter(|_| first)
            .map(|stored| stored.object.revision());
        self.list.push(Write {
            verb,
            key: planned.key.clone(),
            subresource,
            object,
            base,
        });
    }

    /// The stored object, or the object that an earlier write in `list` creates.
    fn current(&self, planned: &PlannedDecision) -> Value {
        match &planned.stored {
            Some(stored) => without_revision(stored.object.parse()),
            None => self.new_object(planned),
        }
    }

    /// The PlacementDecision to create, without a list.
    fn new_object(&self, planned: &PlannedDecision) -> Value {
        let mut object = json!({
            "apiVersion": PLACEMENT_API_VERSION,
            "kind": "PlacementDecision",
            "metadata": {"name": &*planned.key.name, "namespace": &*planned.key.namespace},
        });
        self.set_labels_and_owner(planned, &mut object);
        object
    }

    /// Sets the labels and the owner of a PlacementDecision.
    fn set_labels_and_owner(&self, planned: &PlannedDecision, object: &mut Value) {
        let metadata = child(object, "metadata");
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if !labels.is_object() {
            *labels = json!({});
        }
        for (key, value) in planned.labels(&self.placement.name) {
            labels[key] = value.into();
        }
        let uid = self.record.object.meta().uid();
        // A Placement without a uid, from a file that `simulate` reads, cannot have an owner reference.
        if uid.is_empty() {
            return;
        }
        let owner = json!({
            "apiVersion": PLACEMENT_API_VERSION, "kind": "Placement", "name": &*self.placement.name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        });
        let owners = metadata.entry("ownerReferences").or_insert_with(|| json!([]));
        let mut list = owners.as_array().cloned().unwrap_or_default();
        // An object has one controller: this placement, not an earlier one with the same name.
        list.retain(|known| known["uid"] != *uid && known["controller"] != true);
        list.push(owner);
        *owners = Value::Array(list);
    }
}

/// For every cluster that will be listed, the index of the PlacementDecision that will list it.
fn future_places(decisions: &[PlannedDecision]) -> BTreeMap<&str, usize> {
    decisions
        .iter()
        .enumerate()
        .flat_map(|(index, planned)| planned.clusters.iter().map(move |name| (&**name, index)))
        .collect()
}

/// The clusters that `planned` lists now.
fn listed(planned: &PlannedDecision) -> impl Iterator<Item = &Arc<str>> {
    let stored = planned.stored.iter().flat_map(|stored| &stored.clusters);
    stored.map(|cluster| &cluster.name)
}

/// The clusters that `planned` will list, and the clusters that it lists now and that stay selected.
fn old_and_new(planned: &PlannedDecision, future: &BTreeMap<&str, usize>) -> Vec<Arc<str>> {
    let mut names: BTreeSet<Arc<str>> = planned.clusters.iter().cloned().collect();
    names.extend(
        listed(planned)
            .filter(|name| future.contains_key(&***name))
            .cloned(),
    );
    names.into_iter().collect()
}

/// The order in which lists are written: a list waits for all other lists that get clusters from it.
struct ListOrder {
    /// The pending lists that wait for no other.
    ready: BTreeSet<usize>,
    /// For every list, the pending lists that wait for it.
    waiting: Vec<Vec<usize>>,
    /// For every list, the number of lists for which it waits.
    counts: Vec<usize>,
}

impl ListOrder {
    fn new(decisions: &[PlannedDecision], future: &BTreeMap<&str, usize>, pending: &BTreeSet<usize>) -> Self {
        let mut order = Self {
            ready: BTreeSet::new(),
            waiting: vec![Vec::new(); decisions.len()],
            counts: vec![0; decisions.len()],
        };
        for &index in pending {
            let moved = listed(&decisions[index]).filter_map(|name| future.get(&**name).copied());
            let others: BTreeSet<usize> = moved
                .filter(|other| *other != index && pending.contains(other))
                .collect();
            if others.is_empty() {
                order.ready.insert(index);
            }
            order.counts[index] = others.len();
            for other in others {
                order.waiting[other].push(index);
            }
        }
        order
    }

    /// Marks the list at `index` as written. The `pending` lists that waited only for it are ready.
    fn release(&mut self, index: usize, pending: &BTreeSet<usize>) {
        for &waiting in &self.waiting[index] {
            self.counts[waiting] -= 1;
            if self.counts[waiting] == 0 && pending.contains(&waiting) {
                self.ready.insert(waiting);
            }
        }
    }
}

/// Sets `status.decisions`. Entries of clusters that stay are not changed.
fn put_list(object: &mut Value, clusters: &[Arc<str>]) {
    let status = child(object, "status");
    let known: BTreeMap<String, Value> = status
        .get("decisions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((entry.get("clusterName")?.as_str()?.to_owned(), entry.clone())))
        .collect();
    let entry = |name: &Arc<str>| {
        known
            .get(&**name)
            .cloned()
            .unwrap_or_else(|| json!({"clusterName": &**name, "reason": ""}))
    };
    status.insert("decisions".to_owned(), clusters.iter().map(entry).collect());
}

/// The write of the Placement's status.
fn placement_status(record: &PlacementRecord, decision: &Decision, detail: &Detail) -> Write {
    let mut object = without_revision(record.object.parse());
    let status = child(&mut object, "status");
    if let Some(plan) = &detail.plan {
        // A missing count is not set to 0: other writers omit a count of 0, and would remove it again.
        if plan.selected > 0 || status.contains_key(SELECTED) {
            status.insert(SELECTED.to_owned(), plan.selected.into());
        }
        put_groups(status, &plan.groups);
    }
    let known = &record.status.conditions;
    let slot = status.entry("conditions").or_insert_with(|| json!([]));
    let mut list = slot.as_array().cloned().unwrap_or_default();
    for aspect in detail.aspects() {
        let fields = condition(&aspect, known, decision.now);
        match list
            .iter_mut()
            .find(|entry| entry["type"] == aspect.r#type)
            .and_then(Value::as_object_mut)
        {
            Some(entry) => entry.extend(fields),
            None => list.push(Value::Object(fields)),
        }
    }
    *slot = Value::Array(list);
    Write {
        verb: Verb::Update,
        key: decision.demand.clone(),
        subresource: "status",
        object,
        base: Some(record.object.revision()),
    }
}

/// Sets `status.decisionGroups`. Unknown fields of an entry with the same index are kept.
fn put_groups(status: &mut Map<String, Value>, groups: &[DecisionGroupStatus]) {
    let known = status
        .get("decisionGroups")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let entry = |(index, group): (usize, &DecisionGroupStatus)| {
        let mut fields = known
            .get(index)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        fields.insert("decisionGroupIndex".to_owned(), group.decision_group_index.into());
        fields.insert(
            "decisionGroupName".to_owned(),
            group.decision_group_name.as_str().into(),
        );
        fields.insert("decisions".to_owned(), group.decisions.as_slice().into());
        fields.insert("clusterCount".to_owned(), group.cluster_count.into());
        Value::Object(fields)
    };
    status.insert(
        "decisionGroups".to_owned(),
        groups.iter().enumerate().map(entry).collect(),
    );
}
