//! The implementation of [`Inventory`] for KubeFleet.

mod view;

use crate::code::Plugin;
use crate::form::Form;
use crate::names::{CLUSTERS, PARENT_LABEL};
use crate::{code, decide, remedies, warnings, words, writes};
use berth_apimachinery::selector::{Requirement, Selector};
use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{
    Advisor, Ask, ChoiceRefusal, Consequences, Decision, DemandView, Edit, Guards, Inventory, Remedy,
    TargetView, Targets, UnusableObject, Words, Write, taints,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::fleet::{Fleet, fold};

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

    fn derive(&self) {
        self.columns();
    }

    fn problem(&self, key: &Key) -> Option<String> {
        self.unusable.problem(key)
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

    fn target(&self, candidate: Ix, now: Timestamp) -> TargetView {
        view::target(self, self.columns().row(candidate), now)
    }

    fn target_of(&self, cluster_name: &str, now: Timestamp) -> Option<(String, TargetView)> {
        let cluster = self.clusters.get(cluster_name)?;
        Some((cluster_name.to_owned(), view::target(self, cluster, now)))
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    fn steps(&self, reason: Reason) -> usize {
        match code::is_leaving(reason) {
            true => FINAL,
            false => 1,
        }
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        code::token(reason)
    }

    fn sentence(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        words::refusal(self, decision, candidate, reason)
    }

    fn asked_labels<'a>(&'a self, decision: &'a Decision, filter: u16) -> Option<&'a Selector> {
        (filter == Plugin::ClusterAffinity.number())
            .then(|| words::asked_labels(self, decision))
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

    fn known_difference(&self, decision: &Decision) -> Option<&'static str> {
        words::known_difference(self, decision)
    }

    fn not_picked(&self, decision: &Decision, _candidate: Ix, rank: Option<usize>) -> (&'static str, String) {
        words::not_picked(self, decision, rank)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    fn warnings(&self, decision: &Decision) -> Vec<String> {
        warnings::all(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<serde_json::Value> {
        writes::conditions(decision)
    }
}

impl Guards for Fleet {
    fn decisions_in(
        &self,
        resource: GroupResource,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Option<Vec<Key>> {
        let form = Form::of(resource);
        let parent = |object: &Value| {
            let metadata = &object["metadata"];
            let name = metadata["labels"][PARENT_LABEL].as_str()?;
            let namespace = metadata["namespace"].as_str().unwrap_or_default();
            Some(Key::new(form.placements, namespace, name))
        };
        let states = old.into_iter().chain(new);
        [form.snapshots, form.bindings]
            .contains(&resource)
            .then(|| states.filter_map(parent).collect())
    }
}

impl Advisor for Fleet {
    /// Proposes a taint, which keeps PickAll and PickN placements without a toleration of it off the cluster,
    /// and the deletion of every live binding to the cluster, which evicts the placement.
    fn drain(&self, cluster_name: &str, now: Timestamp) -> Option<Vec<Edit>> {
        let taint = json!({
            "key": "berth.dev/drain", "effect": "NoSchedule", "timeAdded": berth_apimachinery::time::rfc3339(now),
        });
        let object = &self.clusters.get(cluster_name)?.object;
        let cordon = taints::addition(Key::new(CLUSTERS, "", cluster_name), object, taint);
        let bindings = self.bound_to(cluster_name);
        let deletions = bindings.map(|(placement, name)| Edit::Delete(Form::binding_of(placement, name)));
        Some(std::iter::once(cordon).chain(deletions).collect())
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}
