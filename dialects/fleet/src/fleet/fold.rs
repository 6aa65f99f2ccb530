//! The fold of the inventory: a change is parsed once, updates the records and the columns, and makes
//! placements due.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::{AffectedDemands, Consequences, config};

use super::{Fleet, ObjectsByName, due};
use crate::eligibility::Limits;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord};
use crate::names::{
    BINDINGS, CLUSTERS, DIALECT, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS, RESOURCE_SNAPSHOTS,
    SNAPSHOTS,
};

/// Applies `change` to `fleet`, and returns the due and changed placements and the changed clusters.
pub(crate) fn fold(fleet: &mut Fleet, change: &Change) -> Consequences {
    let (key, new) = (&change.key, change.new.as_ref());
    match key.resource {
        CLUSTERS => cluster(fleet, key, new),
        PLACEMENTS | RESOURCE_PLACEMENTS => placement(fleet, key, new),
        SNAPSHOTS | RESOURCE_SNAPSHOTS => snapshot(fleet, key, new),
        BINDINGS | RESOURCE_BINDINGS => binding(fleet, key, new),
        _ if *key == config::key(DIALECT) => configuration(fleet, key, new),
        _ => Consequences::nothing(),
    }
}

/// Parses `object` with `read`; `None` for a deleted object, or an object that cannot be parsed. The latter
/// is recorded as unusable.
fn read<R>(
    fleet: &mut Fleet,
    key: &Key,
    object: Option<&Arc<Object>>,
    read: impl FnOnce(&Arc<Object>) -> Result<R, String>,
) -> Option<R> {
    fleet.unusable.forget(key);
    fleet.unusable.record(key, read(object?))
}

fn cluster(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| Cluster::read(key, object));
    // A cluster that cannot be parsed still exists: without a row it would count as gone, and lose its
    // bindings.
    let new = new.or_else(|| Some(Cluster::unreadable(key, object?, fleet.unusable.problem(key)?)));
    let new = new.map(Arc::new);
    let old = match &new {
        Some(row) => fleet.clusters.insert(Arc::clone(&key.name), Arc::clone(row)),
        None => fleet.clusters.remove(&key.name),
    };
    match (&old, &new) {
        (Some(_), Some(row)) => {
            if let Some(columns) = fleet.columns.get_mut().map(Arc::make_mut) {
                columns.replace(row);
            }
        }
        (None, None) => return Consequences::nothing(),
        // A cluster was added or removed: candidates get new numbers at the next read.
        _ => drop(fleet.columns.take()),
    }
    due::cluster(fleet, &key.name, old.as_deref(), new.as_deref())
}

fn placement(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let known = fleet.placements.get(key).cloned();
    let new = read(fleet, key, object, |object| {
        PlacementRecord::read(key, object, known.as_deref())
    });
    let new = new.map(Arc::new);
    let old = match &new {
        Some(record) => fleet.placements.insert(key.clone(), Arc::clone(record)),
        None => fleet.placements.remove(key),
    };
    let status_copy = |record: &Option<Arc<PlacementRecord>>| {
        let namespace = record.as_ref()?.status_namespace.clone()?;
        Some((namespace, Arc::clone(&key.name)))
    };
    if status_copy(&old) != status_copy(&new) {
        status_copy(&old).and_then(|entry| fleet.status_copies.remove(&entry));
        status_copy(&new).and_then(|entry| fleet.status_copies.insert(entry));
    }
    let is_due = match (&old, &new) {
        (Some(old), Some(new)) => !old.has_equal_inputs(new),
        (_, new) => new.is_some(),
    };
    Consequences {
        decide: due::demands(if is_due { vec![key.clone()] } else { Vec::new() }),
        demands: AffectedDemands::Some(vec![key.clone()]),
        targets: Some(Vec::new()),
    }
}

/// Replaces the snapshot or binding at `key` by `new` in `own`, the objects by placement, and in `parents`.
/// Returns the former record with the key of its placement.
fn replace_object<T>(
    own: &mut imbl::HashMap<Key, ObjectsByName<T>>,
    parents: &mut imbl::HashMap<Key, Key>,
    key: &Key,
    new: Option<(&Key, &Arc<T>)>,
) -> Option<(Key, Arc<T>)> {
    let old = parents.remove(key).and_then(|parent| {
        let list = own.get_mut(&parent)?;
        let record = list.remove(&key.name)?;
        if list.is_empty() {
            own.remove(&parent);
        }
        Some((parent, record))
    });
    if let Some((parent, record)) = new {
        own.entry(parent.clone())
            .or_default()
            .insert(Arc::clone(&key.name), Arc::clone(record));
        parents.insert(key.clone(), parent.clone());
    }
    old
}

fn snapshot(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| SnapshotRecord::read(key, object));
    let new = new.map(|(parent, record)| (parent, Arc::new(record)));
    let entry = new.as_ref().map(|(parent, record)| (parent, record));
    let old = replace_object(&mut fleet.snapshots, &mut fleet.parents, key, entry);
    let mut parents: Vec<&Key> = [&old, &new]
        .into_iter()
        .flatten()
        .map(|(parent, _)| parent)
        .collect();
    parents.dedup();
    let is_latest_deleted = old.as_ref().is_some_and(|(_, old)| old.latest) && new.is_none();
    let due_keys = parents
        .into_iter()
        .filter_map(|parent| due::snapshot(fleet, parent, is_latest_deleted));
    Consequences {
        decide: due::demands(due_keys.collect()),
        ..Consequences::nothing()
    }
}

fn binding(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| BindingRecord::read(key, object));
    let new = new.map(|(parent, record)| (parent, Arc::new(record)));
    let entry = new.as_ref().map(|(parent, record)| (parent, record));
    let old = replace_object(&mut fleet.bindings, &mut fleet.parents, key, entry);
    let mut targets = Vec::new();
    for (side, is_added) in [(&old, false), (&new, true)] {
        let Some((parent, record)) = side.as_ref().filter(|(_, record)| record.live()) else {
            continue;
        };
        let entry = (Arc::clone(&record.cluster), parent.clone(), Arc::clone(&key.name));
        if is_added {
            fleet.on_cluster.insert(entry);
        } else {
            fleet.on_cluster.remove(&entry);
        }
        count_live(fleet, parent, &record.cluster, is_added);
        targets.push(Arc::clone(&record.cluster));
    }
    targets.dedup();
    let mut demands: Vec<Key> = [&old, &new]
        .into_iter()
        .flatten()
        .map(|(parent, _)| parent)
        .filter(|placement| fleet.placements.contains_key(*placement))
        .cloned()
        .collect();
    demands.dedup();
    let removed = old.as_ref().filter(|(_, old)| {
        // A binding that becomes Unscheduled was released on purpose. A live binding that is deleted, or
        // whose deletion begins, was not, so that its placement may need another cluster.
        old.live() && new.as_ref().is_none_or(|(_, new)| new.deleting())
    });
    Consequences {
        decide: due::demands(
            removed
                .and_then(|(parent, _)| due::lost_binding(fleet, parent))
                .into_iter()
                .collect(),
        ),
        demands: due::demands(demands),
        targets: Some(targets),
    }
}

/// Updates the numbers of live bindings of `placement` and of `cluster` after a live binding was added
/// (`is_added`) or removed.
fn count_live(fleet: &mut Fleet, placement: &Key, cluster: &Arc<str>, is_added: bool) {
    let live = fleet.live_by_placement.get(placement).copied().unwrap_or(0);
    let on_cluster = fleet.live_by_cluster.get(cluster).copied().unwrap_or(0);
    let (live, on_cluster) = if is_added {
        (live + 1, on_cluster + 1)
    } else {
        (live.saturating_sub(1), on_cluster.saturating_sub(1))
    };
    if live == 0 {
        fleet.live_by_placement.remove(placement);
    } else {
        fleet.live_by_placement.insert(placement.clone(), live);
    }
    if on_cluster == 0 {
        fleet.live_by_cluster.remove(cluster);
    } else {
        fleet.live_by_cluster.insert(Arc::clone(cluster), on_cluster);
    }
}

/// Applies a configuration. If it is invalid, the last valid limits stay in force.
fn configuration(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let path = format!("spec.{DIALECT}");
    let limits = read(fleet, key, object, |object| {
        let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
        crate::config::read(spec, &path).map_err(|errors| berth_apimachinery::field::aggregate(&errors))
    });
    let limits = match (limits, object) {
        (Some(limits), _) => limits,
        (None, None) => Limits::default(),
        (None, Some(_)) => fleet.limits,
    };
    if fleet.limits == limits {
        return Consequences::nothing();
    }
    fleet.limits = limits;
    Consequences {
        decide: AffectedDemands::All,
        demands: AffectedDemands::None,
        targets: None,
    }
}
