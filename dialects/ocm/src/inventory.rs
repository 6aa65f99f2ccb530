//! Everything the dialect knows of a hub. Records are kept in persistent maps and shared between snapshots; columns
//! ([`crate::fleet`]) are derived from them.

mod due;
mod fold;
mod view;

use std::sync::{Arc, OnceLock};

use dialect_columns::UnusableObjects;
use dialect_contract::{
    Ask, Decision, DemandView, Due, Edit, Inventory, Refused, Reserved, TargetView, Unusable, Write,
};
use meta::{Change, Key, Object, Timestamp};
use scheduling::{Ix, Reason};
use serde_json::json;

use crate::cel;
use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::fleet::moved::Records;
use crate::names::{CLUSTERS, PLACEMENTS};
use crate::record::{ClusterSet, DecisionRecord, PlacementRecord, Scores};
use crate::tally::Tally;
use crate::{decide, pipeline, writes};

/// Everything the dialect knows of a hub.
#[derive(Clone, Default)]
pub(crate) struct Hub {
    /// Compiled expressions, shared by all snapshots.
    cache: Arc<cel::Cache>,
    clusters: imbl::OrdMap<Arc<str>, Arc<Cluster>>,
    pub(crate) sets: imbl::OrdMap<Arc<str>, Arc<ClusterSet>>,
    /// Namespace and name of every binding.
    bindings: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    /// Set and namespace of every binding.
    bound: imbl::OrdSet<(Arc<str>, Arc<str>)>,
    pub(crate) placements: imbl::OrdMap<Key, Arc<PlacementRecord>>,
    pub(crate) decisions: imbl::OrdMap<Key, Arc<DecisionRecord>>,
    /// Namespace, placement and name of every PlacementDecision with a placement label.
    owned: imbl::OrdSet<(Arc<str>, Arc<str>, Arc<str>)>,
    scores: imbl::OrdMap<Key, Arc<Scores>>,
    pub(crate) tally: Tally,
    unusable: UnusableObjects,
    /// The columns; empty when clusters came or went since the last read.
    fleet: OnceLock<Arc<Fleet>>,
    /// The columns before that, up to date but for the clusters in `moved`.
    before: Option<Arc<Fleet>>,
    /// The clusters that came or went since `before`.
    moved: imbl::OrdSet<Arc<str>>,
}

impl Hub {
    /// The columns.
    pub(crate) fn fleet(&self) -> &Arc<Fleet> {
        self.fleet.get_or_init(|| {
            if let Some(before) = &self.before {
                let records = Records {
                    clusters: &self.clusters,
                    sets: &self.sets,
                    scores: &self.scores,
                    tally: &self.tally,
                };
                return Arc::new(before.moved(self.moved.iter(), &records));
            }
            let scores = self.scores.values();
            Arc::new(Fleet::build(
                self.clusters.values(),
                self.sets.iter(),
                scores,
                &self.tally,
            ))
        })
    }

    /// The columns for changing, where they are built: what is not built will be, from the records.
    fn fleet_mut(&mut self) -> Option<&mut Fleet> {
        if self.fleet.get().is_some() {
            self.before = None;
            self.moved.clear();
            return self.fleet.get_mut().map(Arc::make_mut);
        }
        self.before.as_mut().map(Arc::make_mut)
    }

    /// Takes in that the cluster `name` came or went: candidates are numbered anew at the next read.
    fn renumber(&mut self, name: &Arc<str>) {
        if let Some(fleet) = self.fleet.take() {
            self.before = Some(fleet);
            self.moved.clear();
        }
        let Some(before) = &self.before else { return };
        self.moved.insert(Arc::clone(name));
        // When half of the fleet is new, building is less work than moving.
        if self.moved.len() > before.rows.len() / 2 + 64 {
            self.before = None;
            self.moved.clear();
        }
    }

    /// The sets bound to `namespace` that exist, in name order.
    pub(crate) fn bound_sets(&self, namespace: &Arc<str>) -> Vec<Arc<str>> {
        self.bindings
            .range((Arc::clone(namespace), Arc::from(""))..)
            .take_while(|(of, _)| of == namespace)
            .filter(|(_, set)| self.sets.contains_key(set))
            .map(|(_, set)| Arc::clone(set))
            .collect()
    }

    /// The PlacementDecisions of a placement, in the order of their numbers.
    pub(crate) fn own_decisions(&self, placement: &Key) -> Vec<&Arc<DecisionRecord>> {
        let (namespace, name) = (&placement.namespace, &placement.name);
        let mut names: Vec<&Arc<str>> = self
            .owned
            .range((Arc::clone(namespace), Arc::clone(name), Arc::from(""))..)
            .take_while(|(of, owner, _)| of == namespace && owner == name)
            .map(|(_, _, decision)| decision)
            .collect();
        // `-decision-10` comes after `-decision-9`.
        names.sort_by_key(|name| (name.len(), Arc::clone(name)));
        names
            .into_iter()
            .filter_map(|name| self.decisions.get(&decision_key(namespace, name)))
            .collect()
    }

    /// The placements of `namespace`.
    fn placements_in<'a>(
        &'a self,
        namespace: &'a Arc<str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<PlacementRecord>)> {
        let first = Key {
            resource: PLACEMENTS,
            namespace: Arc::clone(namespace),
            name: Arc::from(""),
        };
        self.placements
            .range(first..)
            .take_while(move |(key, _)| key.namespace == *namespace)
    }
}

/// The key of a PlacementDecision.
pub(crate) fn decision_key(namespace: &Arc<str>, name: &Arc<str>) -> Key {
    Key {
        resource: crate::names::DECISIONS,
        namespace: Arc::clone(namespace),
        name: Arc::clone(name),
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

    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        view::target(self, self.fleet().row(candidate))
    }

    fn target_of(&self, cluster_name: &str, _now: Timestamp) -> Option<(String, TargetView)> {
        let cluster = self.clusters.get(cluster_name)?;
        Some((cluster_name.to_owned(), view::target(self, cluster)))
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
        writes::conditions(self, decision)
    }

    fn notes(&self, decision: &Decision, wrote: bool) -> Vec<dialect_contract::Note> {
        crate::notes::notes(self, decision, wrote)
    }

    /// The decisions of a placement are its scheduler's, unless the placement leaves them to others.
    fn reserved(&self, resource: meta::GroupResource, object: &serde_json::Value) -> Option<Reserved> {
        if resource != crate::names::DECISIONS {
            return None;
        }
        let metadata = &object["metadata"];
        let name = metadata["labels"][crate::names::PLACEMENT_LABEL].as_str()?;
        let placement = Key::new(PLACEMENTS, metadata["namespace"].as_str()?, name);
        let record = self.placements.get(&placement);
        if record.is_some_and(|record| record.disabled()) {
            return None;
        }
        Some(Reserved {
            whose: format!("Placement \"{name}\""),
            is_known: record.is_some(),
        })
    }

    /// A taint that no placement tolerates by key drops the cluster from every decision.
    fn drain(&self, cluster_name: &str, now: Timestamp) -> Option<Vec<Edit>> {
        let cluster = self.clusters.get(cluster_name)?.object.parse();
        let mut taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.push(json!({
            "key": "berth.dev/drain", "effect": "NoSelect", "timeAdded": meta::time::rfc3339(now),
        }));
        Some(vec![Edit::Merge {
            key: Key::new(CLUSTERS, "", cluster_name),
            patch: json!({"spec": {"taints": taints}}),
        }])
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(self, decision)
    }
}
