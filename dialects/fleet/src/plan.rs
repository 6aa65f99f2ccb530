//! The plan of a decision for the objects of a placement: policy snapshots (docs/systems/fleet.md, "Policy
//! snapshots") and bindings (docs/systems/fleet.md, "Bindings").

use std::sync::Arc;

use berth_apimachinery::Key;

use crate::fleet::Fleet;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord, snapshot_index};
use crate::form::Form;
use crate::kind::{ClusterDecision, State};
use crate::names::BINDING_FINALIZER;

/// The plan of a decision for the objects of a placement.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The plan for the policy snapshots.
    pub(crate) snapshot: SnapshotPlan,
    /// The steps for the bindings, in the order of the writes.
    pub(crate) steps: Vec<BindingStep>,
    /// The decisions in the new status of the current snapshot; `None` if the status does not change.
    pub(crate) status: Option<Vec<ClusterDecision>>,
    /// Whether the condition of the placement about the result of scheduling changes.
    pub(crate) condition_changes: bool,
}

impl Plan {
    /// Whether the plan writes anything.
    pub(crate) fn has_writes(&self) -> bool {
        self.snapshot.has_writes()
            || !self.steps.is_empty()
            || self.status.is_some()
            || self.condition_changes
    }
}

/// A step of the plan for one binding.
#[derive(Debug)]
pub(crate) enum BindingStep {
    /// Removes the scheduler's finalizer from a binding that is being deleted.
    Release(Arc<BindingRecord>),
    /// Creates a binding to the cluster with this name.
    Create(Arc<str>, ClusterDecision),
    /// Keeps a binding, and records the current policy snapshot and this decision in it.
    Repoint(Arc<BindingRecord>, ClusterDecision),
    /// Returns an Unscheduled binding to this state, and records this decision in it.
    Restore(Arc<BindingRecord>, State, ClusterDecision),
    /// Releases a binding: the state becomes Unscheduled.
    Unschedule(Arc<BindingRecord>),
}

impl BindingStep {
    /// The step for a binding that is being deleted; `None` if it does not have the scheduler's finalizer.
    pub(crate) fn release(binding: &Arc<BindingRecord>) -> Option<Self> {
        let has_finalizer = binding
            .object
            .meta()
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == BINDING_FINALIZER);
        has_finalizer.then(|| Self::Release(Arc::clone(binding)))
    }
}

/// The plan for the policy snapshots of a placement.
#[derive(Debug)]
pub(crate) struct SnapshotPlan {
    /// The snapshots that lose the label of the latest snapshot.
    pub(crate) demote: Vec<Arc<SnapshotRecord>>,
    /// The old snapshots that are deleted.
    pub(crate) delete: Vec<Arc<SnapshotRecord>>,
    /// The current snapshot, by which clusters are scheduled.
    pub(crate) current: CurrentSnapshot,
}

/// The current snapshot, by which clusters are scheduled.
#[derive(Debug)]
pub(crate) enum CurrentSnapshot {
    /// An existing snapshot with the policy of the placement. The flag is true if the label or the
    /// annotations of the snapshot must be updated.
    Known(Arc<SnapshotRecord>, bool),
    /// A snapshot with this name and number, which must be created.
    New(Arc<str>, u64),
}

impl SnapshotPlan {
    /// Plans the snapshots of `placement`. The newest snapshot is the current one if it has the policy of the
    /// placement, regardless of the number of clusters (docs/systems/fleet.md, "Policy snapshots").
    pub(crate) fn new(fleet: &Fleet, record: &PlacementRecord, placement: &Key) -> Self {
        let staying = || {
            fleet
                .snapshots_of(placement)
                .filter(|snapshot| !snapshot.deleting())
        };
        let newest = fleet.newest_snapshot(placement);
        if let Some(newest) = newest.filter(|newest| newest.has_policy_of(record)) {
            let outdated = staying().filter(|snapshot| snapshot.latest && snapshot.name != newest.name);
            return Self {
                demote: outdated.cloned().collect(),
                delete: Vec::new(),
                current: CurrentSnapshot::Known(Arc::clone(newest), newest.is_outdated(record)),
            };
        }
        let mut oldest: Vec<&Arc<SnapshotRecord>> = staying().collect();
        oldest.sort_by_key(|snapshot| snapshot.index);
        let surplus = (oldest.len() + 1).saturating_sub(record.history);
        let delete: Vec<Arc<SnapshotRecord>> =
            oldest.iter().take(surplus).map(|&old| Arc::clone(old)).collect();
        let (name, index) = next_snapshot(fleet, placement);
        Self {
            // The old snapshot loses the label first: there must never be two latest snapshots.
            demote: staying().filter(|snapshot| snapshot.latest).cloned().collect(),
            delete,
            current: CurrentSnapshot::New(name, index),
        }
    }

    /// The name of the current snapshot.
    pub(crate) fn name(&self) -> &Arc<str> {
        match &self.current {
            CurrentSnapshot::Known(record, _) => &record.name,
            CurrentSnapshot::New(name, _) => name,
        }
    }

    fn has_writes(&self) -> bool {
        let current = match self.current {
            CurrentSnapshot::Known(_, is_outdated) => is_outdated,
            CurrentSnapshot::New(..) => true,
        };
        current || !self.demote.is_empty() || !self.delete.is_empty()
    }
}

/// The name and the number of the next snapshot. The number is above the numbers of all snapshots, and of all
/// snapshots that bindings name: an old binding must never count as a binding of the new policy.
fn next_snapshot(fleet: &Fleet, placement: &Key) -> (Arc<str>, u64) {
    let number = |snapshot: &str| -> Option<u64> {
        let rest = snapshot.strip_prefix(&*placement.name)?;
        snapshot_index(rest.strip_prefix('-')?)
    };
    let named = fleet
        .bindings_of(placement)
        .filter_map(|binding| number(&binding.snapshot));
    let known = fleet.snapshots_of(placement).map(|snapshot| snapshot.index);
    let mut index = known
        .chain(named)
        .max()
        .map_or(0, |highest| highest.saturating_add(1));
    loop {
        let name = format!("{}-{index}", placement.name);
        if !fleet.has_object(&Form::snapshot_of(placement, &name)) {
            return (name.into(), index);
        }
        index += 1;
    }
}
