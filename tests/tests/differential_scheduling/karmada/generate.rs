//! Clusters of three regions, and bindings that request replicas there, some of which already have
//! some.
//!
//! A decision from scratch is generated without groups: v1.18 then continues from the observed group, and
//! later versions start with the first (docs/systems/karmada.md, "Differences from upstream").

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use super::{BINDINGS, CLUSTERS};
use crate::world::World;

const NAMES: [&str; 12] = [
    "a1", "a10", "a2", "b1", "b2", "c1", "c2", "d", "e-1", "f", "y", "z",
];
const APPS: &str = "apps/v1";

/// A random world.
pub(super) fn world(draw: &mut Draw) -> World {
    let count = 1 + draw.below(NAMES.len());
    let mut objects: Vec<Value> = NAMES[..count].iter().map(|name| cluster(draw, name)).collect();
    for name in &["p", "q"][..1 + draw.below(2)] {
        objects.push(binding(draw, name, count));
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

fn cluster(draw: &mut Draw, name: &str) -> Value {
    let mut value = object(CLUSTERS, "Cluster", name);
    for (key, values) in [("env", ["prod", "dev", "prod"]), ("tier", ["1", "2", ""])] {
        if draw.often() {
            value["metadata"]["labels"][key] = json!(draw.one(&values));
        }
    }
    if draw.once_in(16) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!(["karmada.io/cluster-controller"]);
    }
    let mut spec = json!({"syncMode": "Push"});
    if !draw.once_in(10) {
        spec["region"] = json!(draw.one(&["eu", "us", "ap"]));
    }
    if draw.often() {
        spec["provider"] = json!(draw.one(&["aws", "gcp"]));
    }
    if draw.often() {
        spec["zones"] = match draw.below(3) {
            0 => json!(["z1"]),
            1 => json!(["z2"]),
            _ => json!(["z1", "z2"]),
        };
    }
    let mut taints = Vec::new();
    for key in ["gpu", "edge"] {
        if draw.once_in(8) {
            let effect = draw.one(&["NoSchedule", "NoExecute"]);
            taints.push(json!({"key": key, "value": draw.one(&["a", "b"]), "effect": effect}));
        }
    }
    spec["taints"] = json!(taints);
    value["spec"] = spec;
    value["status"] = status(draw);
    if draw.once_in(4) {
        models(draw, &mut value);
    }
    value
}

fn status(draw: &mut Draw) -> Value {
    let mut apis =
        vec![json!({"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]})];
    if !draw.once_in(12) {
        apis.push(
            json!({"groupVersion": APPS, "resources": [{"name": "deployments", "kind": "Deployment"}]}),
        );
    }
    let mut status = json!({"apiEnablements": apis});
    if draw.once_in(14) {
        return status;
    }
    let pods = [0, 3, 5, 10, 10, 20, 40, 100][draw.below(8)];
    let mut summary = json!({
        "allocatable": {"pods": pods.to_string(), "cpu": draw.one(&["4", "8", "15500m"]), "memory": draw.one(&["8Gi", "64Gi", "20G"])},
    });
    if draw.often() {
        summary["allocated"] =
            json!({"pods": draw.one(&["0", "2"]), "cpu": draw.one(&["0", "1500m", "9"]), "memory": "1Gi"});
    }
    if draw.once_in(4) {
        summary["allocating"] = json!({"pods": "1", "cpu": "300m"});
    }
    status["resourceSummary"] = summary;
    status
}

/// Sets three sizes of nodes, and their numbers.
fn models(draw: &mut Draw, cluster: &mut Value) {
    let grades = [
        ("0", "0", "1", "2Gi"),
        ("1", "2Gi", "4", "8Gi"),
        ("4", "8Gi", "64", "256Gi"),
    ];
    let models = grades
        .iter()
        .enumerate()
        .map(|(grade, (cpu, memory, most, size))| {
            json!({"grade": grade, "ranges": [
                {"name": "cpu", "min": cpu, "max": most}, {"name": "memory", "min": memory, "max": size},
            ]})
        });
    cluster["spec"]["resourceModels"] = models.collect::<Vec<_>>().into();
    if let Some(summary) = cluster.pointer_mut("/status/resourceSummary") {
        let counts = (0..3).map(|grade| json!({"grade": grade, "count": draw.below(4)}));
        summary["allocatableModelings"] = counts.collect::<Vec<_>>().into();
    }
}

fn binding(draw: &mut Draw, name: &str, count: usize) -> Value {
    let mut value = object(BINDINGS, "ResourceBinding", name);
    value["metadata"]["namespace"] = "team".into();
    value["metadata"]["labels"] = json!({"propagationpolicy.karmada.io/permanent-id": "p"});
    let is_workload = !draw.once_in(10);
    let replicas = match is_workload {
        true => [0, 1, 3, 5, 7, 12, 12, 30, 90][draw.below(9)],
        false => 0,
    };
    let (api_version, kind) = match is_workload {
        true => (APPS, "Deployment"),
        false => ("v1", "ConfigMap"),
    };
    let mut spec = json!({
        "resource": {
            "apiVersion": api_version, "kind": kind, "namespace": "team", "name": name, "uid": draw.one(&["", "1", "2"]),
        },
        "replicas": replicas, "placement": placement(draw),
    });
    if is_workload && draw.often() {
        spec["replicaRequirements"] = requirements(draw);
    }
    let held = draw.below(4);
    if draw.often() && held > 0 {
        spec["clusters"] = targets(draw, held.min(count), count);
    }
    if draw.once_in(12) {
        spec["gracefulEvictionTasks"] = json!([{
            "fromCluster": NAMES[draw.below(count)], "reason": "TaintUntolerated", "producer": "TaintManager",
        }]);
    }
    let groups = spec["placement"]["clusterAffinities"].is_array();
    if !groups && draw.once_in(6) {
        spec["rescheduleTriggeredAt"] = json!(draw.one(&["2021-10-28T08:30:00Z", "2021-10-28T07:30:00Z"]));
    }
    if draw.often() {
        value["status"]["lastScheduledTime"] = "2021-10-28T08:00:00Z".into();
    }
    if groups && draw.often() {
        value["status"]["schedulerObservingAffinityName"] = json!(draw.one(&["g1", "g2", "gone"]));
    }
    value["spec"] = spec;
    value
}

fn requirements(draw: &mut Draw) -> Value {
    let mut request = json!({});
    for (name, amounts) in [("cpu", ["250m", "1", "0"]), ("memory", ["512Mi", "1500M", "2Gi"])] {
        if draw.often() {
            request[name] = json!(draw.one(&amounts));
        }
    }
    if draw.once_in(20) {
        request["nvidia.com/gpu"] = "1".into();
    }
    json!({"resourceRequest": request})
}

/// Some clusters with replicas, in random order.
fn targets(draw: &mut Draw, many: usize, count: usize) -> Value {
    let first = draw.below(count);
    let places = (0..many).map(|step| (first + step * 5) % count);
    let mut seen = Vec::new();
    for place in places {
        if !seen.contains(&place) {
            seen.push(place);
        }
    }
    let mut targets: Vec<Value> = seen
        .iter()
        .map(|place| json!({"name": NAMES[*place], "replicas": 1 + draw.below(9)}))
        .collect();
    if draw.once_in(10) {
        targets.push(json!({"name": "nowhere", "replicas": 2}));
    }
    json!(targets)
}

fn placement(draw: &mut Draw) -> Value {
    let scheduling = scheduling(draw);
    let counts_room = scheduling["replicaDivisionPreference"] == "Aggregated"
        || !scheduling["weightPreference"]["dynamicWeight"].is_null();
    let mut placement = json!({});
    match draw.below(4) {
        0 => {}
        1 | 2 => placement["clusterAffinity"] = affinity(draw),
        _ => placement["clusterAffinities"] = groups(draw, counts_room),
    }
    if !scheduling.is_null() {
        placement["replicaScheduling"] = scheduling;
    }
    if draw.once_in(3) {
        let mut toleration = json!({"key": draw.one(&["gpu", "edge"]), "operator": "Exists"});
        if draw.once_in(3) {
            toleration = json!({"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"});
        }
        placement["clusterTolerations"] = json!([toleration]);
    }
    let constraints = constraints(draw);
    if !constraints.is_empty() {
        placement["spreadConstraints"] = constraints.into();
    }
    placement
}

fn scheduling(draw: &mut Draw) -> Value {
    let divided = |preference: &str| json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference});
    let mut weighted = divided("Weighted");
    match draw.below(9) {
        0 => Value::Null,
        1 => json!({"replicaSchedulingType": "Duplicated"}),
        2..=4 => divided("Aggregated"),
        5 | 6 => {
            weighted["weightPreference"] = json!({"dynamicWeight": "AvailableReplicas"});
            weighted
        }
        7 => {
            let rules = (0..1 + draw.below(3))
                .map(|_| json!({"targetCluster": affinity(draw), "weight": 1 + draw.below(4)}));
            weighted["weightPreference"] = json!({"staticWeightList": rules.collect::<Vec<_>>()});
            weighted
        }
        _ => {
            if draw.once_in(2) {
                weighted["weightPreference"] = json!({});
            }
            weighted
        }
    }
}

fn affinity(draw: &mut Draw) -> Value {
    let mut affinity = json!({});
    if draw.once_in(3) {
        affinity["clusterNames"] = (0..1 + draw.below(6))
            .map(|_| NAMES[draw.below(NAMES.len())])
            .collect();
    }
    if draw.once_in(4) {
        affinity["exclude"] = json!([NAMES[draw.below(NAMES.len())]]);
    }
    if draw.once_in(3) {
        affinity["labelSelector"] = match draw.below(3) {
            0 => json!({"matchLabels": {"env": "prod"}}),
            1 => json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
            _ => json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}]}),
        };
    }
    if draw.once_in(4) {
        let (key, values) = [
            ("region", ["eu", "us"]),
            ("provider", ["aws", "azure"]),
            ("zone", ["z1", "z3"]),
        ][draw.below(3)];
        let operator = draw.one(&["In", "NotIn"]);
        affinity["fieldSelector"] =
            json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
    }
    affinity
}

fn groups(draw: &mut Draw, counts_room: bool) -> Value {
    let mut groups = Vec::new();
    for name in &["g1", "g2", "g3"][..1 + draw.below(3)] {
        let mut group = affinity(draw);
        if counts_room && draw.once_in(2) {
            let overflow = ["o1", "o2"][..1 + draw.below(2)].iter().map(|name| {
                let mut entry = affinity(draw);
                entry["affinityName"] = json!(name);
                entry
            });
            group["overflowAffinities"] = overflow.collect::<Vec<_>>().into();
        }
        group["affinityName"] = json!(name);
        groups.push(group);
    }
    json!(groups)
}

fn constraints(draw: &mut Draw) -> Vec<Value> {
    if draw.once_in(2) {
        return Vec::new();
    }
    let mut one = |field: &str, most: usize| {
        let least = 1 + draw.below(most);
        let more = draw.below(3);
        json!({"spreadByField": field, "minGroups": least, "maxGroups": if draw.once_in(16) { 0 } else { least + more }})
    };
    let mut constraints = vec![one("cluster", 4)];
    let region = one("region", 3);
    if draw.once_in(2) {
        constraints.push(region);
    }
    if draw.once_in(8) {
        constraints
            .push(json!({"spreadByField": draw.one(&["zone", "provider"]), "minGroups": 1, "maxGroups": 2}));
    }
    constraints
}
