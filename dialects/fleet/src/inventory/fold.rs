//! Taking in one change: parse the object once, edit the records, keep the columns up to date, say who is due.

use std::sync::Arc;

use dialect_contract::{Affected, Due, config};
use meta::{Change, Key, Object};

use super::{Hub, Own, due};
use crate::cluster::Cluster;
use crate::eligibility::Limits;
use crate::names::{BINDINGS, CLUSTERS, DIALECT, PLACEMENTS, SNAPSHOTS};
use crate::record::{BindingRecord, PlacementRecord, SnapshotRecord};

/// Takes in `change`.
pub(super) fn fold(hub: &mut Hub, change: &Change) -> Due {
    let (key, new) = (&change.key, change.new.as_ref());
    match key.resource {
        CLUSTERS => cluster(hub, key, new),
        PLACEMENTS => placement(hub, key, new),
        SNAPSHOTS => snapshot(hub, key, new),
        BINDINGS => binding(hub, key, new),
        _ if *key == config::key(DIALECT) => configuration(hub, key, new),
        _ => Due::nothing(),
    }
}

/// Reads `object` with `read`; an object that cannot be read is listed and left out.
fn read<R>(
    hub: &mut Hub,
    key: &Key,
    object: Option<&Arc<Object>>,
    read: impl FnOnce(&Arc<Object>) -> Result<R, String>,
) -> Option<R> {
    hub.unusable.forget(key);
    hub.unusable.note(key, read(object?))
}

fn cluster(hub: &mut Hub, key: &Key, object: Option<&Arc<Object>>) -> Due {
    let new = read(hub, key, object, |object| Cluster::read(key, object)).map(Arc::new);
    let old = match &new {
        Some(row) => hub.clusters.insert(Arc::clone(&key.name), Arc::clone(row)),
        None => hub.clusters.remove(&key.name),
    };
    match (&old, &new) {
        (Some(_), Some(row)) => {
            if let Some(fleet) = hub.fleet.get_mut().map(Arc::make_mut) {
                fleet.replace(row);
            }
        }
        (None, None) => return Due::nothing(),
        // A cluster came or went: candidates are numbered anew at the next read.
        _ => drop(hub.fleet.take()),
    }
    due::cluster(hub, &key.name, old.as_deref(), new.as_deref())
}

fn placement(hub: &mut Hub, key: &Key, object: Option<&Arc<Object>>) -> Due {
    let known = hub.placements.get(key).cloned();
    let new = read(hub, key, object, |object| {
        PlacementRecord::read(key, object, known.as_deref())
    });
    let new = new.map(Arc::new);
    let old = match &new {
        Some(record) => hub.placements.insert(key.clone(), Arc::clone(record)),
        None => hub.placements.remove(key),
    };
    let again = match (&old, &new) {
        (Some(old), Some(new)) => !old.decides_like(new),
        (_, new) => new.is_some(),
    };
    Due {
        decide: due::of(if again { vec![key.clone()] } else { Vec::new() }),
        demands: Affected::Some(vec![key.clone()]),
        targets: Some(Vec::new()),
    }
}

/// Moves an object of a placement in one of the maps; gives the old reading with its placement.
fn place<T>(
    own: &mut imbl::HashMap<Arc<str>, Own<T>>,
    parents: &mut imbl::HashMap<Key, Arc<str>>,
    key: &Key,
    new: Option<(&Arc<str>, &Arc<T>)>,
) -> Option<(Arc<str>, Arc<T>)> {
    let old = parents.remove(key).and_then(|parent| {
        let list = own.get_mut(&parent)?;
        let record = list.remove(&key.name)?;
        if list.is_empty() {
            own.remove(&parent);
        }
        Some((parent, record))
    });
    if let Some((parent, record)) = new {
        own.entry(Arc::clone(parent))
            .or_default()
            .insert(Arc::clone(&key.name), Arc::clone(record));
        parents.insert(key.clone(), Arc::clone(parent));
    }
    old
}

fn snapshot(hub: &mut Hub, key: &Key, object: Option<&Arc<Object>>) -> Due {
    let new = read(hub, key, object, |object| SnapshotRecord::read(key, object));
    let new = new.map(|(parent, record)| (parent, Arc::new(record)));
    let entry = new.as_ref().map(|(parent, record)| (parent, record));
    let old = place(&mut hub.snapshots, &mut hub.parents, key, entry);
    let mut parents: Vec<&Arc<str>> = [&old, &new]
        .into_iter()
        .flatten()
        .map(|(parent, _)| parent)
        .collect();
    parents.dedup();
    let lost = old.as_ref().is_some_and(|(_, old)| old.latest) && new.is_none();
    let again = parents
        .into_iter()
        .filter_map(|parent| due::snapshot(hub, parent, lost));
    Due {
        decide: due::of(again.collect()),
        ..Due::nothing()
    }
}

fn binding(hub: &mut Hub, key: &Key, object: Option<&Arc<Object>>) -> Due {
    let new = read(hub, key, object, |object| BindingRecord::read(key, object));
    let new = new.map(|(parent, record)| (parent, Arc::new(record)));
    let entry = new.as_ref().map(|(parent, record)| (parent, record));
    let old = place(&mut hub.bindings, &mut hub.parents, key, entry);
    let mut targets = Vec::new();
    for (side, up) in [(&old, false), (&new, true)] {
        let Some((parent, record)) = side.as_ref().filter(|(_, record)| record.live()) else {
            continue;
        };
        let entry = (
            Arc::clone(&record.cluster),
            Arc::clone(parent),
            Arc::clone(&key.name),
        );
        if up {
            hub.on_cluster.insert(entry);
        } else {
            hub.on_cluster.remove(&entry);
        }
        count(hub, parent, &record.cluster, up);
        targets.push(Arc::clone(&record.cluster));
    }
    targets.dedup();
    let mut demands: Vec<Key> = [&old, &new]
        .into_iter()
        .flatten()
        .map(|(parent, _)| due::key(parent))
        .filter(|key| hub.placements.contains_key(key))
        .collect();
    demands.dedup();
    let removed = old.as_ref().filter(|(_, old)| {
        // Whoever sets Unscheduled means it; a live binding that goes, or begins to, leaves a gap.
        old.live() && new.as_ref().is_none_or(|(_, new)| new.deleting())
    });
    Due {
        decide: due::of(
            removed
                .and_then(|(parent, _)| due::gap(hub, parent))
                .into_iter()
                .collect(),
        ),
        demands: due::of(demands),
        targets: Some(targets),
    }
}

/// Counts one live binding of `placement` on `cluster` in or out.
fn count(hub: &mut Hub, placement: &Arc<str>, cluster: &Arc<str>, up: bool) {
    let held = hub.held.get(placement).copied().unwrap_or(0);
    let on = hub.tally.get(cluster).copied().unwrap_or(0);
    let (held, on) = if up {
        (held + 1, on + 1)
    } else {
        (held.saturating_sub(1), on.saturating_sub(1))
    };
    if held == 0 {
        hub.held.remove(placement);
    } else {
        hub.held.insert(Arc::clone(placement), held);
    }
    if on == 0 {
        hub.tally.remove(cluster);
    } else {
        hub.tally.insert(Arc::clone(cluster), on);
    }
}

/// A bad configuration leaves the last good one in force.
fn configuration(hub: &mut Hub, key: &Key, object: Option<&Arc<Object>>) -> Due {
    let path = format!("spec.{DIALECT}");
    let limits = read(hub, key, object, |object| {
        let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
        crate::config::read(spec, &path).map_err(|errors| meta::field::aggregate(&errors))
    });
    let limits = match (limits, object) {
        (Some(limits), _) => limits,
        (None, None) => Limits::default(),
        (None, Some(_)) => hub.limits,
    };
    if hub.limits == limits {
        return Due::nothing();
    }
    hub.limits = limits;
    Due {
        decide: Affected::All,
        demands: Affected::None,
        targets: None,
    }
}
