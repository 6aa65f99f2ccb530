//! All objects of a control plane that the dialect knows. Records are stored in persistent maps and shared
//! between snapshots.

mod due;
pub(crate) mod fold;
pub(crate) mod policies;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_columns::UnusableObjects;
use berth_dialect_contract::guarded::fence;

use crate::cluster::Cluster;
use crate::columns::Columns;
use crate::config::Settings;
use crate::fleet::policies::Policies;
use crate::names::{BINDINGS, CLUSTERS, DIALECT, QUOTAS};
use crate::question::{Around, Peers};
use crate::quota::{self, Excess, Quota, Usage};
use crate::recent_loads::RecentLoads;
use crate::record::Record;

/// All objects of a control plane that the dialect knows.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) bindings: imbl::OrdMap<Key, Arc<Record>>,
    /// The pairs of cluster and binding, one pair for every listed cluster of a binding.
    pub(crate) on_cluster: imbl::OrdSet<(Arc<str>, Key)>,
    pub(crate) policies: Policies,
    pub(crate) quotas: imbl::OrdMap<Key, Arc<Quota>>,
    /// Amounts that the bindings of each namespace request.
    pub(crate) used: imbl::OrdMap<Arc<str>, Usage>,
    /// Load that was recently placed on clusters; empty if the settings do not count it.
    pub(crate) lately: RecentLoads,
    pub(crate) settings: Settings,
    pub(crate) unusable: UnusableObjects,
    /// The columns; empty if clusters were added or deleted since the last read.
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
        let entries = self.on_cluster.range(first..);
        entries
            .take_while(move |(cluster, _)| **cluster == *name)
            .map(|(_, key)| key)
    }

    /// The quotas of a namespace; none if quotas are not enforced.
    fn quotas_of<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a Key, &'a Quota)> {
        let all = self.quotas.range(Key::new(QUOTAS, namespace, "")..);
        let of_namespace = all.take_while(move |(key, _)| *key.namespace == *namespace);
        of_namespace
            .filter(move |_| self.settings.enforces_quotas)
            .map(|(key, quota)| (key, &**quota))
    }

    /// Fences of the quotas that limit the binding at `key`.
    pub(crate) fn quota_fences(&self, key: &Key) -> Vec<Arc<str>> {
        let quotas = self
            .quotas_of(&key.namespace)
            .filter(|_| key.resource == BINDINGS);
        quotas.map(|(quota, _)| fence(DIALECT, quota)).collect()
    }

    /// Fences of the room of `clusters`, if recently placed load is counted.
    pub(crate) fn room_fences<'a>(&self, clusters: impl Iterator<Item = &'a str>) -> Vec<Arc<str>> {
        clusters
            .filter(|_| self.settings.counts_lately)
            .map(|name| fence(DIALECT, &Key::new(CLUSTERS, "", name)))
            .collect()
    }

    /// The quota that `replicas` of `record`, the binding at `key`, would exceed.
    pub(crate) fn excess(&self, key: &Key, record: &Record, replicas: i64) -> Option<Excess> {
        if key.resource != BINDINGS {
            return None;
        }
        let usage = |replicas| quota::usage(record.request.as_ref(), replicas);
        let (before, after) = (usage(quota::listed(&record.spec)), usage(replicas));
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

    /// The other workloads that matter to `record`, the binding at `key`. The load of recently placed
    /// workloads is the load at `now`, and is left out if `now` is `None`.
    pub(crate) fn around(&self, key: &Key, record: &Record, now: Option<Timestamp>) -> Around {
        let loads = now.map(|now| self.lately.at(now)).unwrap_or_default();
        let request = record.request.as_ref();
        Around {
            taken: loads
                .into_iter()
                .map(|(cluster, load)| (cluster, load.replicas(request)))
                .collect(),
            together: self.peers(key, record, |record| {
                let groups = record.spec.workload_affinity_groups.as_ref();
                groups.map_or("", |groups| groups.affinity_group.as_str())
            }),
            apart: self.peers(key, record, |record| {
                let groups = record.spec.workload_affinity_groups.as_ref();
                groups.map_or("", |groups| groups.anti_affinity_group.as_str())
            }),
        }
    }

    /// Places of other workloads in the namespace of `key` that are in the same group as `record`, where
    /// `group` returns the name of the group. Empty if `record` is in no group, or workload affinity is off.
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
