//! A dialect with faults: each property of [`Property`] has one fault here that breaks it, which shows that
//! the suite finds it. Parcels request places in crates of their colour, one Slot object per place.
//!
//! The template (`dialects/toy`) does not suffice for that. Its toys request one box, and write only
//! themselves, so that half of the properties cannot be broken; and a template for copies must not have
//! faults.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use berth_apimachinery::{Change, GroupResource, Key, Kind, KindInfo, Labels, Object, Scope, Timestamp};
use berth_dialect_contract::{
    Action, Advisor, AffectedDemands, Ask, BindingChange, ChangeOwner, ChoiceRefusal, Consequences,
    CurrentPlace, Decision, DemandKind, DemandView, Dialect, Edit, Inventory, Outcome, Phase, PlacedCluster,
    Quantities, Remedy, TargetView, Targets, UnusableObject, Verb, Words, Write,
};
use berth_scheduling::{Ix, PipelineOutcome, Reason, Rejection};
use serde_json::{Value, json};

use super::Property;
use crate::foreign::Plain;

const PARCELS: GroupResource = GroupResource::new("parcels.example", "parcels");
const CRATES: GroupResource = GroupResource::new("parcels.example", "crates");
const SLOTS: GroupResource = GroupResource::new("parcels.example", "slots");

/// The broken property; `None` for a correct dialect.
pub(crate) struct Faulty(pub(crate) Option<Property>);

impl Dialect for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
    fn kinds(&self) -> Vec<Arc<dyn Kind>> {
        let info = |kind, plural| KindInfo::new("parcels.example", &["v1"], kind, plural);
        let crates = KindInfo {
            scope: Scope::Cluster,
            ..info("Crate", "crates")
        };
        let all = [info("Parcel", "parcels"), crates, info("Slot", "slots")];
        all.into_iter()
            .map(|info| Arc::new(Plain(info)) as Arc<_>)
            .collect()
    }
    fn reads(&self) -> Vec<GroupResource> {
        vec![PARCELS, CRATES, SLOTS]
    }
    fn demands(&self) -> &'static [DemandKind] {
        &[DemandKind {
            resource: PARCELS,
            kind: "Parcel",
            version: "v1",
            namespaced: true,
            own_place: None,
        }]
    }
    fn target(&self) -> GroupResource {
        CRATES
    }
    fn inventory(&self) -> Arc<dyn Inventory> {
        Arc::new(Shelf {
            fault: self.0,
            ..Shelf::default()
        })
    }
}

#[derive(Clone)]
struct Slot {
    object: Arc<Object>,
    parcel: Arc<str>,
    holder: Arc<str>,
}

#[derive(Clone, Default)]
struct Shelf {
    fault: Option<Property>,
    parcels: BTreeMap<Key, Arc<Object>>,
    crates: BTreeMap<Arc<str>, (Arc<Object>, i64)>,
    slots: BTreeMap<Key, Slot>,
    /// Crates in the order of their arrival.
    arrivals: Vec<Arc<str>>,
    /// Counts all decisions of all forks.
    whims: Arc<AtomicU64>,
    /// Number of changes that were folded into this inventory.
    folds: usize,
    /// Number of changes of crates, in all forks.
    leak: Arc<Mutex<u64>>,
}

impl Shelf {
    fn is(&self, fault: Property) -> bool {
        self.fault == Some(fault)
    }

    fn used(&self, name: &str, other_than: &str) -> i64 {
        let slots = self.slots.values();
        slots
            .filter(|slot| *slot.holder == *name && *slot.parcel != *other_than)
            .count() as i64
    }

    fn slots_of<'a>(&'a self, parcel: &'a str) -> impl Iterator<Item = (&'a Key, &'a Slot)> {
        self.slots.iter().filter(move |(_, slot)| *slot.parcel == *parcel)
    }

    fn judge(&self, parcel: &Object) -> PipelineOutcome {
        let (mut solved, mut rejections) = (PipelineOutcome::default(), Vec::new());
        let value = parcel.value();
        for (candidate, (name, (object, capacity))) in (0..).zip(&self.crates) {
            let colours = object.value()["spec"]["colour"] == value["spec"]["colour"];
            // The judgement depends on the history of the world, which advice does not know.
            let moody = self.is(Property::AdviceHolds) && self.folds.is_multiple_of(2);
            let room = self.used(name, parcel.meta().name()) < *capacity && !moody;
            let reject = |plugin| Rejection {
                candidate,
                plugin,
                reason: Reason { code: 0, detail: 0 },
            };
            if colours && room {
                solved.feasible.push(candidate);
            }
            if !colours {
                rejections.push(reject(0));
            }
            if !room && !self.is(Property::EveryTargetIsExplained) {
                rejections.push(reject(1));
            }
        }
        solved.rejections = rejections.into();
        solved.ranked = solved.feasible.clone();
        let names: Vec<Arc<str>> = self.crates.keys().cloned().collect();
        let arrival = |name: &Arc<str>| self.arrivals.iter().position(|other| other == name);
        solved.ranked.sort_by_key(|&candidate| {
            let name = &names[candidate as usize];
            let tie = self.is(Property::InputOrderDoesNotMatter).then(|| arrival(name));
            (self.used(name, parcel.meta().name()), tie, candidate)
        });
        let whim = self.is(Property::SameSeedSameAnswer)
            && self.whims.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let crowd = self.is(Property::InfeasibleTargetChangesNoPick) && self.crates.len().is_multiple_of(2);
        if whim || crowd {
            solved.ranked.reverse();
        }
        solved
    }

    fn change(&self, action: Action, name: &Arc<str>) -> BindingChange {
        BindingChange {
            action,
            cluster_name: Arc::clone(name),
            from: "",
            to: "",
            amount_from: None,
            amount_to: None,
        }
    }

    /// Picks kept crates, then new ones as long as there are any; returns the change of each.
    fn pick(&self, parcel: &Object, solved: &mut PipelineOutcome) -> Vec<BindingChange> {
        let name = parcel.meta().name();
        let wanted = parcel.value()["spec"]["wanted"].as_u64().unwrap_or(1) as usize;
        let held: Vec<&Slot> = self.slots_of(name).map(|(_, slot)| slot).collect();
        let mut changes = Vec::new();
        for slot in &held {
            match self
                .candidate(&slot.holder)
                .filter(|_| solved.picked.len() < wanted)
            {
                Some(candidate) => {
                    solved.picked.push(candidate);
                    changes.push(self.change(Action::Keep, &slot.holder));
                }
                None => changes.push(self.change(Action::Unbind, &slot.holder)),
            }
        }
        let lost = changes.iter().any(|change| change.action == Action::Unbind);
        let blind = self.is(Property::NewlyBoundIsFeasible) || (lost && self.is(Property::LawsHoldAllAlong));
        let order: Vec<Ix> = if blind {
            (0..self.count()).collect()
        } else {
            solved.ranked.clone()
        };
        let done = !parcel.value()["status"].is_null() && self.is(Property::AnyPrefixIsFinished);
        for candidate in order {
            if solved.picked.len() < wanted && !solved.picked.contains(&candidate) && !done {
                solved.picked.push(candidate);
                changes.push(self.change(Action::Bind, &self.cluster_name(candidate)));
            }
        }
        changes
    }
}

impl Inventory for Shelf {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }
    fn fold(&mut self, change: &Change) -> Consequences {
        self.folds += 1;
        let name = Arc::clone(&change.key.name);
        let mut due = Consequences {
            decide: AffectedDemands::All,
            demands: AffectedDemands::None,
            targets: Some(vec![Arc::clone(&name)]),
        };
        match (change.key.resource, &change.new) {
            (PARCELS, new) => {
                let spec = |parcel: &Arc<Object>| parcel.value()["spec"].clone();
                let same = new.as_ref().map(spec) == change.old.as_ref().map(spec);
                match new {
                    Some(parcel) => self.parcels.insert(change.key.clone(), Arc::clone(parcel)),
                    None => self.parcels.remove(&change.key),
                };
                due.demands = AffectedDemands::Some(vec![change.key.clone()]);
                due.decide = if same {
                    AffectedDemands::None
                } else {
                    due.demands.clone()
                };
                due.targets = Some(Vec::new());
            }
            (CRATES, Some(object)) => {
                *self.leak.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                let capacity = object.value()["spec"]["capacity"].as_i64().unwrap_or(0);
                let stale = self.is(Property::FoldingIsIncremental);
                let known = self
                    .crates
                    .get(&name)
                    .filter(|_| stale)
                    .map(|(_, capacity)| *capacity);
                if !self.arrivals.contains(&name) {
                    self.arrivals.push(Arc::clone(&name));
                }
                self.crates
                    .insert(name, (Arc::clone(object), known.unwrap_or(capacity)));
            }
            (CRATES, None) => {
                self.crates.remove(&name);
                self.arrivals.retain(|other| *other != name);
            }
            (_, new) => {
                let read = |object: &Arc<Object>| {
                    let text =
                        |field: &str| object.value()["spec"][field].as_str().unwrap_or_default().into();
                    Slot {
                        object: Arc::clone(object),
                        parcel: text("parcel"),
                        holder: text("crate"),
                    }
                };
                let slot = new.as_ref().or(change.old.as_ref()).map(read);
                let parcel = slot.as_ref().map(|slot| Key::new(PARCELS, "ns", &slot.parcel));
                due.targets = Some(slot.iter().map(|slot| Arc::clone(&slot.holder)).collect());
                match new.as_ref().and(slot) {
                    Some(slot) => self.slots.insert(change.key.clone(), slot),
                    None => self.slots.remove(&change.key),
                };
                due.demands = AffectedDemands::Some(parcel.into_iter().collect());
                due.decide = AffectedDemands::None;
                if self.is(Property::OwnWritesAreNotDue) {
                    due.decide = due.demands.clone();
                }
                if self.is(Property::EveryViewThatChangesIsNamed) {
                    due.targets = Some(Vec::new());
                }
            }
        }
        due
    }
    fn unusable(&self) -> Vec<UnusableObject> {
        Vec::new()
    }
    fn demands(&self) -> Vec<Key> {
        self.parcels.keys().cloned().collect()
    }
    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.parcels.get(demand).cloned()
    }
    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        let object = self.object(demand)?;
        // The view depends on the history of the world, which a plan does not know.
        let hides = self.is(Property::PlanEqualsDoingIt) && self.folds.is_multiple_of(2);
        let placed: Vec<PlacedCluster> = self
            .slots_of(&demand.name)
            .filter(|_| !hides)
            .map(|(_, slot)| PlacedCluster {
                cluster_name: Arc::clone(&slot.holder),
                ..PlacedCluster::default()
            })
            .collect();
        Some(DemandView {
            object,
            kind: "Parcel",
            phase: if placed.is_empty() {
                Phase::Pending
            } else {
                Phase::Bound
            },
            placed,
            wanted: None,
            amount: None,
        })
    }
    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let parcel = self.object(ask.demand)?;
        let mut solved = self.judge(&parcel);
        let mut changes = self.pick(&parcel, &mut solved);
        let quiet = changes.iter().all(|change| change.action == Action::Keep);
        let outcome = match (
            solved.picked.is_empty(),
            quiet && !parcel.value()["status"].is_null(),
        ) {
            (true, _) => Outcome::Unschedulable,
            (_, true) => Outcome::Unchanged,
            _ => Outcome::Scheduled,
        };
        let current = self.slots_of(&ask.demand.name).map(|(_, slot)| CurrentPlace {
            cluster_name: Arc::clone(&slot.holder),
            state: "",
            amount: None,
        });
        let current = current.collect();
        let detail = changes.clone();
        if self.is(Property::WritesGiveExactlyTheChanges) {
            changes.retain(|change| change.action != Action::Bind);
        }
        Some(Ok(Decision {
            demand: ask.demand.clone(),
            demand_revision: parcel.revision(),
            outcome,
            reason: "Picked",
            solved,
            amounts: if self.is(Property::AmountsAddUp) {
                vec![1]
            } else {
                Vec::new()
            },
            scorers: Vec::new(),
            unknown: Vec::new(),
            current,
            changes,
            fences: Vec::new(),
            due_at: None,
            now: ask.now,
            detail: Box::new(detail),
        }))
    }
    fn writes(&self, decision: &Decision) -> Vec<Write> {
        let parcel = &self.parcels[&decision.demand];
        let name = &*decision.demand.name;
        let changes: &Vec<BindingChange> = decision.detail().expect("its own detail");
        let mut list = Vec::new();
        for change in changes {
            let key = Key::new(SLOTS, "ns", &format!("{name}-{}", change.cluster_name));
            match change.action {
                Action::Bind => list.push(Write {
                    verb: Verb::Create,
                    object: json!({
                        "apiVersion": "parcels.example/v1", "kind": "Slot",
                        "metadata": {"name": &*key.name, "namespace": "ns"},
                        "spec": {"parcel": name, "crate": &*change.cluster_name},
                    }),
                    key,
                    subresource: "",
                    base: None,
                }),
                Action::Unbind => list.push(Write {
                    verb: Verb::Delete,
                    subresource: "",
                    object: json!({"metadata": {}}),
                    base: self.slots.get(&key).map(|slot| slot.object.revision()),
                    key,
                }),
                _ => {}
            }
        }
        let mut object = parcel.parse();
        let status = json!({"placed": decision.solved.picked.len()});
        let restless = self.is(Property::DecidingTwiceChangesNothing);
        if object["status"] != status || restless {
            object["status"] = status;
            object["metadata"]
                .as_object_mut()
                .expect("metadata")
                .remove("resourceVersion");
            let status = Write {
                verb: Verb::Update,
                key: decision.demand.clone(),
                subresource: "status",
                object,
                base: Some(parcel.revision()),
            };
            // The decision is reported as complete before it is.
            let place = if self.is(Property::AnyPrefixIsFinished) {
                0
            } else {
                list.len()
            };
            list.insert(place, status);
        }
        list
    }
    fn advisor(&self) -> &dyn Advisor {
        self
    }
}

impl Targets for Shelf {
    fn count(&self) -> Ix {
        self.crates.len() as Ix
    }
    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        self.crates
            .keys()
            .nth(candidate as usize)
            .cloned()
            .expect("a known crate")
    }
    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        let place = self.crates.keys().position(|name| **name == *cluster_name);
        place.map(|place| place as Ix)
    }
    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        let name = self.cluster_name(candidate);
        let leak = *self.leak.lock().unwrap_or_else(PoisonError::into_inner);
        let leaks = self.is(Property::SnapshotsStand);
        TargetView {
            object: Arc::clone(&self.crates[&name].0),
            ready: "True",
            ready_reason: "Open",
            ready_message: String::new(),
            cordoned: false,
            taints: Vec::new(),
            capacity: vec![Quantities {
                name: "parcels",
                used: self.used(&name, ""),
                limit: leaks.then_some(leak as i64),
            }],
            region: String::new(),
            zone: String::new(),
            provider: String::new(),
            labels: Labels::default(),
            warnings: Vec::new(),
            due_at: None,
            cluster_name: name,
        }
    }
}

impl Words for Shelf {
    fn filters(&self) -> &'static [&'static str] {
        &["Colour", "Room"]
    }
    fn token(&self, plugin: u16, _: Reason) -> &'static str {
        if plugin == 0 { "OtherColour" } else { "Full" }
    }
    fn sentence(&self, _: &Decision, _: Ix, _: u16, _: Reason) -> String {
        "the parcel does not fit".to_owned()
    }
    fn only_in_region(&self, _: &Decision, _: Ix) -> Option<&str> {
        self.is(Property::TheCauseIsTrue).then_some("nowhere")
    }
    fn not_picked(&self, _: &Decision, _: Ix, _: Option<usize>) -> (&'static str, String) {
        ("Fuller", "another crate is emptier".to_owned())
    }
    fn message(&self, decision: &Decision) -> String {
        format!(
            "{} of {} crates fit",
            decision.solved.feasible.len(),
            self.count()
        )
    }
    fn conditions(&self, _: &Decision) -> Vec<Value> {
        Vec::new()
    }
}

impl Advisor for Shelf {
    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        let Some(refusal) = refusal else {
            return Vec::new();
        };
        let name = self.cluster_name(candidate);
        let parcel = &self.parcels[&decision.demand];
        let (text, spec) = if refusal.plugin == 0 {
            (
                "paint the crate",
                json!({"colour": parcel.value()["spec"]["colour"]}),
            )
        } else {
            let capacity = self.used(&name, &decision.demand.name) + 1;
            ("widen the crate", json!({"capacity": capacity}))
        };
        let edit = Edit::Merge {
            key: Key::new(CRATES, "", &name),
            patch: json!({"spec": spec}),
        };
        vec![Remedy::new(ChangeOwner::Target, text, edit)]
    }
}
