//! ManagedClusters in eight regions and twenty zones, and Placements for the three of a region that have most memory.

use serde_json::{Value, json};

use super::{DRAINED, Documents, NAMESPACE, World, decision, label, shown};

const GROUP: &str = "cluster.open-cluster-management.io";
const REGIONS: usize = 8;
/// Number of Placements that select a rare label.
const FEW: usize = 20;
/// Number of clusters, one of which has the label.
const RARE: usize = 50;
/// The zone that is drained; many Placements have their best cluster there.
const ZONE: usize = 18;

pub(crate) fn world(clusters: usize, placements: usize) -> World {
    let mut file = Documents::default();
    file.namespace(NAMESPACE);
    let version = format!("{GROUP}/v1beta2");
    file.add(
        &json!({"apiVersion": version, "kind": "ManagedClusterSet", "metadata": {"name": "fleet"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
    );
    file.add(&json!({"apiVersion": version, "kind": "ManagedClusterSetBinding",
        "metadata": {"namespace": NAMESPACE, "name": "fleet"}, "spec": {"clusterSet": "fleet"}}));
    (0..clusters).for_each(|number| file.add(&cluster(number)));
    for number in 0..placements {
        let mut labels = json!({"region": region(number)});
        if number < FEW {
            labels = json!({"tier": "gold"});
        }
        file.add(&placement(&format!("p{number}"), &labels));
    }
    let drained = (0..clusters).filter(|number| number % DRAINED == ZONE);
    World {
        title: format!(
            "OCM, {} clusters, {} Placements",
            shown(clusters),
            shown(placements)
        ),
        about: "OCM: eight regions of clusters; each Placement wants the three of its region with the most memory, all of one \
                namespace. The plan drains a zone in which every eighth Placement has its best clusters.",
        file: file.0,
        objects: clusters + placements,
        decision: decision(&format!("p{FEW}.ocm")),
        create: |number| {
            let path = format!("/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/placements");
            (
                path,
                placement(&format!("new{number}"), &json!({"region": region(number)})),
            )
        },
        idle: |number| (path(number), label("changed", number.to_string())),
        some: Some(|number| {
            let value = if number.is_multiple_of(2) {
                json!("gold")
            } else {
                Value::Null
            };
            (path(number / 2 * RARE + 1), label("tier", value))
        }),
        drained: drained.map(|number| format!("cluster{number}.ocm")).collect(),
    }
}

fn path(number: usize) -> String {
    format!("/apis/{GROUP}/v1/managedclusters/cluster{number}")
}

fn region(number: usize) -> String {
    format!("region-{}", number % REGIONS)
}

fn cluster(number: usize) -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "True", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    // Every tenth is drained.
    let taints = if number % 10 == 9 {
        json!([{"key": "maintenance", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"}])
    } else {
        json!([])
    };
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": format!("cluster{number}"), "labels": {
            format!("{GROUP}/clusterset"): "fleet", "region": region(number),
            "zone": format!("zone-{}", number % DRAINED),
        }},
        "spec": {"hubAcceptsClient": true, "taints": taints},
        "status": {
            "conditions": [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
            "capacity": {"cpu": "64", "memory": "256Gi"},
            "allocatable": {"cpu": (8 + number % 50).to_string(), "memory": format!("{}Gi", 16 + number % 200)},
            "version": {"kubernetes": "v1.34.1"},
        },
    });
    if number.is_multiple_of(RARE) {
        object["metadata"]["labels"]["tier"] = json!("gold");
    }
    object
}

fn placement(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
    "metadata": {"namespace": NAMESPACE, "name": name},
    "spec": {
        "numberOfClusters": 3,
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": labels}}}],
        "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": 2},
        ]},
    }})
}
