//! The fleet as an [`Inventory`].

mod view;

use crate::code::{Code, Plugin};
use crate::names::{CLUSTERS, PLACEMENTS};
use crate::{decide, known_difference, remedies, warnings, words, writes};
use berth_apimachinery::selector::{Requirement, Selector};
use berth_apimachinery::{Change, Key, Object, Timestamp};
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{
    Advisor, Ask, ChoiceRefusal, Consequences, Control, Decision, DemandView, Edit, Guards, Inventory,
    Remedy, ReservedDecision, TargetView, Targets, UnusableObject, Words, Write, taints,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::json;
use std::sync::Arc;

use crate::fleet::{Fleet, fold};

/// Number of clusters that filters over columns judge in the time of one comparison of fields
/// (docs/benchmarks/scheduling.md).
const CLUSTERS_PER_COMPARISON: u32 = 5;

impl Inventory for Fleet {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }

    fn fold(&mut self, change: &Change) -> Consequences {
        fold::fold(self, change)
    }

    fn unusable(&self) -> Vec<UnusableObject> {
        self.unusable.list()
    }

    fn problem(&self, key: &Key) -> Option<String> {
        self.unusable.problem(key)
    }

    /// Filters over columns are faster than comparisons of fields. An expression is slower: on one cluster,
    /// it may take as long as such filters on thousands of clusters, so the cost has no bound.
    fn effort(&self, demand: &Key) -> u32 {
        let record = self.placements.get(demand);
        if record.is_some_and(|record| record.policy.uses_cel()) {
            u32::MAX
        } else {
            self.count() / CLUSTERS_PER_COMPARISON
        }
    }

    fn derive(&self) {
        self.columns();
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

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        self.placements
            .get(ask.demand)
            .map(|record| decide::decide(self, record, ask))
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(self, decision)
    }

    fn control(&self) -> &dyn Control {
        self
    }

    fn advisor(&self) -> &dyn Advisor {
        self
    }

    fn guarding(&self) -> &dyn Guards {
        self
    }
}

impl Targets for Fleet {
    fn count(&self) -> Ix {
        Ix::try_from(self.clusters.len()).unwrap_or(Ix::MAX)
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        Arc::clone(&self.columns().row(candidate).name)
    }

    fn has_plain_names(&self) -> bool {
        true
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        self.columns().candidate(cluster_name)
    }

    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        view::target(self, self.columns().row(candidate))
    }

    fn target_of(&self, cluster_name: &str, _now: Timestamp) -> Option<(String, TargetView)> {
        let cluster = self.clusters.get(cluster_name)?;
        Some((cluster_name.to_owned(), view::target(self, cluster)))
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        Code::of_reason(reason).name()
    }

    fn sentence(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        words::refusal(self, decision, candidate, Code::of_reason(reason))
    }

    /// The filter ClusterSet: a cluster is in scope if it is in one of the placement's sets.
    fn scope(&self) -> Option<u16> {
        Some(Plugin::ClusterSet.number())
    }

    fn steps(&self, reason: Reason) -> usize {
        match Code::of_reason(reason) {
            // A deletion cannot be undone.
            Code::Terminating => FINAL,
            Code::NotInSet
            | Code::Unreadable
            | Code::PredicateMismatch
            | Code::ExpressionTooCostly
            | Code::Untolerated => 1,
        }
    }

    fn asked_labels<'a>(&'a self, decision: &'a Decision, filter: u16) -> Option<&'a Selector> {
        (filter == Plugin::Predicate.number())
            .then(|| words::asked_labels(decision))
            .flatten()
    }

    fn meeting(&self, asked: &Requirement) -> Option<Vec<u64>> {
        let selector = Selector {
            requirements: vec![asked.clone()],
        };
        let meeting = self.columns().labels.select(&selector, self.count());
        Some(meeting.words().to_vec())
    }

    fn label(&self, candidate: Ix, key: &str) -> Option<&str> {
        self.columns().row(candidate).labels().get(key)
    }

    fn score_message(&self, decision: &Decision, candidate: Ix, scorer: u16) -> Option<String> {
        warnings::score_message(self, decision, candidate, scorer)
    }

    fn warnings(&self, decision: &Decision) -> Vec<String> {
        warnings::all(self, decision)
    }

    fn known_difference(&self, decision: &Decision) -> Option<&'static str> {
        known_difference::find(self, decision)
    }

    fn alike(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> Option<u32> {
        words::alike(self, decision, candidate, Code::of_reason(reason))
    }

    fn not_picked(&self, decision: &Decision, candidate: Ix, rank: Option<usize>) -> (&'static str, String) {
        words::not_picked(self, decision, candidate, rank)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<serde_json::Value> {
        writes::conditions(self, decision)
    }
}

impl Control for Fleet {
    fn notes(&self, decision: &Decision, wrote: bool) -> Option<Vec<berth_dialect_contract::Note>> {
        Some(crate::notes::notes(self, decision, wrote))
    }
}

impl Advisor for Fleet {
    /// Proposes a taint with the key `berth.dev/drain`, which removes the cluster from the decisions of all
    /// placements that do not tolerate it.
    fn drain(&self, cluster_name: &str, now: Timestamp) -> Option<Vec<Edit>> {
        let taint = json!({
            "key": "berth.dev/drain", "effect": "NoSelect", "timeAdded": berth_apimachinery::time::rfc3339(now),
        });
        let object = &self.clusters.get(cluster_name)?.object;
        let key = Key::new(CLUSTERS, "", cluster_name);
        Some(vec![taints::addition(key, object, taint)])
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}

impl Guards for Fleet {
    /// A PlacementDecision whose label names a Placement is reserved for the scheduler, unless that Placement
    /// leaves the decision to another scheduler.
    fn reserved(
        &self,
        resource: berth_apimachinery::GroupResource,
        object: &serde_json::Value,
    ) -> Option<ReservedDecision> {
        if resource != crate::names::DECISIONS {
            return None;
        }
        let placement = placement_of(object)?;
        let record = self.placements.get(&placement);
        if record.is_some_and(|record| record.disabled()) {
            return None;
        }
        Some(ReservedDecision {
            demand: format!("Placement \"{}\"", placement.name),
            is_known: record.is_some(),
        })
    }

    fn decisions_in(
        &self,
        resource: berth_apimachinery::GroupResource,
        old: Option<&serde_json::Value>,
        new: Option<&serde_json::Value>,
    ) -> Option<Vec<Key>> {
        let states = old.into_iter().chain(new);
        (resource == crate::names::DECISIONS).then(|| states.filter_map(placement_of).collect())
    }
}

/// The Placement of `decision`, a PlacementDecision, by its label.
fn placement_of(decision: &serde_json::Value) -> Option<Key> {
    let metadata = &decision["metadata"];
    let name = metadata["labels"][crate::names::PLACEMENT_LABEL].as_str()?;
    Some(Key::new(PLACEMENTS, metadata["namespace"].as_str()?, name))
}
