//! All objects of a control plane that decisions read. The parsed objects are stored in persistent maps,
//! which snapshots share.

mod due;
pub(crate) mod fold;
pub(crate) mod policies;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_columns::UnusableObjects;

use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::config::Settings;
use crate::fleet::policies::Policies;
use crate::fnv;
use crate::names::{BINDINGS, DIALECT, QUOTAS};
use crate::question::{Neighbors, Peers};
use crate::quota::{self, Excess, Quota, Usage};
use crate::recent_loads::RecentLoads;
use crate::record::Record;

/// Number of fences for the room of all clusters. etcd refuses a write with more than 128 conditions
/// (`--max-txn-ops`), and a binding can have thousands of clusters. Of two decisions at once about different
/// clusters with one fence, the second is made again without need.
const ROOM_FENCES: u32 = 64;

/// All objects of a control plane that decisions read.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    /// The clusters, by name.
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    /// The bindings, by key.
    pub(crate) bindings: imbl::OrdMap<Key, Arc<Record>>,
    /// The pairs of cluster and binding, one for every cluster that a binding lists.
    pub(crate) bindings_by_cluster: imbl::OrdSet<(Arc<str>, Key)>,
    /// The policies, for the detector.
    pub(crate) policies: Policies,
    /// The quotas, by key.
    pub(crate) quotas: imbl::OrdMap<Key, Arc<Quota>>,
    /// The amounts that the bindings of each namespace request on their clusters.
    pub(crate) used: imbl::OrdMap<Arc<str>, Usage>,
    /// The load that was recently placed on clusters; empty if the settings do not count recent load.
    pub(crate) recent_loads: RecentLoads,
    /// The settings in force.
    pub(crate) settings: Settings,
    /// The objects that cannot be parsed, with the reasons.
    pub(crate) unusable: UnusableObjects,
    /// The clusters as columns; empty if a cluster was added or deleted since the last read.
    columns: OnceLock<Arc<Columns>>,
}

impl Fleet {
    /// The clusters as columns.
    pub(crate) fn columns(&self) -> &Columns {
        self.columns
            .get_or_init(|| Arc::new(Columns::build(self.clusters.values())))
    }

    /// The bindings that list the cluster `name`.
    pub(crate) fn bindings_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Key> {
        let first = (Arc::from(name), Key::new(crate::names::CLUSTER_BINDINGS, "", ""));
        let entries = self.bindings_by_cluster.range(first..);
        entries
            .take_while(move |(cluster, _)| **cluster == *name)
            .map(|(_, key)| key)
    }

    /// The quotas of `namespace`; empty if quotas are not enforced.
    fn quotas_of<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a Key, &'a Quota)> {
        let all = self.quotas.range(Key::new(QUOTAS, namespace, "")..);
        let of_namespace = all.take_while(move |(key, _)| *key.namespace == *namespace);
        of_namespace
            .filter(move |_| self.settings.enforces_quotas)
            .map(|(key, quota)| (key, &**quota))
    }

    /// The fence of the quotas that limit the binding at `key`, if there are any. The bindings of a namespace
    /// all count the same quotas.
    pub(crate) fn quota_fence(&self, key: &Key) -> Option<Arc<str>> {
        let is_limited = key.resource == BINDINGS && self.quotas_of(&key.namespace).next().is_some();
        is_limited.then(|| format!("{DIALECT}/{}/{}", QUOTAS.resource, key.namespace).into())
    }

    /// The fences of the room of `clusters`; empty if recent load is not counted.
    pub(crate) fn room_fences<'a>(&self, clusters: impl Iterator<Item = &'a str>) -> Vec<Arc<str>> {
        let numbers: BTreeSet<u32> = clusters
            .filter(|_| self.settings.counts_recent_loads)
            .map(|name| fnv::hash(name) % ROOM_FENCES)
            .collect();
        let fence = |number: u32| -> Arc<str> { format!("{DIALECT}/room/{number}").into() };
        numbers.into_iter().map(fence).collect()
    }

    /// The quota that would be exceeded if `record`, the binding at `key`, had `replicas` on its clusters.
    pub(crate) fn excess(&self, key: &Key, record: &Record, replicas: i64) -> Option<Excess> {
        if key.resource != BINDINGS {
            return None;
        }
        let usage = |replicas| quota::usage(record.request.as_ref(), replicas);
        let (before, after) = (usage(quota::listed_replicas(&record.spec)), usage(replicas));
        let none = Usage::new();
        let used = self.used.get(&key.namespace).unwrap_or(&none);
        let quotas = self.quotas_of(&key.namespace);
        quota::excess(
            quotas.map(|(key, quota)| (&key.name, quota)),
            used,
            &before,
            &after,
        )
    }

    /// The other workloads that affect the decision on `record`, the binding at `key`. The load of recently
    /// placed workloads counts as of `now`; if `now` is `None`, it does not count.
    pub(crate) fn neighbors(&self, key: &Key, record: &Record, now: Option<Timestamp>) -> Neighbors {
        let loads = now.map(|now| self.recent_loads.at(now)).unwrap_or_default();
        let request = record.request.as_ref();
        Neighbors {
            taken: loads
                .into_iter()
                .map(|(cluster, load)| (cluster, load.replicas(request)))
                .collect(),
            affinity_peers: self.peers(key, record, |record| {
                let groups = record.spec.workload_affinity_groups.as_ref();
                groups.map_or("", |groups| groups.affinity_group.as_str())
            }),
            anti_affinity_peers: self.peers(key, record, |record| {
                let groups = record.spec.workload_affinity_groups.as_ref();
                groups.map_or("", |groups| groups.anti_affinity_group.as_str())
            }),
        }
    }

    /// The clusters of the other workloads in the namespace of `key` that are in the group of `record`.
    /// `group` returns the name of a workload's group. Empty if `record` is in no group, or workload affinity
    /// is off.
    fn peers(&self, key: &Key, record: &Record, group: fn(&Record) -> &str) -> Peers {
        let name = group(record);
        if name.is_empty() || !self.settings.workload_affinity {
            return Peers::new();
        }
        let first = Key::new(key.resource, &key.namespace, "");
        let others = self
            .bindings
            .range(first..)
            .take_while(|(other, _)| other.resource == key.resource && other.namespace == key.namespace);
        others
            .filter(|(other, record)| *other != key && group(record) == name)
            .map(|(_, record)| {
                let targets = record.spec.clusters.iter();
                targets
                    .map(|target| Arc::from(target.name.as_str()))
                    .collect::<BTreeSet<_>>()
            })
            .collect()
    }
}
