//! Clusters and bindings, as in a large Karmada: nine models of nodes each, one cluster in ten tainted, in
//! twelve groups.
//!
//! A cluster has few nodes and a replica is large, since the original counts the replicas that fit by placing
//! each on a node: a decision about a thousand clusters of 450 nodes takes it minutes.

use serde_json::{Value, json};

use super::{Case, Fleet, name};

/// Namespace of the bindings.
const NAMESPACE: &str = "bench";
/// Number of groups of clusters; only the clusters of the last one have room.
const GROUPS: usize = 12;
const PROVIDERS: [&str; 3] = ["aws", "gcp", "azure"];
/// Upper bound of the number of nodes of one model, exclusive.
const NODES: usize = 5;
/// Number of requested replicas.
const REPLICAS: usize = 40;
/// Number of compared bindings, besides the measured ones.
const COMPARED: usize = 40;

pub(super) const CASES: &[Case] = &[
    Case {
        title: "Karmada, dynamic weights",
        placement: "dynamic",
    },
    Case {
        title: "Karmada, twelve groups",
        placement: "groups",
    },
];

pub(super) fn fleet(clusters: usize) -> Fleet {
    let mut bindings = vec![
        binding("dynamic", REPLICAS, dynamic()),
        binding("groups", REPLICAS, grouped(dynamic())),
    ];
    bindings.extend((0..COMPARED).map(asking));
    Fleet {
        dialect: "karmada",
        name: "karmada",
        namespace: NAMESPACE,
        clusters,
        cases: CASES,
        compared: (0..COMPARED).map(compared).collect(),
        world: json!({
            "clusters": (0..clusters).map(cluster).collect::<Vec<_>>(),
            "bindings": bindings,
        }),
    }
}

fn compared(number: usize) -> String {
    format!("compared-{number:02}")
}

fn cluster(index: usize) -> Value {
    const CPU: [u64; 9] = [0, 1, 2, 4, 8, 16, 32, 64, 128];
    let group = index % GROUPS;
    let model = |grade: usize| {
        let range = |name: &str, unit: u64, suffix: &str| {
            let most = CPU
                .get(grade + 1)
                .map_or(i64::MAX.to_string(), |next| format!("{}{suffix}", next * unit));
            json!({"name": name, "min": format!("{}{suffix}", CPU[grade] * unit), "max": most})
        };
        json!({"grade": grade, "ranges": [range("cpu", 1, ""), range("memory", 4, "Gi")]})
    };
    let nodes = |grade: usize| {
        if group == GROUPS - 1 {
            (index * 37 + grade * 11) % NODES
        } else {
            0
        }
    };
    let counts = (0..CPU.len()).map(|grade| json!({"grade": grade, "count": nodes(grade)}));
    let taints = if index.is_multiple_of(10) {
        json!([{"key": "bench", "effect": "NoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name(index), "labels": {
            "tier": format!("t{group}"), "env": if (index / GROUPS).is_multiple_of(2) { "prod" } else { "dev" },
        }},
        "spec": {
            "syncMode": "Push", "provider": PROVIDERS[index % 3], "region": format!("region-{:02}", index % 40),
            "taints": taints, "resourceModels": (0..CPU.len()).map(model).collect::<Vec<_>>(),
        },
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
            "conditions": [{"type": "CompleteAPIEnablements", "status": "True", "reason": "Complete", "message": "", "lastTransitionTime": "2021-10-28T08:59:00Z"}],
            "resourceSummary": {
                "allocatable": {"cpu": "8000", "memory": "32000Gi", "pods": (1_500 + index % 97).to_string()},
                "allocatableModelings": counts.collect::<Vec<_>>(),
            },
        },
    })
}

fn dynamic() -> Value {
    json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }})
}

fn grouped(mut placement: Value) -> Value {
    let groups = (0..GROUPS).map(|group| {
        let tier = format!("t{group}");
        json!({"affinityName": tier, "labelSelector": {"matchLabels": {"tier": tier}}})
    });
    placement["clusterAffinities"] = groups.collect();
    placement
}

fn binding(name: &str, replicas: usize, placement: Value) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "name": name, "namespace": NAMESPACE, "labels": {"propagationpolicy.karmada.io/permanent-id": "bench"},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": NAMESPACE, "name": name, "uid": name},
            "replicas": replicas, "replicaRequirements": {"resourceRequest": {"cpu": "2", "memory": "8Gi"}},
            "placement": placement,
        },
    })
}

/// A compared binding, with any strategy, with or without spread and groups, some of it already placed.
fn asking(number: usize) -> Value {
    let mut placement = match number % 4 {
        0 => json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}),
        1 => {
            json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}})
        }
        _ => dynamic(),
    };
    if number % 3 == 1 {
        placement["clusterAffinity"] =
            json!({"labelSelector": {"matchLabels": {"env": "prod"}}, "exclude": [name(0)]});
    } else if number % 3 == 2 {
        placement = grouped(placement);
    }
    if number.is_multiple_of(2) {
        placement["spreadConstraints"] =
            json!([{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 20}]);
    }
    if number.is_multiple_of(5) {
        placement["clusterTolerations"] = json!([{"key": "bench", "operator": "Exists"}]);
    }
    let mut binding = binding(&compared(number), REPLICAS + number, placement);
    if number % 7 == 3 {
        binding["spec"]["clusters"] =
            json!([{"name": name(11), "replicas": 3}, {"name": name(12), "replicas": 9}]);
    }
    binding
}
