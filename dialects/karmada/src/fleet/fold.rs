//! Folding of changes into the fleet: the object is parsed once, the fleet is updated, and the demands that
//! become due are returned.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::{AffectedDemands, Consequences, config as settings};

use super::{Fleet, due};
use crate::cluster::Cluster;
use crate::config::{self, Settings};
use crate::fleet::policies::PolicyRecord;
use crate::names::{
    BINDINGS, CLUSTER_BINDINGS, CLUSTER_PROPAGATION_POLICIES, CLUSTERS, DIALECT, PROPAGATION_POLICIES, QUOTAS,
};
use crate::quota::{self, Quota};
use crate::recent_loads::RecentLoads;
use crate::record::Record;

/// Applies `change` to `fleet`, and returns the demands that become due.
pub(crate) fn fold(fleet: &mut Fleet, change: &Change) -> Consequences {
    let (key, new) = (&change.key, change.new.as_ref());
    match key.resource {
        CLUSTERS => cluster(fleet, key, new),
        BINDINGS | CLUSTER_BINDINGS => binding(fleet, key, new),
        PROPAGATION_POLICIES | CLUSTER_PROPAGATION_POLICIES => policy(fleet, key, new),
        QUOTAS => quota(fleet, key, new),
        _ if *key == settings::key(DIALECT) => configuration(fleet, key, new),
        _ => Consequences::nothing(),
    }
}

/// Parses `object` with `read`. An object that cannot be parsed is not in the fleet, and is listed as
/// unusable.
fn read<R>(
    fleet: &mut Fleet,
    key: &Key,
    object: Option<&Arc<Object>>,
    read: impl FnOnce(&Arc<Object>) -> Result<R, String>,
) -> Option<R> {
    fleet.unusable.forget(key);
    fleet.unusable.record(key, read(object?))
}

/// Applies a change of a cluster.
fn cluster(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| Cluster::read(key, object)).map(Arc::new);
    let old = match &new {
        Some(row) => fleet.clusters.insert(Arc::clone(&key.name), Arc::clone(row)),
        None => fleet.clusters.remove(&key.name),
    };
    if old.is_none() && new.is_none() {
        return Consequences::nothing();
    }
    match (&old, &new) {
        (Some(_), Some(row)) => {
            if let Some(columns) = fleet.columns.get_mut() {
                Arc::make_mut(columns).replace(row);
            }
        }
        _ => drop(fleet.columns.take()),
    }
    Consequences {
        decide: due::cluster(fleet, old.as_deref(), new.as_deref()),
        demands: AffectedDemands::None,
        targets: Some(vec![Arc::clone(&key.name)]),
    }
}

/// Applies a change of a binding.
fn binding(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| Record::read(key, object)).map(Arc::new);
    let old = match &new {
        Some(record) => fleet.bindings.insert(key.clone(), Arc::clone(record)),
        None => fleet.bindings.remove(key),
    };
    count(fleet, key, old.as_deref(), new.as_deref());
    if fleet.settings.counts_recent_loads {
        old.iter().for_each(|old| fleet.recent_loads.count(old, false));
        new.iter().for_each(|new| fleet.recent_loads.count(new, true));
    }
    let mut targets = Vec::new();
    for (record, is_added) in old
        .iter()
        .map(|old| (old, false))
        .chain(new.iter().map(|new| (new, true)))
    {
        for target in &record.spec.clusters {
            let name: Arc<str> = target.name.as_str().into();
            let entry = (Arc::clone(&name), key.clone());
            match is_added {
                true => fleet.bindings_by_cluster.insert(entry),
                false => fleet.bindings_by_cluster.remove(&entry),
            };
            targets.push(name);
        }
    }
    targets.sort_unstable();
    targets.dedup();
    Consequences {
        decide: due::binding(fleet, key, old.as_deref(), new.as_deref()),
        demands: AffectedDemands::Some(vec![key.clone()]),
        targets: Some(targets),
    }
}

/// Counts the resources of `new` instead of those of `old` in the usage of the namespace.
fn count(fleet: &mut Fleet, key: &Key, old: Option<&Record>, new: Option<&Record>) {
    if key.resource != BINDINGS {
        return;
    }
    let mut used = fleet.used.get(&key.namespace).cloned().unwrap_or_default();
    for (record, is_added) in [(old, false), (new, true)] {
        if let Some(record) = record {
            let usage = quota::usage(record.request.as_ref(), quota::listed_replicas(&record.spec));
            quota::count(&mut used, &usage, is_added);
        }
    }
    match used.is_empty() {
        true => fleet.used.remove(&key.namespace),
        false => fleet.used.insert(Arc::clone(&key.namespace), used),
    };
}

/// Applies a change of a quota. No binding becomes due: a binding without enough quota is retried
/// periodically.
fn quota(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    match read(fleet, key, object, |object| Quota::read(key, object)) {
        Some(quota) => fleet.quotas.insert(key.clone(), Arc::new(quota)),
        None => fleet.quotas.remove(key),
    };
    Consequences::nothing()
}

/// Applies a change of a policy. No binding becomes due: the detector copies the placement of the policy into
/// bindings, and a changed binding is due.
fn policy(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let new = read(fleet, key, object, |object| PolicyRecord::read(key, object));
    fleet.policies.replace(key, new.map(Arc::new));
    Consequences::nothing()
}

/// Applies a change of the configuration. If it is invalid, the last valid configuration stays in force.
fn configuration(fleet: &mut Fleet, key: &Key, object: Option<&Arc<Object>>) -> Consequences {
    let path = format!("spec.{DIALECT}");
    let parsed_settings = read(fleet, key, object, |object| {
        let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
        config::read(spec, &path).map_err(|errors| berth_apimachinery::field::aggregate(&errors))
    });
    let settings = match (parsed_settings, object) {
        (Some(settings), _) => settings,
        (None, None) => Settings::default(),
        (None, Some(_)) => return Consequences::nothing(),
    };
    if fleet.settings == settings {
        return Consequences::nothing();
    }
    fleet.settings = settings;
    fleet.recent_loads = RecentLoads::default();
    if fleet.settings.counts_recent_loads {
        fleet
            .bindings
            .values()
            .for_each(|record| fleet.recent_loads.count(record, true));
    }
    Consequences {
        decide: AffectedDemands::All,
        // The setting of the schedulerName changes which bindings are decided.
        demands: AffectedDemands::All,
        targets: Some(Vec::new()),
    }
}
