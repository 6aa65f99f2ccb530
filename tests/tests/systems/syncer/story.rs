//! A namespace is placed: its objects are copied, their status returns, changes follow, and deleted objects
//! are deleted.

use serde_json::json;

use crate::syncer::world::{World, deployment, parsed, until};

#[test]
fn what_is_in_a_placed_namespace_arrives_and_its_status_returns() {
    let world = World::new(&["east"]);
    let _syncer = world.sync(0);
    let (hub, east) = (&world.hub, &world.clusters[0]);
    world.place("app");
    hub.kubectl("-n app create configmap settings --from-literal=color=blue")
        .succeeds();
    hub.kubectl("-n app create service clusterip web --tcp=80:8080")
        .succeeds();
    hub.kubectl("-n app apply -f -")
        .input(deployment("web", 2))
        .succeeds();

    let settings = east.arrived("configmap", "app", "settings");
    assert_eq!(settings["data"]["color"], "blue");
    assert_eq!(
        settings["metadata"]["labels"]["internal.workloads.kcp.dev/cluster"],
        east.identifier.as_str()
    );
    assert!(!settings.to_string().contains("state.internal"), "{settings}");
    assert_eq!(
        east.arrived("service", "app", "web")["spec"]["ports"][0]["targetPort"],
        8080
    );
    let web = east.arrived("deployment", "app", "web");
    assert_eq!(web["spec"]["replicas"], 2);

    // The object has the finalizer before its copy is created, and keeps it.
    let held = hub.kubectl("-n app get deployment web -o json").json();
    let finalizer = format!("workloads.kcp.dev/syncer-{}", east.identifier);
    assert_eq!(held["metadata"]["finalizers"], json!([finalizer]));

    // The cluster reports; the hub has the status, for the hub's generation.
    let home = east.namespace("app").expect("it is there");
    let status = json!({"status": {"readyReplicas": 2, "replicas": 2, "observedGeneration": web["metadata"]["generation"]}});
    let patch = status.to_string();
    let report = [
        "-n",
        &home,
        "patch",
        "deployment",
        "web",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    east.server.kubectl_args(&report).succeeds();
    let reported = until("the status", || {
        let web = hub.kubectl("-n app get deployment web -o json").json();
        match web["status"]["readyReplicas"] == 2 {
            true => Ok(web),
            false => Err(web.to_string()),
        }
    });
    assert_eq!(
        reported["status"]["observedGeneration"],
        reported["metadata"]["generation"]
    );
    assert!(hub.kubectl("-n app get deployments").succeeds().contains("2/2"));

    // Changes of the hub are copied, and changes on the cluster are reverted.
    hub.kubectl("-n app scale deployment web --replicas=5").succeeds();
    until("the new number", || {
        let web = east.copy("deployment", "app", "web")?;
        (web["spec"]["replicas"] == 5)
            .then_some(())
            .ok_or_else(|| web.to_string())
    });
    let meddle = [
        "-n",
        &home,
        "patch",
        "configmap",
        "settings",
        "--type=merge",
        "-p",
        r#"{"data":{"color":"red"}}"#,
    ];
    east.server.kubectl_args(&meddle).succeeds();
    until("the old color", || {
        let settings = east.copy("configmap", "app", "settings")?;
        (settings["data"]["color"] == "blue")
            .then_some(())
            .ok_or_else(|| settings.to_string())
    });

    // Deleted objects are deleted on both, the copy first.
    hub.kubectl("-n app delete configmap settings --wait=false")
        .succeeds();
    until("the end of it", || {
        let gone = hub.kubectl("-n app get configmap settings").run();
        (!gone.success).then_some(()).ok_or(gone.out)
    });
    assert!(
        east.copy("configmap", "app", "settings").is_err(),
        "the copy goes first"
    );
    hub.kubectl("delete namespace app --wait=false").succeeds();
    until("the end of the namespace", || {
        let upstream = parsed(&hub.kubectl("get namespace app -o json").run());
        match (upstream, east.namespace("app")) {
            (Err(_), None) => Ok(()),
            (upstream, down) => Err(format!("{upstream:?} {down:?}")),
        }
    });
}

#[test]
fn a_syncer_ends_in_order_when_it_is_told_to() {
    let world = World::new(&["east"]);
    let syncer = world.sync(0);
    world.place("app");
    assert_eq!(syncer.terminate(), Some(0));
    // Another syncer continues where it ended.
    world.hub.kubectl("-n app create configmap later").succeeds();
    let _syncer = world.sync(0);
    world.clusters[0].arrived("configmap", "app", "later");
}

#[test]
fn nothing_of_a_namespace_elsewhere_or_of_nobody_arrives() {
    let world = World::new(&["east"]);
    let _syncer = world.sync(0);
    let (hub, east) = (&world.hub, &world.clusters[0]);
    let disabled = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "private",
        "labels": {"experimental.workloads.kcp.dev/scheduling-disabled": "true"}}});
    hub.kubectl("apply -f -").input(disabled.to_string()).succeeds();
    hub.kubectl("-n private create configmap secret-plan").succeeds();
    // The next object has arrived, so an earlier one would have arrived as well.
    world.place("app");
    hub.kubectl("-n app create configmap barrier").succeeds();
    east.arrived("configmap", "app", "barrier");
    assert_eq!(east.namespace("private"), None);
}
