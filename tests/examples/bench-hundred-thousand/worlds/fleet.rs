//! MemberClusters in eight regions, and ClusterResourcePlacements for three clusters of a region.

use serde_json::{Value, json};

use super::{DRAINED, Documents, World, label, shown};

const MEMBERS: &str = "cluster.kubernetes-fleet.io";
const PLACEMENTS: &str = "placement.kubernetes-fleet.io";
const REGIONS: usize = 8;

pub(crate) fn world(members: usize, placements: usize) -> World {
    let mut file = Documents::default();
    (0..members).for_each(|number| file.add(&member(number)));
    (0..placements).for_each(|number| file.add(&placement(&format!("p{number}"), number)));
    let drained = (0..members).filter(|number| number % DRAINED == 3);
    World {
        title: format!(
            "KubeFleet, {} members, {} placements",
            shown(members),
            shown(placements)
        ),
        about: "KubeFleet: eight regions; each ClusterResourcePlacement wants three members of its region (PickN), with a \
                preference for a label. Its policy snapshot is made by Berth as well.",
        file: file.0,
        objects: members + placements,
        decision: "/apis/scheduling.berth.dev/v1alpha1/clusterdecisions/p7.fleet".to_owned(),
        create: |number| {
            let path = format!("/apis/{PLACEMENTS}/v1/clusterresourceplacements");
            (path, placement(&format!("new{number}"), number))
        },
        idle: |number| {
            let path = format!("/apis/{MEMBERS}/v1/memberclusters/member{}", number % 10);
            (path, label("changed", number.to_string()))
        },
        some: None,
        drained: drained.map(|number| format!("member{number}.fleet")).collect(),
    }
}

fn region(number: usize) -> String {
    format!("region-{}", number % REGIONS)
}

fn member(number: usize) -> Value {
    json!({
        "apiVersion": format!("{MEMBERS}/v1"), "kind": "MemberCluster",
        "metadata": {"name": format!("member{number}"), "labels": {
            "region": region(number), "tier": format!("t{}", number % 3),
        }},
        "spec": {"identity": {"kind": "User", "name": format!("member{number}"), "apiGroup": "rbac.authorization.k8s.io"}},
        "status": {
            "properties": {"kubernetes-fleet.io/node-count": {
                "value": (number * 37 % 101).to_string(), "observationTime": "2100-01-01T00:00:00Z",
            }},
            "resourceUsage": {"available": {"cpu": number.to_string(), "memory": "64Gi"}},
            "conditions": [],
            "agentStatus": [{
                // Heartbeats of the future, since no agent sends any here.
                "type": "MemberAgent", "lastReceivedHeartbeat": "2100-01-01T00:00:00Z",
                "conditions": [condition("Joined"), condition("Healthy")],
            }],
        },
    })
}

fn condition(kind: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "True", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn placement(name: &str, number: usize) -> Value {
    let labels = json!({"labelSelector": {"matchLabels": {"region": region(number)}}});
    let tier = json!({"weight": 20, "preference": {"labelSelector": {"matchLabels": {"tier": "t1"}}}});
    json!({
        "apiVersion": format!("{PLACEMENTS}/v1"), "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "work"}],
            "policy": {
                "placementType": "PickN", "numberOfClusters": 3,
                "affinity": {"clusterAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [labels]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [tier],
                }},
            },
        },
    })
}
