//! The fleet: ManagedClusters in groups of sixteen, Placements for three clusters of a group each, and one
//! decision of KubeFleet's MemberClusters, whose heartbeats are in their status.

use std::fmt::Write as _;
use std::time::Duration;

use berth_apimachinery::{Clock as _, time};
use berth_apiserver::SystemClock;
use serde_json::{Value, json};

/// Clusters per group.
const GROUP: usize = 16;
/// Clusters per decision.
pub(crate) const PLACED: usize = 3;
/// Number of MemberClusters.
pub(crate) const MEMBERS: usize = 100;
/// Namespace of Placements.
pub(crate) const TEAM: &str = "bench";
/// Namespace of the Publication.
pub(crate) const PUBLISHED: &str = "published";

/// Size of the fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of ManagedClusters.
    pub(crate) targets: usize,
    /// Number of Placements.
    pub(crate) decisions: usize,
}

/// The whole fleet, as documents of a file.
pub(crate) fn documents(size: Size) -> String {
    let version = "cluster.open-cluster-management.io/v1beta2";
    let mut text = String::new();
    let mut add = |value: Value| write!(text, "---\n{value}\n").expect("a String takes everything");
    for name in [TEAM, PUBLISHED] {
        add(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    add(
        json!({"apiVersion": version, "kind": "ManagedClusterSet", "metadata": {"name": "fleet"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
    );
    add(json!({"apiVersion": version, "kind": "ManagedClusterSetBinding",
        "metadata": {"namespace": TEAM, "name": "fleet"}, "spec": {"clusterSet": "fleet"}}));
    (0..size.targets).for_each(|number| add(cluster(number)));
    (0..MEMBERS).for_each(|number| add(member(number)));
    (0..size.decisions).for_each(|number| add(placement(size, number)));
    add(
        json!({"apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
        "metadata": {"name": "everywhere"},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "monitoring"}],
            "policy": {"placementType": "PickAll"}}}),
    );
    text
}

/// A Publication of the whole fleet.
pub(crate) fn publication() -> Value {
    json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "bench"},
        "spec": {"namespace": PUBLISHED, "systems": ["ocm", "fleet"]}})
}

fn cluster(number: usize) -> Value {
    let set = "cluster.open-cluster-management.io/clusterset";
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "True", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
    "metadata": {"name": format!("cluster{number}"),
        "labels": {set: "fleet", "group": format!("g{}", number / GROUP), "region": format!("region-{}", number % 8)}},
    "spec": {"hubAcceptsClient": true},
    "status": {
        "conditions": [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
        "capacity": {"cpu": "64", "memory": "256Gi"}, "allocatable": {"cpu": "32", "memory": "128Gi"},
        "version": {"kubernetes": "v1.34.1"},
        "clusterClaims": [{"name": "load", "value": "0"}],
    }})
}

fn placement(size: Size, number: usize) -> Value {
    let group = format!("g{}", number % size.targets.div_ceil(GROUP));
    json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
    "metadata": {"namespace": TEAM, "name": format!("p{number}")},
    "spec": {
        "numberOfClusters": PLACED,
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"group": group}}}}],
    }})
}

fn member(number: usize) -> Value {
    json!({"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
    "metadata": {"name": format!("member{number}")},
    "spec": {"identity": {"kind": "ServiceAccount", "name": "member", "namespace": "fleet-system", "apiGroup": ""}},
    "status": {"conditions": [joined()], "agentStatus": agents(0)}})
}

fn joined() -> Value {
    json!({"type": "Joined", "status": "True", "reason": "Joined", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
}

/// Report of a member's agents with their heartbeat `number`. The first is an hour ahead, so that members
/// stay healthy without heartbeats.
pub(crate) fn agents(number: u64) -> Value {
    let ahead = Duration::from_secs(3600 + number);
    let received = SystemClock.now().checked_add(ahead).expect("it is an instant");
    let mut healthy = joined();
    healthy["type"] = "Healthy".into();
    json!([{"type": "MemberAgent", "lastReceivedHeartbeat": time::rfc3339(received), "conditions": [joined(), healthy]}])
}
