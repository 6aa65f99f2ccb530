//! The view of a syncer, with `kubectl`: its URL is the server of a kubeconfig.

use std::io::{BufRead, BufReader};

use serde_json::json;

use crate::syncer::world::{World, deployment, until};

/// Starts with a namespace on the only cluster, with a config map and a deployment in it.
fn placed() -> World {
    let world = World::new(&["east"]);
    let syncer = world.sync(0);
    world.place("app");
    world
        .hub
        .kubectl("-n app create configmap settings --from-literal=a=1")
        .succeeds();
    world
        .hub
        .kubectl("-n app apply -f -")
        .input(deployment("web", 2))
        .succeeds();
    world.clusters[0].arrived("configmap", "app", "settings");
    world.clusters[0].arrived("deployment", "app", "web");
    syncer.kill();
    world
}

#[test]
fn kubectl_reads_a_view_as_any_other_server() {
    let world = placed();
    let (hub, east) = (&world.hub, &world.clusters[0]);
    hub.kubectl("create namespace kube-own").succeeds();
    hub.kubectl("-n kube-own create configmap elsewhere").succeeds();
    let seen = |arguments: &str| {
        let split: Vec<&str> = arguments.split_whitespace().collect();
        east.view_kubectl(hub, &split)
    };
    let resources = seen("api-resources").succeeds();
    for (name, there) in [
        ("configmaps", true),
        ("deployments", true),
        ("namespaces", true),
        ("targets", false),
        ("roles", false),
    ] {
        assert_eq!(
            resources.lines().any(|line| line.starts_with(name)),
            there,
            "{name}: {resources}"
        );
    }
    let maps = seen("get configmaps -A").succeeds();
    assert!(maps.contains("settings") && !maps.contains("elsewhere"), "{maps}");
    assert!(seen("-n app get deploy").succeeds().contains("0/2"));
    let web = seen("-n app get deployment web -o json").json();
    assert_eq!(web["spec"]["replicas"], 2);
    assert!(
        seen("-n kube-own get configmap elsewhere")
            .fails()
            .contains("(NotFound)")
    );
    assert!(seen("-n app get configmaps -l nothing=here").run().out.is_empty());
    assert!(seen("version").succeeds().contains("Server Version"));
    assert!(
        seen("explain deployment.spec.replicas")
            .succeeds()
            .contains("integer")
    );
    assert!(
        seen("-n app delete configmap settings")
            .fails()
            .contains("orbidden")
    );
    assert!(
        hub.kubectl_as(
            &hub.kubeconfig(),
            &[
                "get",
                "--raw",
                "/apis/scheduling.berth.dev/v1alpha1/targets/none.kcp/proxy/api/v1/configmaps"
            ]
        )
        .fails()
        .contains("NotFound")
    );
}

#[test]
fn a_watch_of_a_view_shows_what_enters_and_leaves() {
    let world = placed();
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let arguments = [
        "-n",
        "app",
        "get",
        "configmaps",
        "-w",
        "--output-watch-events",
        "-o",
        "json",
    ];
    let mut child = east.view_kubectl(hub, &arguments).spawn();
    let lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    let (sender, events) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let texts = lines
            .map_while(Result::ok)
            .filter(|line| line.contains("\"type\":"));
        texts.map_while(|line| sender.send(line).ok()).for_each(drop);
    });
    let next = || {
        events
            .recv_timeout(crate::syncer::world::PATIENCE)
            .expect("an event")
    };
    assert!(next().contains("ADDED"));
    hub.kubectl("-n app create configmap more").succeeds();
    assert!(next().contains("ADDED"));
    hub.kubectl_args(&[
        "-n",
        "app",
        "patch",
        "configmap",
        "more",
        "--type=merge",
        "-p",
        r#"{"data":{"a":"2"}}"#,
    ])
    .succeeds();
    assert!(next().contains("MODIFIED"));
    // It has no finalizer of a syncer, so it is deleted immediately.
    hub.kubectl("-n app delete configmap more").succeeds();
    until("its end", || match next().contains("DELETED") {
        true => Ok(()),
        false => Err("another event".to_owned()),
    });
    child.kill().expect("kubectl runs");
    child.wait().expect("kubectl ends");
    reading.join().expect("the thread does not panic");
}

#[test]
fn a_syncer_writes_its_finalizer_and_the_status_and_nothing_else() {
    let world = placed();
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let patch = |resource: &str, more: &[&str], patch: &str| {
        let mut arguments = vec!["-n", "app", "patch", resource, "web", "--type=merge", "-p", patch];
        arguments.extend(more);
        east.view_kubectl(hub, &arguments)
    };
    patch(
        "deployment",
        &["--subresource=status"],
        r#"{"status":{"readyReplicas":1}}"#,
    )
    .succeeds();
    assert!(hub.kubectl("-n app get deployments").succeeds().contains("1/2"));
    let refused = patch("deployment", &[], r#"{"spec":{"replicas":9}}"#).fails();
    assert!(
        refused.contains("the syncer may only change its own finalizer and the status"),
        "{refused}"
    );
    let refused = patch("deployment", &[], r#"{"metadata":{"finalizers":null}}"#).fails();
    assert!(refused.contains("until the object is being deleted"), "{refused}");
    let label = format!("state.internal.workloads.kcp.dev/{}", east.identifier);
    let dropped = json!({"metadata": {"labels": {label: null}}}).to_string();
    assert!(
        patch("deployment", &[], &dropped)
            .fails()
            .contains("may only change its own finalizer")
    );
}

#[test]
fn a_view_is_for_whom_it_was_granted_to() {
    let world = World::new(&["east", "west"]);
    let hub = &world.hub;
    let [east, west] = &world.clusters[..] else {
        panic!("there are two")
    };
    let path = format!(
        "/apis/scheduling.berth.dev/v1alpha1/targets/{}.kcp/proxy/api/v1/configmaps",
        west.name
    );
    let own = hub.data_dir().join("own.kubeconfig");
    let text = std::fs::read_to_string(&east.view).expect("a kubeconfig");
    let below = format!(
        "/apis/scheduling.berth.dev/v1alpha1/targets/{}.kcp/proxy",
        east.name
    );
    std::fs::write(&own, text.replace(&below, "")).expect("the folder is writable");
    let refused = hub.kubectl_as(&own, &["get", "--raw", &path]).fails();
    assert!(
        refused.contains("cannot get resource \"targets/proxy\"") || refused.contains("orbidden"),
        "{refused}"
    );
    hub.kubectl_as(&own, &["get", "--raw", &format!("{below}/api/v1/configmaps")])
        .succeeds();
    assert!(
        hub.kubectl_as(&own, &["get", "configmaps", "-A"])
            .fails()
            .contains("orbidden")
    );
}

/// Starts a watch of the view, and returns its events.
fn watched(
    world: &World,
    query: &str,
) -> (std::process::Child, std::sync::mpsc::Receiver<serde_json::Value>) {
    let path = format!(
        "/apis/scheduling.berth.dev/v1alpha1/targets/east.kcp/proxy/apis/apps/v1/namespaces/app/deployments?watch=true&{query}"
    );
    let mut child = world.hub.kubectl_args(&["get", "--raw", &path]).spawn();
    let lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
    let (sender, events) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok);
        let events = lines.map(|line| serde_json::from_str(&line).expect("an event is JSON"));
        for event in events {
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    (child, events)
}

#[test]
fn watches_of_a_view_end_when_its_rules_change_so_that_they_agree_with_what_is_got() {
    let world = placed();
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let got = || {
        east.view_kubectl(hub, &["-n", "app", "get", "deployment", "web", "-o", "json"])
            .json()
    };
    east.view_kubectl(
        hub,
        &[
            "-n",
            "app",
            "patch",
            "deployment",
            "web",
            "--subresource=status",
            "--type=merge",
            "-p",
            r#"{"status":{"readyReplicas":1}}"#,
        ],
    )
    .succeeds();
    let before = got();
    assert_eq!(before["status"]["readyReplicas"], 1);
    let version = before["metadata"]["resourceVersion"].as_str().expect("a version");
    let (mut open, events) = watched(&world, &format!("resourceVersion={version}"));

    // From now on, the cluster has a separate status, which it has not reported yet. The object is not
    // written.
    hub.kubectl(
        "annotate workloadcluster east featuregates.experimental.workloads.kcp.dev/advancedscheduling=true",
    )
    .succeeds();
    let ended = events
        .recv_timeout(crate::syncer::world::PATIENCE)
        .expect("an event");
    assert_eq!(
        (&ended["type"], &ended["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    open.wait().expect("kubectl ends");
    let after = got();
    assert_eq!(after["metadata"]["resourceVersion"], version);
    assert_eq!(
        after.get("status").and_then(|status| status.get("readyReplicas")),
        None
    );

    // A watch from an old version must list again as well; from then on, all are consistent.
    let (mut stale, events) = watched(&world, &format!("resourceVersion={version}"));
    let ended = events
        .recv_timeout(crate::syncer::world::PATIENCE)
        .expect("an event");
    assert_eq!(
        (&ended["type"], &ended["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    stale.wait().expect("kubectl ends");
    let list = east
        .view_kubectl(hub, &["-n", "app", "get", "deployments", "-o", "json"])
        .json();
    assert_eq!(list["items"][0].get("status"), after.get("status"));
    let (mut fresh, events) = watched(&world, "resourceVersion=0");
    let first = events
        .recv_timeout(crate::syncer::world::PATIENCE)
        .expect("an event");
    assert_eq!(
        (&first["type"], first["object"].get("status")),
        (&json!("ADDED"), after.get("status"))
    );
    fresh.kill().expect("kubectl runs");
    fresh.wait().expect("kubectl ends");
}
