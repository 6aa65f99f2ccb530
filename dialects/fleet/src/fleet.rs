//! All objects of a hub that the dialect knows. Records are stored in persistent maps and shared between
//! snapshots; columns ([`crate::columns`]) are derived from the clusters.

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

/// The objects of one placement, by name.
pub(crate) type ObjectsByName<T> = imbl::OrdMap<Arc<str>, Arc<T>>;

/// All objects of a hub that the dialect knows.
#[derive(Clone, Default)]
pub(crate) struct Fleet {
    pub(crate) clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) placements: imbl::OrdMap<Key, Arc<PlacementRecord>>,
    /// The placements whose status is copied to a namespace: each namespace with the name of a placement.
    shown: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    /// The snapshots by the key of their placement, which need not exist.
    snapshots: imbl::HashMap<Key, ObjectsByName<SnapshotRecord>>,
    /// The bindings by the key of their placement, which need not exist.
    bindings: imbl::HashMap<Key, ObjectsByName<BindingRecord>>,
    /// The placement of each snapshot and binding. Their names are unique among the placements of a form in
    /// a namespace.
    parents: imbl::HashMap<Key, Key>,
    /// Cluster, placement and name of every live binding.
    on_cluster: imbl::OrdSet<(Arc<str>, Key, Arc<str>)>,
    /// Number of live bindings of each placement.
    held: imbl::HashMap<Key, usize>,
    /// Number of live bindings of each cluster.
    pub(crate) tally: imbl::HashMap<Arc<str>, u32>,
    /// Limits on missing heartbeats and on bad health.
    pub(crate) limits: Limits,
    pub(crate) unusable: UnusableObjects,
    /// The columns; empty when clusters were added or removed since the last read.
    columns: OnceLock<Arc<Columns>>,
}

impl Fleet {
    /// The columns.
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

    /// One binding of `placement` for each cluster, by cluster name: of several bindings to a cluster, the
    /// binding with the strongest [`hold`](BindingRecord::hold).
    pub(crate) fn places_of(&self, placement: &Key) -> Vec<&Arc<BindingRecord>> {
        let mut places: Vec<&Arc<BindingRecord>> = self.bindings_of(placement).collect();
        places.sort_by(|a, b| a.cluster.cmp(&b.cluster).then_with(|| a.hold().cmp(&b.hold())));
        places.dedup_by(|later, first| later.cluster == first.cluster);
        places
    }

    /// The placements whose status is copied to a namespace, each with the namespace.
    pub(crate) fn all_shown(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.shown
            .iter()
            .map(|(namespace, placement)| (namespace, placement))
    }

    /// The placements whose status is copied to `namespace`.
    pub(crate) fn shown_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let entries = self.shown.range((Arc::from(namespace), Arc::from(""))..);
        let own = entries.take_while(move |(shown_in, _)| **shown_in == *namespace);
        own.map(|(_, placement)| placement)
    }

    /// Whether there is a snapshot or binding at `key`, including one that cannot be parsed.
    pub(crate) fn has_object(&self, key: &Key) -> bool {
        self.parents.contains_key(key) || self.unusable.contains(key)
    }

    /// The live bindings on `cluster`, each with its placement.
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
