//! The fleet as an [`Inventory`].

mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Timestamp};
use berth_dialect_contract::rules::EffectiveRules;
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{
    Advisor, Ask, ChoiceRefusal, Consequences, Control, Decision, DemandView, Edit, Guards, Inventory, Pace,
    Remedy, TargetView, Targets, UnusableObject, Words, Write,
};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::{Value, json};

use crate::code::{Code, Plugin};
use crate::fleet::{Fleet, Place};
use crate::names::{CLUSTERS, USE_FINALIZER};
use crate::{remedies, words, writes};

impl Inventory for Fleet {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
    }

    fn set_on_hub(&mut self) {
        self.on_hub = true;
    }

    fn fold(&mut self, change: &Change) -> Consequences {
        self.apply_change(change)
    }

    fn unusable(&self) -> Vec<UnusableObject> {
        self.unusable.list()
    }

    fn problem(&self, key: &Key) -> Option<String> {
        self.unusable.problem(key)
    }

    fn demands(&self) -> Vec<Key> {
        self.requests.keys().cloned().collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.request(demand).map(|request| Arc::clone(&request.object))
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        self.request(demand).map(|request| self.view_demand(request))
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        self.decide_request(ask)
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

impl Guards for Fleet {
    /// The requests whose finalizers are added to a Cluster or removed from it. A finalizer of an
    /// unknown request does not count.
    fn decisions_in(
        &self,
        resource: GroupResource,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Option<Vec<Key>> {
        if resource != CLUSTERS {
            return None;
        }
        let (had, has) = (holders_in(old), holders_in(new));
        let changed = had.symmetric_difference(&has);
        Some(
            changed
                .filter_map(|holder| self.by_holder.get(*holder))
                .cloned()
                .collect(),
        )
    }
}

/// The holders with a finalizer on `cluster`.
fn holders_in(cluster: Option<&Value>) -> BTreeSet<&str> {
    let finalizers = cluster.and_then(|cluster| cluster["metadata"]["finalizers"].as_array());
    let names = finalizers.into_iter().flatten().filter_map(Value::as_str);
    names
        .filter_map(|name| name.strip_prefix(USE_FINALIZER))
        .collect()
}

impl Targets for Fleet {
    fn count(&self) -> Ix {
        self.cluster_count()
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        Arc::clone(&self.row(candidate).record.cluster_name)
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        let (candidate, _) = self.find(&Place::parse(cluster_name)?)?;
        Some(candidate)
    }

    fn target(&self, candidate: Ix, _now: Timestamp) -> TargetView {
        self.view_target(self.row(candidate))
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    fn steps(&self, reason: Reason) -> usize {
        match Code::of_reason(reason) {
            Code::Terminating => FINAL,
            Code::PurposeNotConfigured
            | Code::PurposeMismatch
            | Code::SelectorMismatch
            | Code::OutOfScope
            | Code::NeedsExclusive
            | Code::Exclusive
            | Code::Full => 1,
        }
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        Code::of_reason(reason).name()
    }

    fn sentence(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        match self.request(&decision.demand) {
            Some(request) => words::refusal(self, request, candidate, reason),
            None => String::new(),
        }
    }

    fn alike(&self, _decision: &Decision, _candidate: Ix, _plugin: u16, reason: Reason) -> Option<u32> {
        words::is_alike(reason).then_some(0)
    }

    fn rules_in_force(&self) -> Option<EffectiveRules> {
        self.in_force()
    }

    fn not_picked(&self, decision: &Decision, candidate: Ix, _rank: Option<usize>) -> (&'static str, String) {
        words::not_picked(self, decision, candidate)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<Value> {
        let request = self.request(&decision.demand);
        request
            .and_then(|request| writes::scheduled_condition(request, decision))
            .into_iter()
            .collect()
    }
}

impl Control for Fleet {
    /// Returns a pace of one decision at a time, as in openMCP: of two requests that are decided at once and
    /// compete for a Cluster, or both need a new shared Cluster, one would have to be decided again.
    fn pace(&self) -> Pace {
        Pace {
            parallel: 1,
            ..Pace::default()
        }
    }
}

impl Advisor for Fleet {
    /// Proposes to delete the Cluster and to remove its grants, because a request keeps its Cluster for ever.
    /// A decision after these edits shows the Clusters that the requests would get.
    fn drain(&self, cluster_name: &str, _now: Timestamp) -> Option<Vec<Edit>> {
        let place = Place::parse(cluster_name)?;
        self.find(&place)?;
        let ungrant = self.requests_on(&place).into_iter().map(|key| Edit::Merge {
            key,
            patch: json!({"status": {"cluster": null, "phase": "Pending"}}),
        });
        let remove_finalizers = Edit::Merge {
            key: place.key(),
            patch: json!({"metadata": {"finalizers": null}}),
        };
        // The Cluster is deleted first, since a request is due if the Cluster in its status is deleted.
        Some(
            [remove_finalizers, Edit::Delete(place.key())]
                .into_iter()
                .chain(ungrant)
                .collect(),
        )
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}
