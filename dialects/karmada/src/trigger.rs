//! The triggers for which Karmada decides a binding (docs/systems/karmada.md, "When it decides").

use crate::columns::Columns;
use crate::kind::placement::Placement;
use crate::record::{AppliedPlacement, Record};

/// The reason for a decision on a binding; [`Trigger::Nothing`] if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The placement differs from the placement of the last decision in a relevant part.
    PlacementChanged,
    /// The binding requests another number of replicas than its clusters have.
    ReplicasChanged,
    /// A user requested a decision from scratch.
    Rescheduled,
    /// The template is not a workload, or every cluster gets all replicas: such a binding is decided in
    /// every run.
    Always,
    /// One of the binding's clusters is being deleted.
    ClusterLeaves,
    /// No relevant field has changed.
    Nothing,
}

impl Trigger {
    /// The first trigger that applies to `record` over the clusters of `columns`, in Karmada's order.
    pub(crate) fn of(record: &Record, placement: &Placement, columns: &Columns) -> Self {
        match () {
            () if has_new_placement(record, placement) => Self::PlacementChanged,
            () if is_resized(record, placement) => Self::ReplicasChanged,
            () if record.is_rescheduled() => Self::Rescheduled,
            () if !record.is_workload() || is_duplicated(placement) => Self::Always,
            () if lists_leaving_cluster(record, columns) => Self::ClusterLeaves,
            () => Self::Nothing,
        }
    }
}

fn has_new_placement(record: &Record, placement: &Placement) -> bool {
    let applied = match &record.applied {
        AppliedPlacement::Never => return true,
        AppliedPlacement::Unreadable => return false,
        AppliedPlacement::Placement(applied) => &**applied,
    };
    if applied == placement {
        return false;
    }
    if applied.without_affinities() != placement.without_affinities() {
        return true;
    }
    let observed = &record.status.scheduler_observed_affinity_name;
    let (before, after) = (applied.term(observed), placement.term(observed));
    // Groups other than the observed group can be added, removed and changed without effect.
    observed.is_empty() || before.is_none() || after.is_none() || before != after
}

fn is_resized(record: &Record, placement: &Placement) -> bool {
    let Some(scheduling) = &placement.replica_scheduling else {
        return false;
    };
    let mut all = record
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas));
    match scheduling.replica_scheduling_type.as_str() {
        "Duplicated" => all.any(|replicas| replicas != record.replicas()),
        "Divided" => all.sum::<i64>() != record.replicas(),
        _ => false,
    }
}

fn is_duplicated(placement: &Placement) -> bool {
    let scheduling = placement.replica_scheduling.as_ref();
    scheduling.is_none_or(|scheduling| scheduling.replica_scheduling_type == "Duplicated")
}

fn lists_leaving_cluster(record: &Record, columns: &Columns) -> bool {
    let listed = record.spec.clusters.iter();
    let mut listed = listed.filter_map(|target| columns.find(&target.name));
    listed.any(|candidate| columns.deleting.has(candidate))
}

#[cfg(test)]
mod tests;
