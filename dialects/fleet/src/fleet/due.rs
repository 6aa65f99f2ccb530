//! The placements that a change makes due: they are decided again (docs/systems/fleet.md, "When it runs").

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::{AffectedDemands, Consequences};

use super::Fleet;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::PlacementRecord;
use crate::policy::Mode;

/// The affected demands with these `keys`; [`AffectedDemands::None`] for an empty list.
pub(super) fn demands(keys: Vec<Key>) -> AffectedDemands {
    if keys.is_empty() {
        AffectedDemands::None
    } else {
        AffectedDemands::Some(keys)
    }
}

/// The key of `placement`, which has lost a live binding, if the placement becomes due. `None` for a
/// placement that does not exist, or that is being deleted and releases all its bindings anyway.
pub(super) fn lost_binding(fleet: &Fleet, placement: &Key) -> Option<Key> {
    let staying = fleet
        .placements
        .get(placement)
        .is_some_and(|record| !record.deleting());
    staying.then(|| placement.clone())
}

/// The key of `placement` after a change of one of its snapshots, if the placement becomes due: its newest
/// snapshot is missing or outdated, or has another policy because the latest snapshot was deleted
/// (`is_latest_deleted`). In other cases of another policy, the change of the policy has already made the
/// placement due.
pub(super) fn snapshot(fleet: &Fleet, placement: &Key, is_latest_deleted: bool) -> Option<Key> {
    let record = fleet.placements.get(placement);
    let record = record.filter(|record| !record.deleting())?;
    let is_due = match fleet.newest_snapshot(placement) {
        None => true,
        Some(newest) if newest.has_policy_of(record) => newest.is_outdated(record),
        Some(_) => is_latest_deleted,
    };
    is_due.then(|| placement.clone())
}

/// The consequences of the change of the cluster `name` from `old` to `new`. `None` is a cluster that does
/// not exist.
pub(super) fn cluster(
    fleet: &Fleet,
    name: &Arc<str>,
    old: Option<&Cluster>,
    new: Option<&Cluster>,
) -> Consequences {
    let mut decide = BTreeSet::new();
    if new.is_none() {
        let bound = fleet.bound_to(name).map(|(placement, _)| placement);
        decide.extend(bound.filter(|key| fleet.placements.contains_key(*key)).cloned());
        // The topology domain of the cluster may be gone, too, so that more clusters fit into the others.
        let spread = fleet
            .placements
            .iter()
            .filter(|(key, record)| is_limited_by_spread(record) && could_pick(fleet, key, record, name));
        decide.extend(spread.map(|(key, _)| key.clone()));
    } else if let Some(new) = new.filter(|new| new.eligibility.readable && !new.eligibility.leaving) {
        let better = new.improves_on(old, fleet.limits);
        let changed = old.map(|old| new.changed_properties(old)).unwrap_or_default();
        let new_namespaces = old.map(|old| new.new_namespaces(old)).unwrap_or_default();
        if better || !changed.is_empty() || !new_namespaces.is_none() {
            let concerned = |key: &Key, record: &PlacementRecord| {
                better || uses_any(record, &changed) || new_namespaces.contains(&key.namespace)
            };
            let due = fleet
                .placements
                .iter()
                .filter(|(key, record)| concerned(key, record) && could_pick(fleet, key, record, name));
            decide.extend(due.map(|(key, _)| key.clone()));
        }
    }
    // A value that is not a quantity makes the placements that compare it invalid, whether they could pick
    // the cluster or not.
    let comparable = old.map(|old| old.lost_non_quantities(new)).unwrap_or_default();
    if !comparable.is_empty() {
        let placements = fleet.placements.iter();
        let due = placements.filter(|(_, record)| !record.deleting() && uses_any(record, &comparable));
        decide.extend(due.map(|(key, _)| key.clone()));
    }
    Consequences {
        decide: demands(decide.into_iter().collect()),
        demands: AffectedDemands::None,
        targets: Some(vec![Arc::clone(name)]),
    }
}

/// Whether a decision on the placement could pick `cluster`, if the cluster fits.
fn could_pick(fleet: &Fleet, placement: &Key, record: &PlacementRecord, cluster: &Arc<str>) -> bool {
    if record.deleting() {
        return false;
    }
    let Ok(policy) = &*record.policy else {
        return false;
    };
    let live = fleet.live_by_placement.get(placement).copied().unwrap_or(0);
    match &policy.mode {
        Mode::All => !has_live_binding(fleet, cluster, placement),
        Mode::Number(number) => live < *number,
        Mode::Fixed(names) => names.contains(cluster) && !has_live_binding(fleet, cluster, placement),
    }
}

/// Whether the placement has a live binding to `cluster`.
fn has_live_binding(fleet: &Fleet, cluster: &Arc<str>, placement: &Key) -> bool {
    let first = (Arc::clone(cluster), placement.clone(), Arc::from(""));
    let next = fleet.on_cluster.range(first..).next();
    next.is_some_and(|(bound, owner, _)| bound == cluster && owner == placement)
}

/// Whether a topology spread constraint may keep the placement from a cluster that fits otherwise.
fn is_limited_by_spread(record: &PlacementRecord) -> bool {
    let policy = record.policy.as_ref().as_ref();
    policy.is_ok_and(|policy| policy.spread.iter().any(|constraint| constraint.hard))
}

/// Whether decisions on the placement depend on any of the `changed` properties.
fn uses_any(record: &PlacementRecord, changed: &[&str]) -> bool {
    let policy = record.policy.as_ref().as_ref();
    policy.is_ok_and(|policy| policy.uses_property(changed.iter().copied()))
}
