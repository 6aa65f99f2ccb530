//! Everything the dialect knows of a control plane. Records are kept in persistent maps and shared between
//! snapshots.

mod due;
pub(crate) mod fold;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use berth_apimachinery::Key;
use berth_dialect_columns::UnusableObjects;

use crate::cluster::Cluster;
use crate::config::Settings;
use crate::question::{Around, Peers};
use crate::record::Record;

/// Everything the dialect knows of a control plane.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) bindings: imbl::OrdMap<Key, Arc<Record>>,
    /// Cluster and binding of every place.
    pub(crate) on_cluster: imbl::OrdSet<(Arc<str>, Key)>,
    pub(crate) settings: Settings,
    pub(crate) unusable: UnusableObjects,
    /// The clusters by number; empty when any changed since the last read.
    rows: OnceLock<Arc<Vec<Arc<Cluster>>>>,
}

impl Fleet {
    /// The clusters by number, in the order of names.
    pub(crate) fn rows(&self) -> &Arc<Vec<Arc<Cluster>>> {
        self.rows
            .get_or_init(|| Arc::new(self.clusters.values().cloned().collect()))
    }

    /// The bindings that are on the cluster `name`.
    pub(crate) fn bindings_on<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Key> {
        let first = (Arc::from(name), Key::new(crate::names::CLUSTER_BINDINGS, "", ""));
        let entries = self.on_cluster.range(first..);
        entries
            .take_while(move |(cluster, _)| **cluster == *name)
            .map(|(_, key)| key)
    }

    /// Other workloads that the binding at `key`, which is `record`, looks at.
    pub(crate) fn around(&self, key: &Key, record: &Record) -> Around {
        Around {
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

    /// Places of other workloads in the namespace of `key` for which `group` gives the name that it gives for
    /// `record`; none without a name, or where workloads do not look at one another.
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
