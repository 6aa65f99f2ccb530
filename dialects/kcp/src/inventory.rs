//! The fleet as an [`Inventory`].

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object, Timestamp};
use berth_dialect_contract::decision::{ChoiceRefusal, Decision};
use berth_dialect_contract::view::{
    DemandView, Phase, PlacedCluster, Quantities, TargetView, UnusableObject,
};
use berth_dialect_contract::words::FINAL;
use berth_dialect_contract::{Advisor, Ask, Consequences, Edit, Inventory, Remedy, Targets, Words, Write};
use berth_scheduling::{Ix, Reason, Rejection};
use serde_json::{Value, json};

use crate::code::{Code, Plugin};
use crate::detail::Detail;
use crate::fleet::{Fleet, NamespaceRecord, Row};
use crate::names::WORKLOAD_CLUSTERS;
use crate::{code, remedies, warnings, words, writes};

/// Labels that name a cluster's region by convention.
const REGION: [&str; 2] = ["topology.kubernetes.io/region", "region"];
/// Labels that name a cluster's zone by convention.
const ZONE: [&str; 2] = ["topology.kubernetes.io/zone", "zone"];
/// Labels that name a cluster's infrastructure provider by convention.
const PROVIDER: [&str; 2] = ["cloud", "provider"];

impl Inventory for Fleet {
    fn fork(&self) -> Arc<dyn Inventory> {
        Arc::new(self.clone())
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
        let all = self
            .namespaces
            .iter()
            .filter(|(_, record)| self.is_demand(record));
        all.map(|(key, _)| key.clone()).collect()
    }

    fn object(&self, demand: &Key) -> Option<Arc<Object>> {
        self.namespace(demand).map(|record| Arc::clone(&record.object))
    }

    fn demand(&self, demand: &Key, _now: Timestamp) -> Option<DemandView> {
        self.namespace(demand).map(|record| demand_view(self, record))
    }

    fn decide(&self, ask: &Ask<'_>) -> Option<Result<Decision, ChoiceRefusal>> {
        self.decide_namespace(ask)
    }

    fn writes(&self, decision: &Decision) -> Vec<Write> {
        writes::writes(self, decision)
    }

    fn advisor(&self) -> &dyn Advisor {
        self
    }
}

impl Targets for Fleet {
    fn count(&self) -> Ix {
        self.cluster_count()
    }

    fn cluster_name(&self, candidate: Ix) -> Arc<str> {
        Arc::clone(&self.row(candidate).identifier)
    }

    fn candidate(&self, cluster_name: &str) -> Option<Ix> {
        self.find_row(cluster_name).map(|(candidate, _)| candidate)
    }

    fn target_name(&self, candidate: Ix) -> String {
        self.row(candidate).name.to_string()
    }

    fn target(&self, candidate: Ix, now: Timestamp) -> TargetView {
        let row = self.row(candidate);
        TargetView {
            warnings: warnings::of_cluster(self, row, now),
            ..target_view(row, self.namespace_count(&row.identifier), now)
        }
    }
}

impl Words for Fleet {
    fn filters(&self) -> &'static [&'static str] {
        &Plugin::NAMES
    }

    /// The filter that determines the clusters in scope: clusters in one of the possible locations.
    fn scope(&self) -> Option<u16> {
        Some(Plugin::Location.number())
    }

    fn steps(&self, reason: Reason) -> usize {
        match reason.detail {
            code::DELETING => FINAL,
            _ => 1,
        }
    }

    fn nouns(&self) -> [&'static str; 2] {
        ["workload cluster", "workload clusters"]
    }

    fn token(&self, _plugin: u16, reason: Reason) -> &'static str {
        Code::of_reason(reason).name()
    }

    fn sentence(&self, decision: &Decision, candidate: Ix, _plugin: u16, reason: Reason) -> String {
        let locations = decision
            .detail::<Detail>()
            .map(|detail| detail.locations.as_slice());
        let row = self.row(candidate);
        words::refusal(self, row, locations.unwrap_or_default(), decision.now, reason)
    }

    fn alike(&self, _decision: &Decision, _candidate: Ix, _plugin: u16, reason: Reason) -> Option<u32> {
        words::is_alike(reason).then_some(0)
    }

    fn not_picked(
        &self,
        decision: &Decision,
        _candidate: Ix,
        _rank: Option<usize>,
    ) -> (&'static str, String) {
        words::not_picked(self, decision)
    }

    fn message(&self, decision: &Decision) -> String {
        words::message(self, decision)
    }

    fn warnings(&self, decision: &Decision) -> Vec<String> {
        warnings::of_namespace(self, decision)
    }

    fn conditions(&self, decision: &Decision) -> Vec<Value> {
        writes::conditions(self, decision)
    }
}

impl Advisor for Fleet {
    fn drain(&self, cluster_name: &str, now: Timestamp) -> Option<Vec<Edit>> {
        let row = self.row(self.candidate(cluster_name)?);
        // A cluster that evicts namespaces accepts no new namespaces either.
        Some(vec![Edit::Merge {
            key: Key::new(WORKLOAD_CLUSTERS, "", &row.name),
            patch: json!({"spec": {"evictAfter": berth_apimachinery::time::rfc3339(now)}}),
        }])
    }

    fn remedies(&self, decision: &Decision, candidate: Ix, refusal: Option<&Rejection>) -> Vec<Remedy> {
        remedies::remedies(self, decision, candidate, refusal)
    }
}

fn demand_view(fleet: &Fleet, record: &NamespaceRecord) -> DemandView {
    let entries = &record.reading.placement.0;
    let active = entries.values().any(|state| state.is_active());
    // A label that disables scheduling also ends the draining of a namespace that is no longer selected.
    let leaves = record.deleting || !record.disabled && !fleet.is_subject(record);
    let phase = match () {
        () if leaves && !entries.is_empty() => Phase::Releasing,
        // The scheduler no longer places such a namespace.
        () if leaves || record.disabled => Phase::Ignored,
        () if active => Phase::Bound,
        () => Phase::Pending,
    };
    let placed = entries.iter().map(|(place, state)| PlacedCluster {
        cluster_name: Arc::clone(&place.identifier),
        state: state.as_str().to_owned(),
        leaving: !state.is_active(),
        ..PlacedCluster::default()
    });
    DemandView {
        object: Arc::clone(&record.object),
        kind: "Namespace",
        phase,
        placed: placed.collect(),
        wanted: None,
        amount: None,
    }
}

fn target_view(row: &Row, namespaces: i64, now: Timestamp) -> TargetView {
    let ready = row.facts.is_ready(now);
    let (ready_reason, ready_message) = words::readiness_text(row, now);
    let labels = row.record.object.meta().labels();
    let conventional = |keys: [&str; 2]| {
        keys.into_iter()
            .find_map(|key| labels.get(key))
            .map(str::to_owned)
    };
    // A heartbeat is stale just after the last instant at which it is healthy; an eviction starts exactly at
    // its instant.
    let stale_at = row
        .facts
        .fresh_until
        .checked_add(std::time::Duration::from_nanos(1))
        .ok();
    let changes = [stale_at.filter(|_| ready), Some(row.facts.evict_after)];
    let future_changes = changes
        .into_iter()
        .flatten()
        .filter(|&at| at > now && at < Timestamp::MAX);
    TargetView {
        object: Arc::clone(&row.record.object),
        cluster_name: Arc::clone(&row.identifier),
        ready: match ready_reason {
            _ if ready => "True",
            "StatusUnknown" | "ConditionMissing" | "Unreadable" => "Unknown",
            _ => "False",
        },
        ready_reason,
        ready_message,
        cordoned: row.facts.unschedulable || row.facts.is_evicting(now),
        taints: Vec::new(),
        capacity: vec![Quantities {
            name: "namespaces",
            used: namespaces,
            limit: None,
        }],
        region: conventional(REGION).unwrap_or_default(),
        zone: conventional(ZONE).unwrap_or_default(),
        provider: conventional(PROVIDER).unwrap_or_default(),
        labels: labels.clone(),
        warnings: Vec::new(),
        due_at: future_changes.min(),
    }
}
