//! Platforms with Clusters and requests.

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use super::{API_VERSION, REQUEST_OF};
use crate::world::World;

const NAMESPACES: [&str; 3] = ["bar", "foo", "pool"];
const CLUSTERS: [&str; 8] = ["c1", "c10", "c2", "c3", "c4", "c5", "c6", "c7"];
/// Clusters of the first are for one request, those of the others are shared. Existing Clusters follow this,
/// too: a mapping that shares an Exclusive one is only possible upstream.
const PURPOSES: [&str; 3] = ["mcp", "platform", "workload"];

/// A random world.
pub(super) fn world(draw: &mut Draw) -> World {
    let mut objects = Vec::new();
    let requests: Vec<&str> = ["r1", "r2", "r3"][..1 + draw.below(3)].to_vec();
    let mut clusters = Vec::new();
    for name in &CLUSTERS[..draw.below(CLUSTERS.len() + 1)] {
        let cluster = cluster(draw, name);
        if cluster["metadata"]["deletionTimestamp"].is_null() {
            clusters.push((cluster["metadata"]["namespace"].clone(), *name));
        }
        objects.push(cluster);
    }
    for name in requests {
        let mut request = request(draw, name);
        if draw.once_in(10)
            && let Some((namespace, name)) = clusters.get(draw.below(clusters.len().max(1)))
        {
            request["status"] = json!({"phase": "Granted", "observedGeneration": 1, "cluster": {"namespace": namespace, "name": name}});
        }
        objects.push(request);
    }
    World {
        objects,
        configuration: configuration(draw),
    }
}

fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": kind, "spec": spec,
        "metadata": {"name": name, "namespace": namespace, "uid": format!("uid-{name}"), "generation": 1,
                     "creationTimestamp": "2021-10-01T00:00:00Z"},
    })
}

fn cluster(draw: &mut Draw, name: &str) -> Value {
    let (purposes, tenancy): (&[&str], &str) = match draw.below(5) {
        0 => (&["mcp"], "Exclusive"),
        1 => (&["platform", "workload"], "Shared"),
        2 => (&["workload"], "Shared"),
        3 => (&["other"], "Shared"),
        _ => (&["platform"], "Shared"),
    };
    let spec = json!({"profile": "large", "purposes": purposes, "tenancy": tenancy});
    let mut value = object("Cluster", draw.one(&NAMESPACES), name, spec);
    if draw.often() {
        value["metadata"]["labels"]["env"] = json!(draw.one(&["a", "b"]));
    }
    if draw.below(2) == 0 {
        let label = draw.one(&["true", "true", "false"]);
        value["metadata"]["labels"]["clusters.openmcp.cloud/delete-without-requests"] = json!(label);
    }
    let mut finalizers = Vec::new();
    // Finalizers of deleted requests, and sometimes of an existing one.
    for number in 0..draw.below(4) {
        finalizers.push(format!("{REQUEST_OF}gone-{number}"));
    }
    for name in ["r1", "r2", "r3"] {
        if draw.once_in(24) {
            finalizers.push(format!("{REQUEST_OF}uid-{name}"));
        }
    }
    if draw.once_in(8) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        finalizers.push("example.com/held".to_owned());
    }
    value["metadata"]["finalizers"] = json!(finalizers);
    value
}

fn request(draw: &mut Draw, name: &str) -> Value {
    let purpose = if draw.once_in(20) {
        "unknown"
    } else {
        draw.one(&PURPOSES)
    };
    let mut value = object(
        "ClusterRequest",
        draw.one(&["foo", "bar"]),
        name,
        json!({"purpose": purpose}),
    );
    if draw.below(2) == 0 {
        value["metadata"]["finalizers"] = json!(["clusters.openmcp.cloud/request"]);
    }
    if draw.once_in(10) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!(["clusters.openmcp.cloud/request"]);
        // A field for which Berth waits, and which upstream only declares.
        value["spec"]["waitForClusterDeletion"] = json!(false);
    }
    value
}

fn configuration(draw: &mut Draw) -> Value {
    let mut mappings = json!({});
    for purpose in PURPOSES {
        let mut template = json!({"metadata": {}, "spec": {"profile": "large"}});
        template["spec"]["tenancy"] = json!(if purpose == "mcp" { "Exclusive" } else { "Shared" });
        if draw.often() {
            template["metadata"]["namespace"] = json!(draw.one(&NAMESPACES));
        }
        match draw.below(4) {
            0 => template["metadata"]["generateName"] = json!("made-"),
            1 => template["metadata"]["name"] = json!("named"),
            _ => {}
        }
        // With values of both selectors, so that created Clusters match again.
        template["metadata"]["labels"] = json!({"env": "a", "made": "yes"});
        let mut mapping = json!({"template": template});
        if purpose != "mcp" && draw.below(2) == 0 {
            mapping["tenancyCount"] = json!(1 + draw.below(3));
        }
        if draw.once_in(4) {
            mapping["selector"] = json!({"matchLabels": {"env": "a"}});
        }
        mappings[purpose] = mapping;
    }
    let mut scheduler = json!({
        "scope": draw.one(&["Namespaced", "Cluster"]),
        "strategy": draw.one(&["Balanced", "Balanced", "Simple", "Simple", "Random"]),
        "purposeMappings": mappings,
    });
    if draw.once_in(4) {
        scheduler["selectors"]["clusters"] = json!({"matchExpressions": [{"key": "env", "operator": draw.one(&["In", "Exists"]), "values": ["a"]}]});
        let selector = &mut scheduler["selectors"]["clusters"]["matchExpressions"][0];
        if selector["operator"] == "Exists" {
            selector["values"] = json!([]);
        }
    }
    json!({"scheduler": scheduler})
}
