//! Which placements a change makes due again (docs/systems/fleet.md, "When it runs").

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::{Affected, Due};

use super::Fleet;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::PlacementRecord;
use crate::names::PLACEMENTS;
use crate::policy::Mode;

/// These, or none.
pub(super) fn of(keys: Vec<Key>) -> Affected {
    if keys.is_empty() {
        Affected::None
    } else {
        Affected::Some(keys)
    }
}

/// The key of the placement `name`.
pub(super) fn key(name: &Arc<str>) -> Key {
    Key {
        resource: PLACEMENTS,
        namespace: Arc::from(""),
        name: Arc::clone(name),
    }
}

/// The placement `name`, which lost a live binding, unless it lets go of all of them anyway.
pub(super) fn gap(fleet: &Fleet, name: &Arc<str>) -> Option<Key> {
    let key = key(name);
    let staying = fleet
        .placements
        .get(&key)
        .is_some_and(|record| !record.deleting());
    staying.then_some(key)
}

/// The placement `name`, one of whose snapshots changed, where its newest snapshot is not as a decision leaves it. A
/// snapshot of an older policy says nothing: the new policy made the placement due already. `lost` tells that the
/// snapshot that counted is gone.
pub(super) fn snapshot(fleet: &Fleet, name: &Arc<str>, lost: bool) -> Option<Key> {
    let key = key(name);
    let record = fleet.placements.get(&key).filter(|record| !record.deleting())?;
    let again = match fleet.newest_snapshot(name) {
        None => true,
        Some(newest) if newest.has_policy_of(record) => newest.lags(record),
        Some(_) => lost,
    };
    again.then_some(key)
}

/// A cluster changed.
pub(super) fn cluster(fleet: &Fleet, name: &Arc<str>, old: Option<&Cluster>, new: Option<&Cluster>) -> Due {
    let mut decide = Vec::new();
    if new.is_none() {
        decide.extend(bound_to(fleet, name).map(key));
        decide.retain(|key| fleet.placements.contains_key(key));
        decide.dedup();
    } else if let Some(new) = new.filter(|new| !new.standing.leaving) {
        let better = new.improves_on(old, fleet.limits);
        let changed = old.map(|old| new.changed_properties(old)).unwrap_or_default();
        if better || !changed.is_empty() {
            let wanting = fleet
                .placements
                .iter()
                .filter(|(_, record)| wants(fleet, record, name) && (better || uses(record, &changed)));
            decide.extend(wanting.map(|(key, _)| key.clone()));
        }
    }
    Due {
        decide: of(decide),
        demands: Affected::None,
        targets: Some(vec![Arc::clone(name)]),
    }
}

/// The placements with a live binding on `cluster`.
fn bound_to<'a>(fleet: &'a Fleet, cluster: &'a Arc<str>) -> impl Iterator<Item = &'a Arc<str>> {
    let first = (Arc::clone(cluster), Arc::from(""), Arc::from(""));
    let entries = fleet
        .on_cluster
        .range(first..)
        .take_while(move |(on, _, _)| on == cluster);
    entries.map(|(_, placement, _)| placement)
}

/// Whether a placement could take `cluster` if it fitted.
fn wants(fleet: &Fleet, record: &PlacementRecord, cluster: &Arc<str>) -> bool {
    if record.deleting() {
        return false;
    }
    let Ok(policy) = &*record.policy else {
        return false;
    };
    let name = record.object.meta().name();
    let held = fleet.held.get(name).copied().unwrap_or(0);
    match &policy.mode {
        Mode::All => !has(fleet, cluster, name),
        Mode::Number(wanted) => held < *wanted,
        Mode::Fixed(names) => names.contains(cluster) && !has(fleet, cluster, name),
    }
}

/// Whether the placement has a live binding on `cluster`.
fn has(fleet: &Fleet, cluster: &Arc<str>, placement: &str) -> bool {
    let first = (Arc::clone(cluster), Arc::from(placement), Arc::from(""));
    let next = fleet.on_cluster.range(first..).next();
    next.is_some_and(|(on, of, _)| on == cluster && **of == *placement)
}

fn uses(record: &PlacementRecord, changed: &[&str]) -> bool {
    let policy = record.policy.as_ref().as_ref();
    policy.is_ok_and(|policy| policy.uses_property(changed.iter().copied()))
}
