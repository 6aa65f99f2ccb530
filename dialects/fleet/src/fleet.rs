//! The inventory of KubeFleet: all objects that decisions read. Records are stored in persistent maps, which
//! snapshots of the inventory share; columns ([`crate::columns`]) are derived from the clusters.

pub(crate) mod cluster;
mod due;
pub(crate) mod fold;
pub(crate) mod record;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use berth_apimachinery::{GroupResource, Key};
use berth_dialect_columns::UnusableObjects;

use crate::columns::Columns;
use crate::eligibility::Limits;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::{BindingRecord, PlacementRecord, SnapshotRecord};

/// The snapshots or the bindings of one placement, by name.
pub(crate) type ObjectsByName<T> = imbl::OrdMap<Arc<str>, Arc<T>>;

/// The inventory of KubeFleet: all objects that decisions read.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) placements: imbl::OrdMap<Key, Arc<PlacementRecord>>,
    /// The copies of statuses that should exist: pairs of a namespace and the name of the placement whose
    /// status is copied to it.
    status_copies: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    /// The snapshots, by the key of their placement. The placement need not exist.
    snapshots: imbl::HashMap<Key, ObjectsByName<SnapshotRecord>>,
    /// The bindings, by the key of their placement. The placement need not exist.
    bindings: imbl::HashMap<Key, ObjectsByName<BindingRecord>>,
    /// The key of the placement of each snapshot and binding.
    parents: imbl::HashMap<Key, Key>,
    /// The cluster, the placement and the name of every live binding.
    on_cluster: imbl::OrdSet<(Arc<str>, Key, Arc<str>)>,
    /// The number of live bindings of each placement.
    live_by_placement: imbl::HashMap<Key, usize>,
    /// The number of live bindings of each cluster, by cluster name.
    pub(crate) live_by_cluster: imbl::HashMap<Arc<str>, u32>,
    /// Limits on the age of the last heartbeat and on the duration of bad health.
    pub(crate) limits: Limits,
    /// Objects that could not be parsed.
    pub(crate) unusable: UnusableObjects,
    /// The columns of all clusters; empty after clusters were added or removed, until the next read.
    columns: OnceLock<Arc<Columns>>,
}

impl Fleet {
    /// The columns of all clusters.
    pub(crate) fn columns(&self) -> &Arc<Columns> {
        self.columns
            .get_or_init(|| Arc::new(Columns::build(self.clusters.values())))
    }

    /// The snapshots of `placement`, by name.
    pub(crate) fn snapshots_of(&self, placement: &Key) -> impl Iterator<Item = &Arc<SnapshotRecord>> {
        let own = self.snapshots.get(placement).into_iter();
        own.flat_map(|own| own.values())
    }

    /// The bindings of `placement`, by name.
    pub(crate) fn bindings_of(&self, placement: &Key) -> impl Iterator<Item = &Arc<BindingRecord>> {
        let own = self.bindings.get(placement).into_iter();
        own.flat_map(|own| own.values())
    }

    /// The bindings of `placement` in the order of cluster names, one for each cluster: of several bindings
    /// to a cluster, the binding in the first [`phase`](BindingRecord::phase).
    pub(crate) fn bindings_by_cluster(&self, placement: &Key) -> Vec<&Arc<BindingRecord>> {
        let mut bindings: Vec<&Arc<BindingRecord>> = self.bindings_of(placement).collect();
        bindings.sort_by(|a, b| a.cluster.cmp(&b.cluster).then_with(|| a.phase().cmp(&b.phase())));
        bindings.dedup_by(|later, first| later.cluster == first.cluster);
        bindings
    }

    /// The copies of statuses that should exist: pairs of a namespace and the name of a placement.
    pub(crate) fn status_copies(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.status_copies
            .iter()
            .map(|(namespace, placement)| (namespace, placement))
    }

    /// The names of the placements whose status is copied to `namespace`.
    pub(crate) fn status_copies_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let entries = self.status_copies.range((Arc::from(namespace), Arc::from(""))..);
        let own = entries.take_while(move |(copy_namespace, _)| **copy_namespace == *namespace);
        own.map(|(_, placement)| placement)
    }

    /// Whether there is a snapshot or a binding at `key`, even one that cannot be parsed.
    pub(crate) fn has_object(&self, key: &Key) -> bool {
        self.parents.contains_key(key) || self.unusable.contains(key)
    }

    /// The live bindings to `cluster`: pairs of the placement and the name of the binding.
    pub(crate) fn bound_to<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = (&'a Key, &'a Arc<str>)> {
        let first = (
            Arc::from(cluster),
            Key::new(GroupResource::new("", ""), "", ""),
            Arc::from(""),
        );
        let entries = self
            .on_cluster
            .range(first..)
            .take_while(move |(on, _, _)| **on == *cluster);
        entries.map(|(_, placement, binding)| (placement, binding))
    }

    /// The newest snapshot of `placement` that is not being deleted.
    pub(crate) fn newest_snapshot(&self, placement: &Key) -> Option<&Arc<SnapshotRecord>> {
        let staying = self
            .snapshots_of(placement)
            .filter(|snapshot| !snapshot.deleting());
        staying.max_by_key(|snapshot| snapshot.index)
    }
}
