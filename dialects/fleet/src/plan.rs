//! Content of a placement's objects: snapshots (docs/systems/fleet.md, "Policy snapshots") and bindings
//! (docs/systems/fleet.md, "Bindings").

use std::sync::Arc;

use berth_apimachinery::Key;

use crate::fleet::Fleet;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord};
use crate::form::Form;
use crate::kind::{ClusterDecision, State};
use crate::names::BINDING_FINALIZER;

/// Content of a placement's objects.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The snapshots.
    pub(crate) snapshot: SnapshotPlan,
    /// The bindings, in the order they are written.
    pub(crate) steps: Vec<Step>,
    /// The decisions that the status of the snapshot will list; `None` where it does not change.
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

/// Step for one binding.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is being deleted, and the scheduler's finalizer is removed.
    Release(Arc<BindingRecord>),
    /// A new one to this cluster.
    Create(Arc<str>, ClusterDecision),
    /// It stays, decided by the policy in force.
    Repoint(Arc<BindingRecord>, ClusterDecision),
    /// It returns to this state.
    Restore(Arc<BindingRecord>, State, ClusterDecision),
    /// It is deleted.
    Unschedule(Arc<BindingRecord>),
}

impl Step {
    /// The step for a binding that is being deleted, if there is anything to do.
    pub(crate) fn release(binding: &Arc<BindingRecord>) -> Option<Self> {
        let ours = binding
            .object
            .meta()
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == BINDING_FINALIZER);
        ours.then(|| Self::Release(Arc::clone(binding)))
    }
}

/// Plan for the snapshots of a placement.
#[derive(Debug)]
pub(crate) struct SnapshotPlan {
    /// Snapshots that claim to count, and will not any more.
    pub(crate) demote: Vec<Arc<SnapshotRecord>>,
    /// Snapshots that are too old to be kept.
    pub(crate) drop: Vec<Arc<SnapshotRecord>>,
    /// The one that counts.
    pub(crate) current: CurrentSnapshot,
}

/// The snapshot that counts.
#[derive(Debug)]
pub(crate) enum CurrentSnapshot {
    /// There is one with this policy; label and annotations may have to be brought up to date.
    Known(Arc<SnapshotRecord>, bool),
    /// It must be created.
    New(Arc<str>, u64),
}

impl SnapshotPlan {
    /// Plans the snapshots of `placement`. A snapshot counts when it is the newest and its policy is the
    /// placement's, the number of clusters left aside (docs/systems/fleet.md, "Policy snapshots").
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
                current: CurrentSnapshot::Known(Arc::clone(newest), newest.lags(record)),
            };
        }
        let mut oldest: Vec<&Arc<SnapshotRecord>> = staying().collect();
        oldest.sort_by_key(|snapshot| snapshot.index);
        let surplus = (oldest.len() + 1).saturating_sub(record.history);
        let drop: Vec<Arc<SnapshotRecord>> =
            oldest.iter().take(surplus).map(|&old| Arc::clone(old)).collect();
        let (name, index) = next(fleet, placement);
        Self {
            // The old one loses its label first: there must never be two latest ones.
            demote: staying().filter(|snapshot| snapshot.latest).cloned().collect(),
            drop,
            current: CurrentSnapshot::New(name, index),
        }
    }

    /// The name of the snapshot that counts.
    pub(crate) fn name(&self) -> &Arc<str> {
        match &self.current {
            CurrentSnapshot::Known(record, _) => &record.name,
            CurrentSnapshot::New(name, _) => name,
        }
    }

    fn writes(&self) -> bool {
        let current = match self.current {
            CurrentSnapshot::Known(_, lags) => lags,
            CurrentSnapshot::New(..) => true,
        };
        current || !self.demote.is_empty() || !self.drop.is_empty()
    }
}

/// Name and number of the next snapshot: above every number in use, those that only bindings still name
/// included, lest an old binding passes for one of the new policy.
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
        if !fleet.taken(&Form::snapshot_of(placement, &name)) {
            return (name.into(), index);
        }
        index += 1;
    }
}
