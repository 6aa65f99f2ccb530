//! The fleet of Karmada as an [`Inventory`].

mod view;

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Change, Key, Object, Timestamp};
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{
    Advisor, Amount, Ask, Backoff, ChoiceRefusal, Consequences, Control, Decision, DemandView, Edit,
    Inventory, Note, Pace, Remedy, TargetView, Targets, UnusableObject, Words, Write, taints,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::{Value, json};

use crate::code::{Code, Plugin};
use crate::fleet::{Fleet, fold};
use crate::names::CLUSTERS;
use crate::{decide, notes, remedies, words, writes};

/// The key of the taint of cordoned clusters.
const UNSCHEDULABLE: &str = "cluster.karmada.io/unschedulable";

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

    fn demands(&self) -> Vec<Key> {
        self.bindings.keys().cloned().collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.bindings.get(demand).map(|record| Arc::clone(&record.object))
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        let record = self.bindings.get(demand)?;
        Some(view::demand(self, demand, record))
    }

    fn derive(&self) {
        self.columns();
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        let record = self.bindings.get(ask.demand)?;
        Some(decide::decide(self, record, ask))
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
        self.columns().find(cluster_name)
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
        words::refusal(self, decision, candidate, reason)
    }

    fn alike(&self, _decision: &Decision, _candidate: Ix, _plugin: u16, reason: Reason) -> Option<u32> {
        words::alike(reason)
    }

    fn steps(&self, reason: Reason) -> usize {
        match Code::of_reason(reason) {
            // A deletion cannot be undone.
            Code::Deleting => FINAL,
            _ => 1,
        }
    }

    fn asked_labels<'a>(&'a self, decision: &'a Decision, filter: u16) -> Option<&'a Selector> {
        (filter == Plugin::ClusterAffinity.number())
            .then(|| words::asked_labels(self, decision))
            .flatten()
    }

    fn label(&self, candidate: Ix, key: &str) -> Option<&str> {
        self.columns().row(candidate).labels().get(key)
    }

    fn score_message(&self, decision: &Decision, candidate: Ix, scorer: u16) -> Option<String> {
        words::bound(decision, candidate, scorer)
    }

    fn warnings(&self, decision: &Decision) -> Vec<String> {
        words::warnings(self, decision)
    }

    fn amount(&self, decision: &Decision) -> Option<Amount> {
        view::amount(self, decision)
    }

    fn not_picked(&self, decision: &Decision, candidate: Ix, rank: Option<usize>) -> (&'static str, String) {
        words::not_picked(decision, candidate, rank)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<Value> {
        writes::conditions(self, decision)
    }
}

impl Control for Fleet {
    /// Returns the pace of decisions. A binding that is not scheduled is retried after 1 second, and then
    /// after longer delays of up to 5 minutes, since room that becomes free makes no binding due.
    fn pace(&self) -> Pace {
        Pace {
            unplaced: Some(Backoff {
                first: Duration::from_secs(1),
                longest: Duration::from_mins(5),
            }),
            ..Pace::default()
        }
    }

    fn notes(&self, decision: &Decision, wrote: bool) -> Option<Vec<Note>> {
        Some(notes::notes(self, decision, wrote))
    }
}

impl Advisor for Fleet {
    /// Returns an edit that adds a taint to the cluster, so that the cluster gets no new templates. Since a
    /// taint does not move placed templates in Karmada, further edits remove the cluster from the bindings
    /// that list it.
    fn drain(&self, cluster_name: &str, _now: Timestamp) -> Option<Vec<Edit>> {
        let object = &self.clusters.get(cluster_name)?.object;
        let taint = json!({"key": UNSCHEDULABLE, "effect": "NoSchedule"});
        let taint = taints::addition(Key::new(CLUSTERS, "", cluster_name), object, taint);
        let removals = self.bindings_on(cluster_name).filter_map(|key| {
            let record = self.bindings.get(key)?;
            Some(Edit::of(key.clone(), &record.object, |binding| {
                let clusters = binding["spec"]["clusters"].as_array_mut();
                if let Some(clusters) = clusters {
                    clusters.retain(|target| target["name"] != cluster_name);
                }
            }))
        });
        Some(std::iter::once(taint).chain(removals).collect())
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}
