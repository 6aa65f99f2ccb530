//! The view of a syncer through the aggregator, with `kubectl`: its parts of the hub's objects, and its
//! accepted writes.

use std::io::BufReader;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use berth_tests::eventually;
use serde_json::{Value, json};

use super::world::{LONG, World, deployment, state, view};
use crate::systems::binding::wrote;

const FINALIZER: &str = "workloads.kcp.dev/syncer-";

#[test]
#[ignore = "builds and runs a real kube-apiserver, and watches for two minutes: `make e2e`"]
fn a_syncer_sees_the_hubs_objects_as_they_concern_it_and_writes_them_as_itself() {
    let world = World::new(&json!({"heartbeatThreshold": "1h"}), &[]);
    let hub = &world.hub;
    let east = world.cluster("east");
    world.beat("east");
    let syncer = world.syncer("east", &east, "syncer-east");
    let seen = |arguments: &str| {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        hub.kubectl_as(&syncer, &split)
    };
    world.namespace("app");
    world.placement("app", "bound", |placement| {
        state(placement, &east) == Some("Bound")
    });
    hub.kubectl("-n app create configmap settings --from-literal=a=1")
        .succeeds();
    hub.kubectl("-n app apply -f -")
        .input(deployment("web", 2))
        .succeeds();
    hub.kubectl("-n default create configmap elsewhere").succeeds();
    let label = format!("state.internal.workloads.kcp.dev/{east}");
    let synced = |object: &Value| object["metadata"]["labels"][&label] == "Sync";
    world.until(&["deployment", "web", "-n", "app"], "is synced", synced);
    world.until(&["configmap", "settings", "-n", "app"], "is synced", synced);

    // As any other server, with fewer resources.
    let resources = seen("api-resources").succeeds();
    assert!(
        resources.contains("deployments") && !resources.contains("locations"),
        "{resources}"
    );
    let maps = seen("get configmaps -A").succeeds();
    assert!(maps.contains("settings") && !maps.contains("elsewhere"), "{maps}");
    assert!(
        seen("-n default get configmap elsewhere")
            .fails()
            .contains("(NotFound)")
    );
    let namespace = seen("get namespace app -o json").json();
    assert!(
        !namespace.to_string().contains("scheduling.kcp.dev/placement"),
        "{namespace}"
    );

    let start = Instant::now();
    let mut watch = seen("-n app get configmaps -w --output-watch-events -o json").spawn();
    let (sender, events) = mpsc::channel();
    let output = watch.stdout.take().expect("the output is piped");
    std::thread::spawn(move || {
        let read = serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>();
        read.map_while(Result::ok)
            .map_while(|event| sender.send(event).ok())
            .for_each(drop);
    });
    let next = |what: &str| -> Value {
        let event = events.recv_timeout(Duration::from_secs(60));
        event.unwrap_or_else(|problem| panic!("{what}: {problem}"))
    };
    let added = next("the config map as it is");
    assert_eq!(
        (&added["type"], &added["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("settings"))
    );

    // Only its finalizer and the status can be written.
    let patch = |words: &str, patch: &Value| {
        let text = patch.to_string();
        let mut arguments: Vec<&str> = words.split_whitespace().collect();
        arguments.extend(["--type=merge", "-p", &text]);
        hub.kubectl_as(&syncer, &arguments)
    };
    let finalizer = format!("{FINALIZER}{east}");
    let hold = json!({"metadata": {"finalizers": [finalizer]}});
    patch("-n app patch configmap settings", &hold).succeeds();
    let held = next("the finalizer");
    assert_eq!(
        held["object"]["metadata"]["finalizers"],
        json!([finalizer]),
        "{held}"
    );
    patch("-n app patch deployment web", &hold).succeeds();
    let report = json!({"status": {"readyReplicas": 2, "replicas": 2}});
    patch("-n app patch deployment web --subresource=status", &report).succeeds();
    assert!(
        hub.kubectl("-n app get deployment web")
            .succeeds()
            .contains("2/2")
    );
    let refused = patch("-n app patch deployment web", &json!({"spec": {"replicas": 9}})).fails();
    assert!(
        refused.contains("the syncer may only change its own finalizer and the status"),
        "{refused}"
    );
    assert!(
        seen("-n app delete configmap settings")
            .fails()
            .contains("orbidden")
    );
    let actor = format!("berth:syncer:{east}");
    for resource in ["configmaps", "deployments"] {
        assert!(wrote(hub, &actor, resource), "{actor} did not write {resource}");
    }
    // Only the cluster's own objects, and only for its syncer.
    for (user, cluster) in [("stranger", "east"), ("syncer-east", "west")] {
        let path = format!("{}/api/v1/configmaps", view(cluster));
        let refused = hub
            .kubectl_as(&hub.kubeconfig_for(user, &[]), &["get", "--raw", &path])
            .fails();
        assert!(refused.contains("targets/proxy"), "{user}, {cluster}: {refused}");
    }

    // After a deletion on the hub, the syncer's finalizer keeps it until the syncer reads the deletion and
    // removes the finalizer; then it is deleted immediately.
    hub.kubectl("-n app delete deployment web --wait=false")
        .succeeds();
    world.until(&["deployment", "web", "-n", "app"], "is to leave", |object| {
        object["metadata"]["annotations"][format!("deletion.internal.workloads.kcp.dev/{east}")].is_string()
    });
    let going = seen("-n app get deployment web -o json").json();
    assert!(going["metadata"]["deletionTimestamp"].is_string(), "{going}");
    patch(
        "-n app patch deployment web",
        &json!({"metadata": {"finalizers": null}}),
    )
    .succeeds();
    assert!(
        hub.kubectl("-n app get deployment web")
            .fails()
            .contains("(NotFound)")
    );

    // Without the right to impersonate the syncer, Berth reports the missing right.
    hub.kubectl("delete clusterrolebinding berth:syncer:east:impersonator")
        .succeeds();
    let refused = eventually("the right to be gone", || {
        let output = patch("patch namespace app", &hold).run();
        (!output.success).then_some(output.err)
    });
    assert!(refused.contains("berth syncer-rights --target NAME"), "{refused}");

    // Not a wait for an event: the test is about a watch of this age.
    std::thread::sleep(LONG.saturating_sub(start.elapsed()));
    let change = json!({"data": {"a": "2"}}).to_string();
    hub.kubectl_args(&[
        "-n",
        "app",
        "patch",
        "configmap",
        "settings",
        "--type=merge",
        "-p",
        &change,
    ])
    .succeeds();
    let changed = next("the change after two minutes");
    assert_eq!(
        (&changed["type"], &changed["object"]["data"]["a"]),
        (&json!("MODIFIED"), &json!("2")),
        "{changed}"
    );
    watch.kill().expect("the watch is still there");
    watch.wait().expect("it ends");
}
