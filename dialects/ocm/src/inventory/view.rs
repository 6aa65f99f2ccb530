//! Views of targets and demands, without a decision.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_contract::{DemandView, Phase, PlacedCluster, Quantities, Taint, TargetView};

use crate::cluster::Cluster;
use crate::fleet::Fleet;
use crate::kind::Condition;
use crate::names::{AVAILABLE, MISCONFIGURED};
use crate::record::PlacementRecord;

/// Names of claims and labels that by convention have the region of a cluster.
const REGION: &[&str] = &[
    "region.open-cluster-management.io",
    "topology.kubernetes.io/region",
    "region",
];
/// Names of claims and labels that by convention have the zone of a cluster.
const ZONE: &[&str] = &["topology.kubernetes.io/zone", "zone"];
/// Names of claims and labels that by convention have the infrastructure provider of a cluster.
const PROVIDER: &[&str] = &["platform.open-cluster-management.io", "cloud"];

/// The view of `cluster`.
pub(super) fn target(fleet: &Fleet, cluster: &Cluster) -> TargetView {
    let (ready, ready_reason, ready_message) = readiness(cluster);
    let taints = cluster.taints().iter().map(Taint::from);
    TargetView {
        object: Arc::clone(&cluster.object),
        cluster_name: Arc::clone(&cluster.name),
        ready,
        ready_reason,
        ready_message,
        cordoned: cluster.terminating()
            || cluster.problem.is_some()
            || cluster
                .taints()
                .iter()
                .any(|taint| taint.effect != "PreferNoSelect"),
        taints: taints.collect(),
        capacity: vec![Quantities {
            name: "decisions",
            used: fleet.tally.of(&cluster.name).into(),
            limit: None,
        }],
        region: conventional(cluster, REGION),
        zone: conventional(cluster, ZONE),
        provider: conventional(cluster, PROVIDER).to_lowercase(),
        labels: cluster.labels().clone(),
        warnings: Vec::new(),
        due_at: None,
    }
}

/// The status, the reason and the message of the readiness of `cluster`.
fn readiness(cluster: &Cluster) -> (&'static str, &'static str, String) {
    if cluster.terminating() {
        return ("False", "Terminating", "the cluster is being deleted".to_owned());
    }
    if let Some(problem) = &cluster.problem {
        return (
            "Unknown",
            "Unreadable",
            format!("the ManagedCluster cannot be read: {problem}"),
        );
    }
    let Some(condition) = &cluster.available else {
        return (
            "Unknown",
            "ConditionMissing",
            format!("the condition {AVAILABLE} is not reported"),
        );
    };
    let (ready, reason) = match &*condition.status {
        "True" => ("True", "Available"),
        "False" => ("False", "Unavailable"),
        _ => ("Unknown", "AvailabilityUnknown"),
    };
    (ready, reason, condition.message.to_string())
}

/// The value of the first claim whose name is in `keys`; without such a claim, the value of the first label
/// whose key is in `keys`; else an empty string.
fn conventional(cluster: &Cluster, keys: &[&str]) -> String {
    let claimed = keys.iter().find_map(|key| cluster.claims.get(key));
    let found = claimed.or_else(|| keys.iter().find_map(|key| cluster.labels().get(key)));
    found.unwrap_or_default().to_owned()
}

/// The view of the placement at `key`.
pub(super) fn demand(fleet: &Fleet, key: &Key, record: &PlacementRecord) -> DemandView {
    let mut seen = BTreeSet::new();
    let listed = fleet
        .own_decisions(key)
        .into_iter()
        .flat_map(|decision| &decision.clusters);
    let mut placed: Vec<PlacedCluster> = listed
        .filter(|cluster| seen.insert(&cluster.name))
        .map(|cluster| PlacedCluster {
            cluster_name: Arc::clone(&cluster.name),
            reason: cluster.reason.to_string(),
            score: cluster.score,
            ..PlacedCluster::default()
        })
        .collect();
    placed.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let wanted = record.policy.spec.number_of_clusters.map(i64::from);
    let mut view = DemandView {
        object: Arc::clone(&record.object),
        kind: "Placement",
        phase: Phase::Pending,
        placed,
        wanted,
        amount: None,
    };
    view.phase = match () {
        () if record.terminating() => Phase::Releasing,
        () if record.disabled() => Phase::Ignored,
        () if !view.placed.is_empty() && may_be_misconfigured(fleet, key, record) => Phase::Invalid,
        () => view.phase_by_count(),
    };
    view
}

/// Whether the spec of the placement at `key` is malformed, or one of its sets cannot be read. For a placement
/// with expressions, the condition PlacementMisconfigured counts as well: OCM's own scheduler may refuse an
/// expression that compiles here.
fn may_be_misconfigured(fleet: &Fleet, key: &Key, record: &PlacementRecord) -> bool {
    let is_reported = || {
        let condition = Condition::find(&record.status.conditions, MISCONFIGURED);
        condition.is_some_and(|condition| &*condition.status == "True")
    };
    record.policy.problem(true).is_some()
        || fleet.unreadable_set(&key.namespace, &record.policy).is_some()
        || (record.policy.uses_cel() && is_reported())
}
