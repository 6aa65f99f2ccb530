//! Everything the dialect knows of a hub. Records are kept in persistent maps and shared between snapshots; columns
//! ([`crate::fleet`]) are derived from the clusters.

mod due;
mod fold;
#[cfg(test)]
mod tests;
mod view;

use std::sync::{Arc, OnceLock};

use dialect_columns::UnusableObjects;
use dialect_contract::{
    Ask, Decision, DemandView, Due, Edit, Inventory, Refused, TargetView, Unusable, Write,
};
use meta::{Change, Key, Object, Timestamp};
use scheduling::{Ix, Reason};
use serde_json::json;

use crate::cluster::Cluster;
use crate::eligibility::Limits;
use crate::fleet::Fleet;
use crate::names::{BINDINGS, CLUSTERS};
use crate::record::{BindingRecord, PlacementRecord, SnapshotRecord};
use crate::{decide, pipeline, writes};

/// The objects of one placement, by name.
pub(crate) type Own<T> = imbl::OrdMap<Arc<str>, Arc<T>>;

/// Everything the dialect knows of a hub.
#[derive(Clone, Default)]
pub(crate) struct Hub {
    clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) placements: imbl::OrdMap<Key, Arc<PlacementRecord>>,
    /// The snapshots of each placement, there or not.
    snapshots: imbl::HashMap<Arc<str>, Own<SnapshotRecord>>,
    /// The bindings of each placement, there or not.
    bindings: imbl::HashMap<Arc<str>, Own<BindingRecord>>,
    /// The placement of each snapshot and binding: names are unique across placements.
    parents: imbl::HashMap<Key, Arc<str>>,
    /// Cluster, placement and name of every live binding.
    on_cluster: imbl::OrdSet<(Arc<str>, Arc<str>, Arc<str>)>,
    /// How many live bindings each placement has.
    held: imbl::HashMap<Arc<str>, usize>,
    /// How many live bindings each cluster has.
    tally: imbl::HashMap<Arc<str>, u32>,
    /// How long silence and ill health are put up with.
    pub(crate) limits: Limits,
    unusable: UnusableObjects,
    /// The columns; empty when clusters came or went since the last read.
    fleet: OnceLock<Arc<Fleet>>,
}

impl Hub {
    /// The columns.
    pub(crate) fn fleet(&self) -> &Arc<Fleet> {
        self.fleet
            .get_or_init(|| Arc::new(Fleet::build(self.clusters.values())))
    }

    /// The snapshots of the placement `name`, by name.
    pub(crate) fn snapshots_of(&self, name: &str) -> impl Iterator<Item = &Arc<SnapshotRecord>> {
        self.snapshots.get(name).into_iter().flat_map(|own| own.values())
    }

    /// The bindings of the placement `name`, by name.
    pub(crate) fn bindings_of(&self, name: &str) -> impl Iterator<Item = &Arc<BindingRecord>> {
        self.bindings.get(name).into_iter().flat_map(|own| own.values())
    }

    /// Whether there is an object at `key`, readable or not.
    pub(crate) fn taken(&self, key: &Key) -> bool {
        self.parents.contains_key(key) || self.unusable.contains(key)
    }

    /// The newest snapshot of the placement `name` that stays.
    pub(crate) fn newest_snapshot(&self, name: &str) -> Option<&Arc<SnapshotRecord>> {
        let staying = self.snapshots_of(name).filter(|snapshot| !snapshot.deleting());
        staying.max_by_key(|snapshot| snapshot.index)
    }
}

impl Inventory for Hub {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }

    fn fold(&mut self, change: &Change) -> Due {
        fold::fold(self, change)
    }

    fn unusable(&self) -> Vec<Unusable> {
        self.unusable.list()
    }

    fn count(&self) -> Ix {
        Ix::try_from(self.clusters.len()).unwrap_or(Ix::MAX)
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        Arc::clone(&self.fleet().row(candidate).name)
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        self.fleet().candidate(cluster_name)
    }

    fn target(&self, candidate: Ix, now: Timestamp) -> TargetView {
        view::target(self, self.fleet().row(candidate), now)
    }

    fn target_of(&self, cluster_name: &str, now: Timestamp) -> Option<(String, TargetView)> {
        let cluster = self.clusters.get(cluster_name)?;
        Some((cluster_name.to_owned(), view::target(self, cluster, now)))
    }

    fn demands(&self) -> Vec<Key> {
        self.placements.keys().cloned().collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.placements
            .get(demand)
            .map(|record| Arc::clone(&record.object))
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        self.placements
            .get(demand)
            .map(|record| view::demand(self, demand, record))
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, Refused>> {
        self.placements
            .get(ask.demand)
            .map(|record| decide::decide(self, record, ask))
    }

    fn filters(&self) -> &'static [&'static str] {
        &pipeline::FILTERS
    }

    fn reason(
        &self,
        decision: &Decision,
        candidate: Ix,
        plugin: u16,
        reason: Reason,
    ) -> (&'static str, String) {
        decide::text::reason(self, decision, candidate, plugin, reason)
    }

    fn not_picked(&self, decision: &Decision, candidate: Ix) -> (&'static str, String) {
        decide::text::not_picked(decision, candidate)
    }

    fn message(&self, decision: &Decision) -> String {
        decide::text::message(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<serde_json::Value> {
        writes::conditions(decision)
    }

    /// A taint keeps new placements away, and every binding to the cluster is evicted, which is to delete it.
    fn drain(&self, cluster_name: &str, now: Timestamp) -> Option<Vec<Edit>> {
        let cluster = self.clusters.get(cluster_name)?.object.parse();
        let mut taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.push(json!({
            "key": "berth.dev/drain", "effect": "NoSchedule", "timeAdded": meta::time::rfc3339(now),
        }));
        let cordon = Edit::Merge {
            key: Key::new(CLUSTERS, "", cluster_name),
            patch: json!({"spec": {"taints": taints}}),
        };
        let first = (Arc::from(cluster_name), Arc::from(""), Arc::from(""));
        let bindings = self
            .on_cluster
            .range(first..)
            .take_while(|(on, _, _)| **on == *cluster_name)
            .map(|(_, _, binding)| Edit::Delete(Key::new(BINDINGS, "", binding)));
        Some(std::iter::once(cordon).chain(bindings).collect())
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(self, decision)
    }
}
