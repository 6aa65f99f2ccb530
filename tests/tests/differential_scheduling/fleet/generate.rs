//! Fleets of member clusters, and placements on them, some of which are bound.

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use super::{LATEST, MEMBERS, NUMBER, PARENT, PLACEMENTS, policy};
use crate::world::World;

pub(super) const NAMES: [&str; 12] = [
    "a1", "a10", "a2", "b1", "b2", "c1", "c2", "d", "e-1", "f", "y", "z",
];

/// A random world.
pub(super) fn world(draw: &mut Draw) -> World {
    let count = 1 + draw.below(NAMES.len());
    let mut objects: Vec<Value> = NAMES[..count].iter().map(|name| member(draw, name)).collect();
    for name in &["p", "q"][..1 + draw.below(2)] {
        placement(draw, name, count, &mut objects);
    }
    World {
        objects,
        ..World::default()
    }
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "uid": format!("uid-{kind}-{name}"), "generation": 1, "creationTimestamp": "2021-10-01T00:00:00Z"},
    })
}

fn member(draw: &mut Draw, name: &str) -> Value {
    let mut value = object(MEMBERS, "MemberCluster", name);
    for (key, values) in [
        ("env", ["prod", "dev", "prod"]),
        ("zone", ["a", "b", "c"]),
        ("tier", ["1", "2", ""]),
    ] {
        if draw.often() {
            value["metadata"]["labels"][key] = json!(draw.one(&values));
        }
    }
    if draw.once_in(14) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!(["work.fleet.azure.com/membercluster-finalizer"]);
    }
    value["spec"] = json!({"identity": {"kind": "ServiceAccount", "name": name}});
    let mut taints = Vec::new();
    for key in ["gpu", "edge"] {
        if draw.once_in(6) {
            let mut taint = json!({"key": key, "effect": "NoSchedule"});
            if draw.often() {
                taint["value"] = json!(draw.one(&["a", "b"]));
            }
            taints.push(taint);
        }
    }
    value["spec"]["taints"] = json!(taints);
    value["status"] = json!({"agentStatus": agents(draw)});
    properties(draw, &mut value["status"]);
    value
}

/// Reports of the agents, mostly healthy. Times are far from the limit of five minutes, since the original
/// uses the real clock.
fn agents(draw: &mut Draw) -> Value {
    let condition = |r#type: &str, status: &str, since: &str| json!({"type": r#type, "status": status, "reason": "Said", "message": "", "lastTransitionTime": since});
    let (long_ago, fresh, stale) = (
        "2021-10-28T08:00:00Z",
        "2021-10-28T08:57:00Z",
        "2021-10-28T08:53:00Z",
    );
    let mut heartbeat = fresh;
    let mut joined = Some(condition("Joined", "True", long_ago));
    let mut healthy = Some(condition("Healthy", "True", long_ago));
    match draw.below(20) {
        0 => heartbeat = stale,
        1 => joined = None,
        2 => joined = Some(condition("Joined", draw.one(&["False", "Unknown"]), long_ago)),
        3 => healthy = None,
        4 => healthy = Some(condition("Healthy", draw.one(&["False", "Unknown"]), fresh)),
        5 => healthy = Some(condition("Healthy", draw.one(&["False", "Unknown"]), stale)),
        6 => {
            return json!([{"type": "ServiceExportImportAgent", "lastReceivedHeartbeat": fresh, "conditions": []}]);
        }
        _ => {}
    }
    let conditions: Vec<Value> = joined.into_iter().chain(healthy).collect();
    json!([{"type": "MemberAgent", "lastReceivedHeartbeat": heartbeat, "conditions": conditions}])
}

fn properties(draw: &mut Draw, status: &mut Value) {
    let observed = "2021-10-28T08:57:00Z";
    for (name, values) in [
        ("kubernetes-fleet.io/node-count", ["1", "3", "10", "2500m"]),
        ("example.com/cost", ["0.5", "0.25", "100", "-3"]),
    ] {
        if draw.often() {
            status["properties"][name] = json!({"value": draw.one(&values), "observationTime": observed});
        }
    }
    if draw.often() {
        status["resourceUsage"] = json!({
            "available": {"cpu": draw.one(&["2", "4", "500m", "16"])},
            "capacity": {"memory": draw.one(&["8Gi", "16Gi", "8589934592", "1Ti"])},
            "observationTime": observed,
        });
    }
}

/// A placement with its policy snapshots and bindings.
fn placement(draw: &mut Draw, name: &str, clusters: usize, objects: &mut Vec<Value>) {
    let policy = policy::one(draw, clusters);
    let mut placement = object(PLACEMENTS, "ClusterResourcePlacement", name);
    placement["metadata"]["finalizers"] = json!([
        "kubernetes-fleet.io/crp-cleanup",
        "kubernetes-fleet.io/scheduler-cleanup"
    ]);
    placement["spec"]["resourceSelectors"] =
        json!([{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]);
    if !policy.is_null() {
        placement["spec"]["policy"] = policy.clone();
    }
    let mut before = policy.clone();
    if let Some(tolerations) = before.get_mut("tolerations") {
        *tolerations = json!([{"key": "before", "operator": "Exists"}]);
    } else {
        before = json!({"placementType": "PickAll"});
    }
    objects.push(placement);
    objects.push(snapshot(name, 0, &before, false));
    objects.push(snapshot(name, 1, &policy, true));
    if draw.below(3) > 0 {
        for cluster in &NAMES {
            if draw.once_in(4) {
                let mut bound = binding(draw, name, cluster);
                let by_it = bound["spec"]["schedulingPolicySnapshotName"] == format!("{name}-1");
                let listed = policy["clusterNames"].as_array();
                if let (Some(decision), true, Some(_)) =
                    (bound["spec"]["clusterDecision"].as_object_mut(), by_it, listed)
                {
                    decision.remove("clusterScore");
                }
                let elsewhere = listed.is_some_and(|listed| !listed.contains(&json!(cluster)));
                // A binding to a leaving cluster remains until the cluster is deleted; the original removes
                // it at the next cycle (docs/systems/fleet.md, "Differences from upstream"), and picks
                // another cluster instead.
                let leaves = objects.iter().any(|object| {
                    object["metadata"]["name"] == *cluster
                        && !object["metadata"]["deletionTimestamp"].is_null()
                });
                // The policy of a fixed list binds only listed clusters.
                if !(leaves || elsewhere && by_it) {
                    objects.push(bound);
                }
            }
        }
    }
}

fn snapshot(name: &str, index: usize, policy: &Value, latest: bool) -> Value {
    let mut value = object(
        PLACEMENTS,
        "ClusterSchedulingPolicySnapshot",
        &format!("{name}-{index}"),
    );
    value["metadata"]["labels"] = json!({
        PARENT: name, LATEST: latest.to_string(),
        "kubernetes-fleet.io/policy-index": index.to_string(),
    });
    value["metadata"]["annotations"] = json!({"kubernetes-fleet.io/CRP-generation": "1"});
    if let Some(number) = policy["numberOfClusters"].as_u64() {
        value["metadata"]["annotations"][NUMBER] = json!(number.to_string());
    }
    value["spec"] = json!({"policyHash": ""});
    if !policy.is_null() {
        value["spec"]["policy"] = policy.clone();
    }
    value
}

fn binding(draw: &mut Draw, name: &str, cluster: &str) -> Value {
    let mut value = object(
        PLACEMENTS,
        "ClusterResourceBinding",
        &format!("{name}-{cluster}-0123abcd"),
    );
    value["metadata"]["labels"] = json!({PARENT: name});
    value["metadata"]["finalizers"] = json!([
        "kubernetes-fleet.io/scheduler-crb-cleanup",
        "kubernetes-fleet.io/work-cleanup"
    ]);
    let state = draw.one(&["Scheduled", "Bound", "Bound", "Unscheduled"]);
    if state == "Unscheduled" {
        let before = draw.one(&["Scheduled", "Bound"]);
        value["metadata"]["annotations"] = json!({"kubernetes-fleet.io/previous-binding-state": before});
    }
    if draw.once_in(15) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:30:00Z");
    }
    let by = draw.one(&["1", "1", "1", "0"]);
    let mut decision = json!({"clusterName": cluster, "selected": true, "reason": "picked"});
    if draw.often() {
        let score = |draw: &mut Draw, bound: usize| i64::try_from(draw.below(bound)).unwrap_or_default() - 1;
        decision["clusterScore"] = json!({"affinityScore": score(draw, 40), "priorityScore": score(draw, 3)});
    }
    value["spec"] = json!({
        "state": state, "targetCluster": cluster, "schedulingPolicySnapshotName": format!("{name}-{by}"),
        "resourceSnapshotName": "", "clusterDecision": decision,
    });
    value
}
