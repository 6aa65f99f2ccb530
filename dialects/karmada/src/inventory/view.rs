//! Views of clusters as targets and of bindings as demands, read from the objects alone, and the amount of a
//! decision.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_apimachinery::types::condition;
use berth_dialect_contract::{Amount, Decision, DemandView, Phase, PlacedCluster, Quantities, TargetView};

use crate::cluster::Cluster;
use crate::detail::Detail;
use crate::fleet::Fleet;
use crate::ignored::IgnoreReason;
use crate::names::CLUSTER_BINDINGS;
use crate::record::Record;
use crate::strategy::Strategy;
use crate::words;

/// The type of the condition about a cluster's readiness.
const READY: &str = "Ready";

/// The view of `cluster` as a target.
pub(super) fn target(fleet: &Fleet, cluster: &Cluster) -> TargetView {
    let bindings = fleet.bindings_on(&cluster.name).count();
    let ready_condition = condition(&cluster.conditions, READY);
    let ready = match ready_condition.map(|ready_condition| ready_condition.status.as_str()) {
        Some("True") => "True",
        Some("False") => "False",
        _ => "Unknown",
    };
    TargetView {
        object: Arc::clone(&cluster.object),
        cluster_name: Arc::clone(&cluster.name),
        ready,
        ready_reason: ready_reason(ready_condition.map(|ready_condition| ready_condition.reason.as_str())),
        ready_message: ready_condition
            .map(|ready_condition| ready_condition.message.clone())
            .unwrap_or_default(),
        cordoned: cluster.is_deleting() || cluster.taints.iter().any(refuses_templates),
        taints: cluster.taints.iter().map(words::common_taint).collect(),
        capacity: vec![Quantities {
            name: "bindings",
            used: i64::try_from(bindings).unwrap_or(i64::MAX),
            limit: None,
        }],
        region: cluster.region.to_string(),
        zone: cluster.zones.join(","),
        provider: cluster.provider.to_lowercase(),
        labels: cluster.labels().clone(),
        warnings: warnings(cluster),
        due_at: None,
    }
}

/// Warnings about fields of `cluster` that have no effect.
fn warnings(cluster: &Cluster) -> Vec<String> {
    let problem = cluster.free_resources.estimates_problem();
    problem
        .map(|problem| format!("{problem}: no answer of an estimator counts"))
        .into_iter()
        .collect()
}

/// Whether `taint` refuses templates that do not tolerate it.
fn refuses_templates(taint: &crate::kind::cluster::Taint) -> bool {
    matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
}

/// The reason of the condition Ready of a cluster: one of Karmada's reasons, or `Other` for any other reason.
/// `NotReported` if the cluster does not have the condition.
fn ready_reason(reported: Option<&str>) -> &'static str {
    const REASONS: [&str; 6] = [
        "ClusterReady",
        "ClusterNotReady",
        "ClusterNotReachable",
        "StatusCollectionFailed",
        "ClusterStatusNeverUpdated",
        "ClusterStatusUnknown",
    ];
    match reported {
        None => "NotReported",
        Some(reported) => REASONS
            .into_iter()
            .find(|reason| *reason == reported)
            .unwrap_or("Other"),
    }
}

/// The view of `record`, the binding at `key`, as a demand.
pub(super) fn demand(fleet: &Fleet, key: &Key, record: &Record) -> DemandView {
    let divides = record.divides();
    let targets = record.spec.clusters.iter();
    let mut placed: Vec<PlacedCluster> = targets
        .map(|target| PlacedCluster {
            cluster_name: target.name.as_str().into(),
            amount: divides.then_some(i64::from(target.replicas)),
            ..PlacedCluster::default()
        })
        .collect();
    placed.sort_by(|one, other| one.cluster_name.cmp(&other.cluster_name));
    let amounts = placed.iter().map(|place| place.amount.unwrap_or(0));
    let amount = divides.then(|| amount_of(record, amounts.sum(), placed.len()));
    let mut view = DemandView {
        object: Arc::clone(&record.object),
        kind: match key.resource {
            CLUSTER_BINDINGS => "ClusterResourceBinding",
            _ => "ResourceBinding",
        },
        phase: Phase::Pending,
        placed,
        wanted: None,
        amount,
    };
    view.phase = match () {
        () if record.is_deleting() && !view.placed.is_empty() => Phase::Releasing,
        () if record.is_deleting() || IgnoreReason::of(record, &fleet.settings).is_some() => Phase::Ignored,
        () => view.phase_by_count(),
    };
    view
}

/// The replicas that `decision` divides; `None` if it divides no replicas.
pub(super) fn amount(fleet: &Fleet, decision: &Decision) -> Option<Amount> {
    let record = fleet.bindings.get(&decision.demand)?;
    let is_decided = decision.detail::<Detail>()?.trigger.is_some();
    let amounts = decision.changes.iter().filter_map(|change| change.amount_to);
    let count = amounts.clone().count();
    (is_decided && record.divides()).then(|| amount_of(record, amounts.sum(), count))
}

/// The requested and the `placed` replicas. If every cluster gets all replicas, the requested replicas count
/// once for each of the `clusters`.
fn amount_of(record: &Record, placed: i64, clusters: usize) -> Amount {
    let placement = record.placement.as_ref();
    let duplicates = placement.is_some_and(|placement| matches!(placement.strategy, Strategy::Duplicated));
    let times = if duplicates {
        i64::try_from(clusters).unwrap_or(i64::MAX)
    } else {
        1
    };
    Amount {
        name: "replicas",
        wanted: record.replicas().saturating_mul(times),
        placed,
    }
}
