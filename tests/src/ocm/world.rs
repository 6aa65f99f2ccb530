//! A realistic hub of OCM: clusters of several sets, some tainted and some scored, and requests of several
//! teams and of every form.

use serde_json::{Value, json};

use crate::hub::Hub;
use crate::hub::berth::load_text;

/// The usual world of tests.
pub const USUAL: World = World {
    clusters: 200,
    requests: 100,
    are_small: false,
};
const SETS: usize = 4;
const TEAMS: usize = 10;
/// The time of the taints.
const TAINTED: &str = "2026-01-02T03:04:05Z";

/// Size of a world.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Number of clusters.
    pub clusters: usize,
    /// Number of requests.
    pub requests: usize,
    /// Whether each request is for a few clusters. Otherwise, three in ten are for a part of the fleet.
    pub are_small: bool,
}

impl World {
    /// Writes everything to the hub.
    pub fn load(self, hub: &Hub) {
        let documents: Vec<String> = objects(self).iter().map(Value::to_string).collect();
        load_text(hub, "world.yaml", &documents.join("\n---\n"));
    }
}

/// Every object, in the order in which they can be created.
fn objects(world: World) -> Vec<Value> {
    let mut objects: Vec<Value> = (0..SETS)
        .map(|set| cluster_set(&format!("set-{set}"), json!(null)))
        .collect();
    objects.push(cluster_set("eu", json!({"matchLabels": {"region": "eu"}})));
    for number in 0..world.clusters {
        objects.push(cluster(number));
        if number % 3 == 0 {
            objects.push(namespace(&format!("cluster-{number:04}")));
            objects.push(score(number));
        }
    }
    for team in 0..TEAMS {
        objects.push(namespace(&format!("team-{team}")));
        let sets = [
            format!("set-{}", team % SETS),
            format!("set-{}", (team + 1) % SETS),
            "eu".to_owned(),
        ];
        objects.extend(sets.iter().map(|set| binding(team, set)));
    }
    objects.extend((0..world.requests).map(|number| request(number, world.are_small)));
    objects
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn cluster_set(name: &str, selector: Value) -> Value {
    let selector = match selector.is_null() {
        true => json!({"selectorType": "ExclusiveClusterSetLabel"}),
        false => json!({"selectorType": "LabelSelector", "labelSelector": selector}),
    };
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": {"name": name}, "spec": {"clusterSelector": selector},
    })
}

fn binding(team: usize, set: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": {"name": set, "namespace": format!("team-{team}")}, "spec": {"clusterSet": set},
    })
}

/// A cluster: in twenty, one is under maintenance, one has a taint that prefers other clusters, and one
/// rejects new requests.
fn cluster(number: usize) -> Value {
    let taint = |key: &str, effect: &str| json!([{"key": key, "effect": effect, "timeAdded": TAINTED}]);
    let taints = match number % 20 {
        3 => taint("maintenance", "NoSelect"),
        7 => taint("old", "PreferNoSelect"),
        11 => taint("closing", "NoSelectIfNew"),
        _ => json!([]),
    };
    let resources = |of: usize| json!({"cpu": of.to_string(), "memory": format!("{}Gi", of * 4)});
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": format!("cluster-{number:04}"), "labels": {
            "cluster.open-cluster-management.io/clusterset": format!("set-{}", number % SETS),
            "region": one_of(&["eu", "us", "ap"], number),
            "environment": one_of(&["production", "test"], number / 2),
        }},
        "spec": {"hubAcceptsClient": true, "taints": taints},
        "status": {
            "conditions": [],
            "capacity": resources(64),
            "allocatable": resources(8 + number * 7 % 56),
            "version": {"kubernetes": "v1.34.1"},
            "clusterClaims": [{
                "name": "platform.open-cluster-management.io", "value": one_of(&["AWS", "Azure", "GCP"], number / 5),
            }],
        },
    })
}

fn one_of(values: &[&'static str], number: usize) -> &'static str {
    values[number % values.len()]
}

fn score(number: usize) -> Value {
    let value = i64::try_from(number * 13 % 201).unwrap_or_default() - 100;
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore",
        "metadata": {"name": "load", "namespace": format!("cluster-{number:04}")},
        "status": {"scores": [{"name": "cpu", "value": value}]},
    })
}

/// A request, in one of ten forms, or of seven where it is small.
fn request(number: usize, is_small: bool) -> Value {
    let form = match is_small {
        true => 1 + number / TEAMS % 7,
        false => number / TEAMS % 10,
    };
    let spec = match form {
        0 => json!({}),
        1 => json!({"numberOfClusters": 1}),
        2 => json!({"numberOfClusters": 3, "predicates": [{"requiredClusterSelector": {
            "labelSelector": {"matchLabels": {"region": "eu"}}}}]}),
        3 => {
            json!({"numberOfClusters": 5, "predicates": [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [
            {"key": "platform.open-cluster-management.io", "operator": "In", "values": ["AWS", "GCP"]}]}}}]})
        }
        4 => {
            json!({"numberOfClusters": 2, "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [
            "managedCluster.metadata.labels['environment'] == 'production'"]}}}]})
        }
        5 => json!({"numberOfClusters": 4, "prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}}]}}),
        6 => json!({"numberOfClusters": 3, "prioritizerPolicy": {"mode": "Additive", "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "load", "scoreName": "cpu"}}, "weight": 3}]}}),
        7 => json!({"numberOfClusters": 10, "tolerations": [{"key": "maintenance", "operator": "Exists"}]}),
        8 => json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 7, "decisionGroups": [
            {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"environment": "test"}}}}]}}}),
        _ => {
            json!({"numberOfClusters": 1000, "clusterSets": ["eu"], "predicates": [{"requiredClusterSelector": {
            "labelSelector": {"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["us"]}]}}}]})
        }
    };
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": format!("request-{number:04}"), "namespace": format!("team-{}", number % TEAMS)}, "spec": spec,
    })
}
