//! The planned content of a placement's objects: snapshots (docs/systems/fleet.md, "Policy snapshots") and
//! bindings (docs/systems/fleet.md, "Bindings").

use std::sync::Arc;

use berth_apimachinery::Key;

use crate::fleet::Fleet;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord};
use crate::form::Form;
use crate::kind::{ClusterDecision, State};
use crate::names::BINDING_FINALIZER;

/// The planned content of a placement's objects.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The plan for the snapshots.
    pub(crate) snapshot: SnapshotPlan,
    /// The steps for the bindings, in the order of their writes.
    pub(crate) steps: Vec<Step>,
    /// The decisions that the status of the snapshot will list; `None` where the status does not change.
    pub(crate) status: Option<Vec<ClusterDecision>>,
    /// Whether the condition of the placement changes.
    pub(crate) placement_status: bool,
}

impl Plan {
    /// Whether anything is written.
    pub(crate) fn writes(&self) -> bool {
        self.snapshot.writes() || !self.steps.is_empty() || self.status.is_some() || self.placement_status
    }
}

/// A step for one binding.
#[derive(Debug)]
pub(crate) enum Step {
    /// The binding is being deleted, and the scheduler's finalizer is removed.
    Release(Arc<BindingRecord>),
    /// A new binding to this cluster is created.
    Create(Arc<str>, ClusterDecision),
    /// The binding stays, and records the policy in force and its decision.
    Repoint(Arc<BindingRecord>, ClusterDecision),
    /// The binding returns to this state.
    Restore(Arc<BindingRecord>, State, ClusterDecision),
    /// The binding is released.
    Unschedule(Arc<BindingRecord>),
}

impl Step {
    /// The step for a binding that is being deleted, if there is anything to do.
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

/// Plan for the snapshots of a placement.
#[derive(Debug)]
pub(crate) struct SnapshotPlan {
    /// Snapshots that lose their mark as the latest.
    pub(crate) demote: Vec<Arc<SnapshotRecord>>,
    /// Old snapshots that are deleted.
    pub(crate) drop: Vec<Arc<SnapshotRecord>>,
    /// The current snapshot.
    pub(crate) current: CurrentSnapshot,
}

/// The current snapshot, by which clusters are scheduled.
#[derive(Debug)]
pub(crate) enum CurrentSnapshot {
    /// An existing snapshot has the policy. The flag tells whether its label and annotations must be
    /// updated.
    Known(Arc<SnapshotRecord>, bool),
    /// The snapshot with this name and number must be created.
    New(Arc<str>, u64),
}

impl SnapshotPlan {
    /// Plans the snapshots of `placement`. The newest snapshot is the current one if its policy is the
    /// placement's, regardless of the number of clusters (docs/systems/fleet.md, "Policy snapshots").
    pub(crate) fn make(fleet: &Fleet, record: &PlacementRecord, placement: &Key) -> Self {
        let staying = || {
            fleet
                .snapshots_of(placement)
                .filter(|snapshot| !snapshot.deleting())
        };
        let newest = fleet.newest_snapshot(placement);
        if let Some(newest) = newest.filter(|newest| newest.has_policy_of(record)) {
            let others = staying().filter(|snapshot| snapshot.latest && snapshot.name != newest.name);
            return Self {
                demote: others.cloned().collect(),
                drop: Vec::new(),
                current: CurrentSnapshot::Known(Arc::clone(newest), newest.is_outdated(record)),
            };
        }
        let mut oldest: Vec<&Arc<SnapshotRecord>> = staying().collect();
        oldest.sort_by_key(|snapshot| snapshot.index);
        let surplus = (oldest.len() + 1).saturating_sub(record.history);
        let drop: Vec<Arc<SnapshotRecord>> =
            oldest.iter().take(surplus).map(|&old| Arc::clone(old)).collect();
        let (name, index) = next(fleet, placement);
        Self {
            // The old snapshot is unmarked first: there must never be two latest snapshots.
            demote: staying().filter(|snapshot| snapshot.latest).cloned().collect(),
            drop,
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

    fn writes(&self) -> bool {
        let current = match self.current {
            CurrentSnapshot::Known(_, is_outdated) => is_outdated,
            CurrentSnapshot::New(..) => true,
        };
        current || !self.demote.is_empty() || !self.drop.is_empty()
    }
}

/// Name and number of the next snapshot. The number is above every number in use, including numbers that only
/// bindings still mention: an old binding must never count as a binding of the new policy.
fn next(fleet: &Fleet, placement: &Key) -> (Arc<str>, u64) {
    let number = |snapshot: &str| -> Option<u64> {
        let rest = snapshot.strip_prefix(&*placement.name)?;
        rest.strip_prefix('-')?.parse().ok()
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
