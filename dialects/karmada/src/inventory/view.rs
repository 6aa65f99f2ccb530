//! Views of targets and demands, read from the objects alone.

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

/// The view of `cluster`.
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
        cordoned: cluster.is_leaving() || cluster.taints.iter().any(keeps_templates_away),
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
        warnings: Vec::new(),
        due_at: None,
    }
}

fn keeps_templates_away(taint: &crate::kind::cluster::Taint) -> bool {
    matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
}

/// The reason of the cluster's Ready condition: one of Karmada's reasons or `Other`. `NotReported` without
/// the condition.
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

/// The view of the binding at `key`.
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
        () if record.is_leaving() && !view.placed.is_empty() => Phase::Releasing,
        () if record.is_leaving() || IgnoreReason::of(record, &fleet.settings).is_some() => Phase::Ignored,
        () => view.by_number(),
    };
    view
}

/// The amount that `decision` divides.
pub(super) fn amount(fleet: &Fleet, decision: &Decision) -> Option<Amount> {
    let record = fleet.bindings.get(&decision.demand)?;
    let is_decided = decision.detail::<Detail>()?.trigger.is_some();
    let amounts = decision.changes.iter().filter_map(|change| change.amount_to);
    let count = amounts.clone().count();
    (is_decided && record.divides()).then(|| amount_of(record, amounts.sum(), count))
}

/// The requested and the `placed` replicas. If every cluster gets all replicas, the request is multiplied by
/// `clusters`, the number of clusters.
fn amount_of(record: &Record, placed: i64, clusters: usize) -> Amount {
    let policy = record.policy.as_ref();
    let duplicates = policy.is_some_and(|policy| matches!(policy.strategy, Strategy::Duplicated));
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
