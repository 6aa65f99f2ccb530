//! Shared Clusters in two hundred namespaces, and requests for them.

use serde_json::{Value, json};

use super::{DRAINED, Documents, NAMESPACE, World, decision, label, shown};

const VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
const PROJECTS: usize = 200;

pub(crate) fn world(clusters: usize, requests: usize) -> World {
    let mut file = Documents::default();
    file.namespace(NAMESPACE);
    (0..PROJECTS).for_each(|number| file.namespace(&project(number)));
    file.add(&configuration());
    (0..clusters).for_each(|number| file.add(&cluster(number)));
    (0..requests).for_each(|number| file.add(&request(&format!("request-{number}"))));
    let drained = (0..clusters).filter(|number| number % DRAINED == 3);
    World {
        title: format!(
            "openMCP, {} Clusters, {} requests",
            shown(clusters),
            shown(requests)
        ),
        about: "openMCP: Clusters that twenty requests may share, the strategy Balanced.",
        file: file.0,
        objects: clusters + requests,
        decision: decision("request-7.openmcp"),
        create: |number| {
            let path = format!("/apis/{VERSION}/namespaces/{NAMESPACE}/clusterrequests");
            (path, request(&format!("new-{number}")))
        },
        idle: |number| {
            let number = number % 10;
            let path = format!(
                "/apis/{VERSION}/namespaces/{}/clusters/cluster-{number}",
                project(number)
            );
            (path, label("changed", number.to_string()))
        },
        some: None,
        drained: drained
            .map(|number| format!("{}.cluster-{number}.openmcp", project(number)))
            .collect(),
    }
}

fn project(number: usize) -> String {
    format!("project-{}", number % PROJECTS)
}

fn cluster(number: usize) -> Value {
    json!({
        "apiVersion": VERSION, "kind": "Cluster",
        "metadata": {"name": format!("cluster-{number}"), "namespace": project(number), "labels": {
            "environment": "live", "tier": format!("t{}", number % 3), "team": format!("team-{}", number % 50),
        }},
        "spec": {"profile": "gcp-small", "tenancy": "Shared", "purposes": ["workload"]},
    })
}

fn request(name: &str) -> Value {
    json!({
        "apiVersion": VERSION, "kind": "ClusterRequest", "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"purpose": "workload"},
    })
}

fn configuration() -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "openmcp"},
        "spec": {"openmcp": {"scheduler": {
            "scope": "Cluster", "strategy": "Balanced",
            "selectors": {"clusters": {"matchLabels": {"environment": "live"}}},
            "purposeMappings": {"workload": {
                "tenancyCount": 20,
                "template": {
                    "metadata": {"namespace": project(0), "labels": {"environment": "live", "tier": "t0"}},
                    "spec": {"profile": "gcp-small", "tenancy": "Shared"},
                },
            }},
        }}},
    })
}
