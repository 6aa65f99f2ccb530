//! Damage of copies on a workload cluster, and a cluster that does not answer.

use serde_json::Value;

use crate::syncer::world::{Cluster, World, until};

const MARK: &str = "internal.workloads.kcp.dev/cluster";

/// Waits until an object has its mark again.
fn marked(cluster: &Cluster, arguments: &[&str]) {
    until("the mark", || {
        let object = cluster
            .server
            .kubectl_args(&[&["get", "-o", "json"], arguments].concat())
            .json();
        match object["metadata"]["labels"][MARK] == cluster.identifier.as_str() {
            true => Ok(()),
            false => Err(object.to_string()),
        }
    });
}

#[test]
fn what_is_taken_off_or_put_into_copies_is_mended_and_goes_with_its_namespace() {
    let mut world = World::new(&["east"]);
    let syncer = world.sync(0);
    world.place("app");
    let hub = &world.hub;
    hub.kubectl("-n app create configmap settings --from-literal=color=blue --from-literal=none=")
        .succeeds();
    let east = &world.clusters[0];
    east.arrived("configmap", "app", "settings");
    let home = east.namespace("app").expect("it is there");
    let below = |arguments: &[&str]| {
        east.server
            .kubectl_args(&[&["-n", &home], arguments].concat())
            .succeeds()
    };

    let unmark = format!("{MARK}-");
    below(&["label", "namespace", &home, &unmark]);
    marked(east, &["namespace", &home]);
    below(&["label", "configmap", "settings", &unmark]);
    marked(east, &["-n", &home, "configmap", "settings"]);

    let patch = r#"{"data": {"none": null, "added": "1"}}"#;
    below(&["patch", "configmap", "settings", "--type=merge", "-p", patch]);
    until("the data", || {
        let copy = east.copy("configmap", "app", "settings")?;
        match copy["data"] == serde_json::json!({"color": "blue", "none": ""}) {
            true => Ok(()),
            false => Err(copy["data"].to_string()),
        }
    });

    // A mark that is lost while the syncer is down does not keep the namespace for ever.
    syncer.kill();
    below(&["label", "namespace", &home, &unmark]);
    hub.kubectl("delete namespace app --wait=false").succeeds();
    let _syncer = world.sync(0);
    until("the namespace to go on both sides", || {
        let gone = world.hub.kubectl("get namespace app").run().success;
        match (gone, world.clusters[0].namespace("app")) {
            (false, None) => Ok(()),
            left => Err(format!("{left:?}")),
        }
    });
    world.clusters[0].server.crash();
    let configuration = "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: kcp}\n\
                         spec: {kcp: {heartbeatThreshold: 2s}}\n";
    world.hub.kubectl("apply -f -").input(configuration).succeeds();
    until("the cluster not to be ready", || {
        let cluster = world.hub.kubectl("get workloadcluster east -o json").json();
        let condition = |name: &str| -> Value {
            let all = cluster["status"]["conditions"].as_array();
            let found = all.into_iter().flatten().find(|known| known["type"] == name);
            found.cloned().unwrap_or_default()
        };
        let (syncer, ready) = (condition("SyncerReady"), condition("Ready"));
        match syncer["reason"] == "ClusterUnreachable" && ready["status"] == "False" {
            true => Ok(()),
            false => Err(cluster["status"].to_string()),
        }
    });
}
