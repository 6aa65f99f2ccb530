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
    let known = condition(&cluster.conditions, READY);
    let ready = match known.map(|known| known.status.as_str()) {
        Some("True") => "True",
        Some("False") => "False",
        _ => "Unknown",
    };
    TargetView {
        object: Arc::clone(&cluster.object),
        cluster_name: Arc::clone(&cluster.name),
        ready,
        ready_reason: ready_reason(known.map(|known| known.reason.as_str())),
        ready_message: known.map(|known| known.message.clone()).unwrap_or_default(),
        cordoned: cluster.is_leaving() || cluster.taints.iter().any(is_keeping_away),
        taints: cluster.taints.iter().map(words::shown).collect(),
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

fn is_keeping_away(taint: &crate::kind::cluster::Taint) -> bool {
    matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")
}

/// The reason of the cluster's own condition, if it is one of Karmada's reasons.
fn ready_reason(known: Option<&str>) -> &'static str {
    const REASONS: [&str; 6] = [
        "ClusterReady",
        "ClusterNotReady",
        "ClusterNotReachable",
        "StatusCollectionFailed",
        "ClusterStatusNeverUpdated",
        "ClusterStatusUnknown",
    ];
    match known {
        None => "NotReported",
        Some(known) => REASONS
            .into_iter()
            .find(|reason| *reason == known)
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
    let listed = placed.iter().map(|place| place.amount.unwrap_or(0));
    let amount = divides.then(|| of(record, listed.sum(), placed.len()));
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
    let listed = decision.changes.iter().filter_map(|change| change.amount_to);
    let count = listed.clone().count();
    (is_decided && record.divides()).then(|| of(record, listed.sum(), count))
}

/// The replicas that are requested for `clusters` clusters, and the `placed` ones. If every cluster gets all
/// replicas, the request is multiplied by the number of clusters.
fn of(record: &Record, placed: i64, clusters: usize) -> Amount {
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
