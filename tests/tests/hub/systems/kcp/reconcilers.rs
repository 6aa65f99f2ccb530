//! kcp's controllers with the hub's own objects: each writes as its own user, with sufficient rights,
//! wherever the WorkloadClusters and Locations are stored.

use berth_tests::eventually;
use serde_json::{Value, json};

use super::world::{World, state};
use crate::systems::binding::wrote;

const SYNCED: &str = "state.internal.workloads.kcp.dev/";
const DELETION: &str = "deletion.internal.workloads.kcp.dev/";

fn label<'a>(object: &'a Value, identifier: &str) -> &'a Value {
    &object["metadata"]["labels"][format!("{SYNCED}{identifier}")]
}

fn deletion<'a>(object: &'a Value, identifier: &str) -> &'a Value {
    &object["metadata"]["annotations"][format!("{DELETION}{identifier}")]
}

fn condition<'a>(object: &'a Value, r#type: &str) -> Option<&'a str> {
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    conditions.find(|one| one["type"] == r#type)?["status"].as_str()
}

/// Writers of resources that the hub always stores.
const WRITERS: [(&str, &str); 5] = [
    ("berth:placement-controller", "namespaces"),
    ("berth:namespace-controller", "namespaces"),
    ("berth:resource-controller", "configmaps"),
    ("berth:resource-controller", "secrets"),
    ("berth:scheduler", "schedulerconfigurations"),
];

fn configuration() -> Value {
    json!({"heartbeatThreshold": "1h", "syncedResources": ["configmaps", "deployments.apps"]})
}

const NAMED: [&str; 2] = ["--external-hostname", "hub.example.com:6443"];

/// Places, adopts, syncs and drains a namespace.
fn story(world: &World) {
    let east = world.cluster("east");

    // The heartbeat controller writes the URL of the syncer's view and the condition of its heartbeat.
    let url = "https://hub.example.com:6443/apis/scheduling.berth.dev/v1alpha1/targets/east.kcp/proxy";
    world.until(
        &["workloadcluster", "east"],
        "has the URL of its view",
        |cluster| cluster["status"]["virtualWorkspaces"] == json!([{"url": url}]),
    );
    world.beat("east");
    world.until(&["workloadcluster", "east"], "is healthy", |cluster| {
        condition(cluster, "HeartbeatHealthy") == Some("True") && condition(cluster, "Ready") == Some("True")
    });
    world.until(&["location", "here"], "counts", |location| {
        location["status"] == json!({"instances": 1, "availableInstances": 1})
            && location["metadata"]["annotations"]["scheduling.kcp.dev/labels"] == "cloud=ours"
    });

    world.namespace("app");
    world.placement("app", "bound", |placement| {
        state(placement, &east) == Some("Bound")
    });
    world.until(&["namespace", "app"], "is synced", |namespace| {
        label(namespace, &east) == "Sync" && condition(namespace, "NamespaceScheduled") == Some("True")
    });
    let hub = &world.hub;
    // The secret is created first: when the next object has a label, the secret has been skipped.
    hub.kubectl("-n app create secret generic unsynced").succeeds();
    hub.kubectl("-n app create configmap settings --from-literal=a=1")
        .succeeds();
    let settings = ["configmap", "settings", "-n", "app"];
    world.until(&settings, "is synced", |object| label(object, &east) == "Sync");
    let secret = world
        .get(&["secret", "unsynced", "-n", "app"])
        .expect("it is there");
    assert!(label(&secret, &east).is_null(), "{secret}");

    // The configuration on the hub replaces the file's.
    let configuration = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "kcp"},
        "spec": {"kcp": {"heartbeatThreshold": "1h", "syncedResources": ["configmaps", "secrets"]}},
    });
    hub.kubectl("create -f -")
        .input(configuration.to_string())
        .succeeds();
    world.until(&["secret", "unsynced", "-n", "app"], "is synced", |object| {
        label(object, &east) == "Sync"
    });
    world.until(
        &["schedulerconfiguration", "kcp"],
        "is said to be valid",
        |object| condition(object, "Valid") == Some("True"),
    );

    // The eviction is propagated from the placement to the namespace and its objects.
    world.patch(
        &["workloadcluster", "east"],
        &json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}}),
    );
    world.placement("app", "removed", |placement| {
        state(placement, &east) == Some("Removing")
    });
    let at = world.until(&["namespace", "app"], "is to leave", |object| {
        deletion(object, &east).is_string()
    });
    let settings = world.until(&settings, "is to leave", |object| {
        deletion(object, &east).is_string()
    });
    assert_eq!(deletion(&settings, &east), deletion(&at, &east));
}

/// Checks that only resources with generated rights and webhooks can be synced, and that requests for others
/// are reported.
fn beyond(world: &World) {
    let hub = &world.hub;
    let patch = json!({"spec": {"kcp": {"syncedResources": ["configmaps", "ingresses.networking.k8s.io"]}}});
    let text = patch.to_string();
    let words = [
        "patch",
        "schedulerconfiguration",
        "kcp",
        "--type=merge",
        "-p",
        &text,
    ];
    let refused = hub.kubectl_args(&words).fails();
    for wanted in [
        "spec.kcp.syncedResources[1]",
        "ingresses.networking.k8s.io",
        "--kcp-synced-resources",
    ] {
        assert!(refused.contains(wanted), "{wanted:?} is not in {refused}");
    }
    // Without the webhook, the condition of the object reports it.
    hub.kubectl("delete validatingwebhookconfiguration berth")
        .succeeds();
    hub.kubectl_args(&words).succeeds();
    let stored = world.until(
        &["schedulerconfiguration", "kcp"],
        "is said not to be in force",
        |object| condition(object, "Valid") == Some("False"),
    );
    assert!(
        stored["status"].to_string().contains("--kcp-synced-resources"),
        "{stored}"
    );
}

fn written(world: &World, writers: &[(&str, &str)]) {
    for (actor, resource) in writers {
        eventually(&format!("{actor} to have written {resource}"), || {
            wrote(&world.hub, actor, resource).then_some(())
        });
    }
    assert_eq!(world.refused(), [Value::Null; 0]);
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn kcps_controllers_write_on_the_hub_as_themselves_with_the_rights_that_are_printed() {
    let world = World::new(&configuration(), &NAMED);
    story(&world);
    let of_kcp = [
        ("berth:location-controller", "locations"),
        ("berth:heartbeat-controller", "workloadclusters"),
    ];
    written(&world, &[&WRITERS[..], &of_kcp].concat());
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn the_hubs_namespaces_are_placed_on_workload_clusters_that_berth_stores() {
    let world = World::owned(&configuration(), &NAMED);
    story(&world);
    written(&world, &WRITERS);
    // The clusters are not on the hub, and a decision of the hub's namespace names their source.
    let crds = world.hub.kubectl("get crd -o name").succeeds();
    assert!(!crds.contains("kcp.dev"), "{crds}");
    let decision = world
        .get(&["decision", "app.kcp", "-n", "app"])
        .expect("it is decided on");
    assert_eq!(decision["spec"]["sourceRef"]["kind"], "Namespace", "{decision}");
    beyond(&world);
}
