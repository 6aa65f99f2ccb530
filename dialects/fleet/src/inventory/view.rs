//! Views of clusters and placements for readers, without a decision.

use std::sync::Arc;

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{DemandView, Phase, PlacedCluster, Quantities, Taint, TargetView};

use crate::fleet::Fleet;
use crate::fleet::cluster::Cluster;
use crate::fleet::record::PlacementRecord;
use crate::names::RESOURCE_PROPERTY_PREFIX;
use crate::policy::Mode;

/// The keys of labels that name the region of a cluster by convention.
const REGION: &[&str] = &[
    "topology.kubernetes.io/region",
    "fleet.azure.com/location",
    "region",
];
/// The keys of labels that name the zone of a cluster by convention.
const ZONE: &[&str] = &["topology.kubernetes.io/zone", "zone"];
/// The keys of labels that name the infrastructure provider of a cluster by convention.
const PROVIDER: &[&str] = &["provider", "cloud"];

/// Number of bytes in a GiB.
const GIB: i64 = 1 << 30;

/// The used quantities of `cluster`: the number of live bindings, and CPU and memory, if the agent reports
/// them.
fn capacity(fleet: &Fleet, cluster: &Cluster) -> Vec<Quantities> {
    let bindings = Quantities {
        name: "bindings",
        used: fleet
            .live_by_cluster
            .get(&cluster.name)
            .copied()
            .unwrap_or(0)
            .into(),
        limit: None,
    };
    let used = |(name, resource, unit): (&'static str, &str, i64)| {
        let amount = |part: &str| {
            let property = format!("{RESOURCE_PROPERTY_PREFIX}{part}-{resource}");
            let amount = cluster.properties.get(property.as_str())?;
            Some(amount.exact.units())
        };
        let (limit, available) = (amount("allocatable")?, amount("available")?);
        Some(Quantities {
            name,
            used: limit.saturating_sub(available).max(0) / unit,
            limit: Some(limit / unit),
        })
    };
    let counted = [("cpu", "cpu", 1), ("memory-GiB", "memory", GIB)];
    std::iter::once(bindings)
        .chain(counted.into_iter().filter_map(used))
        .collect()
}

/// The view of `cluster`.
pub(super) fn target(fleet: &Fleet, cluster: &Cluster, now: Timestamp) -> TargetView {
    let eligibility = &cluster.eligibility;
    let (ready, ready_reason, ready_message, due_at) = match eligibility.judge(now, fleet.limits) {
        None => {
            let message = "the member agent has joined, reports and is healthy".to_owned();
            (
                "True",
                "Eligible",
                message,
                eligibility.eligible_until(fleet.limits),
            )
        }
        Some(reason) => (
            "False",
            reason.name(),
            cluster.ineligibility(reason, fleet.limits),
            None,
        ),
    };
    let taints = cluster.taints.iter().map(Taint::from);
    TargetView {
        object: Arc::clone(&cluster.object),
        cluster_name: Arc::clone(&cluster.name),
        ready,
        ready_reason,
        ready_message,
        cordoned: eligibility.leaving || !cluster.taints.is_empty(),
        taints: taints.collect(),
        capacity: capacity(fleet, cluster),
        region: first_label(cluster, REGION),
        zone: first_label(cluster, ZONE),
        provider: first_label(cluster, PROVIDER),
        labels: cluster.labels().clone(),
        warnings: Vec::new(),
        due_at,
    }
}

/// The value of the first of the label `keys` that the cluster has; empty if it has none of them.
fn first_label(cluster: &Cluster, keys: &[&str]) -> String {
    keys.iter()
        .find_map(|key| cluster.labels().get(key))
        .unwrap_or_default()
        .to_owned()
}

/// The view of the placement at `key`, with its clusters. A cluster whose binding is Unscheduled or being
/// deleted is marked as leaving: readers of this view must not deploy to the cluster.
pub(super) fn demand(fleet: &Fleet, key: &Key, record: &PlacementRecord) -> DemandView {
    let policy = record.policy.as_ref().as_ref().ok();
    // With topology spread constraints, two scores decide, so that there is no single score to show.
    let by_affinity =
        policy.is_some_and(|policy| matches!(policy.mode, Mode::Number(_)) && policy.spread.is_empty());
    let bindings = fleet.bindings_by_cluster(key).into_iter();
    let placed: Vec<PlacedCluster> = bindings
        .map(|binding| PlacedCluster {
            cluster_name: Arc::clone(&binding.cluster),
            reason: binding.decision.reason.clone(),
            score: binding
                .decision
                .cluster_score
                .filter(|_| by_affinity)
                .and_then(|score| score.affinity_score)
                .map(i64::from),
            state: binding.state.as_str().to_owned(),
            leaving: !binding.live(),
            amount: None,
        })
        .collect();
    let wanted = policy.and_then(|policy| match &policy.mode {
        Mode::All => None,
        Mode::Number(number) => i64::try_from(*number).ok(),
        Mode::Fixed(names) => i64::try_from(names.len()).ok(),
    });
    let place_count = placed.iter().filter(|place| !place.leaving).count();
    let is_short =
        wanted.is_some_and(|wanted| i64::try_from(place_count).is_ok_and(|place_count| place_count < wanted));
    let phase = match () {
        () if record.deleting() => Phase::Releasing,
        () if place_count == 0 && wanted != Some(0) => Phase::Pending,
        () if record.policy.is_err() => Phase::Invalid,
        () if is_short => Phase::Partial,
        () => Phase::Bound,
    };
    DemandView {
        object: Arc::clone(&record.object),
        kind: record.form.placement_kind,
        phase,
        placed,
        wanted,
        amount: None,
    }
}
