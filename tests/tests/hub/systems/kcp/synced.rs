//! Syncing from a hub: its objects, Berth's view of them, `berth syncer`, and workload clusters, each of
//! which is another `berth serve`.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use berth_tests::{Server, berth, eventually};
use serde_json::{Value, json};

use super::world::{World, deployment, state};

/// A workload cluster and its syncer.
struct Cluster {
    name: &'static str,
    identifier: String,
    server: Server,
    _syncer: Syncer,
}

/// A running `berth syncer`.
pub(super) struct Syncer(Child);

impl Drop for Syncer {
    fn drop(&mut self) {
        // Both fail only when it has already ended, which is the goal.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Cluster {
    fn join(world: &World, name: &'static str) -> Self {
        let identifier = world.cluster(name);
        let view = world.syncer(name, &identifier, &format!("syncer-{name}"));
        // In this server, the syncer is a user; the keys of its marks are guarded in every server that
        // decides.
        let server = Server::start_with(&["--break-glass-group", "system:masters"]);
        Self {
            name,
            identifier,
            _syncer: start(name, &view, &server.kubeconfig()),
            server,
        }
    }

    /// The local namespace of the copies of the hub's `namespace`.
    fn namespace(&self, namespace: &str) -> Option<String> {
        home(&self.server.kubectl("get namespaces -o json").json(), namespace)
    }

    /// The copy of an object in the hub's `namespace`, if it exists.
    fn copy(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let home = self.namespace(namespace)?;
        let words = ["-n", &home, "get", resource, name, "-o", "json"];
        let output = self.server.kubectl_args(&words).run();
        output
            .success
            .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))
    }

    /// Waits until the copy exists, and returns it.
    fn arrived(&self, resource: &str, namespace: &str, name: &str) -> Value {
        eventually(&format!("{resource} {name} on {}", self.name), || {
            self.copy(resource, namespace, name)
        })
    }
}

/// The one of a workload cluster's `namespaces` with the copies of the hub's `namespace`.
pub(super) fn home(namespaces: &Value, namespace: &str) -> Option<String> {
    let mut all = namespaces["items"].as_array().expect("a list").iter();
    let found = all.find(|item| {
        let locator = item["metadata"]["annotations"]["kcp.dev/namespace-locator"]
            .as_str()
            .unwrap_or("{}");
        let locator: Value = serde_json::from_str(locator).expect("a locator is JSON");
        locator["namespace"] == namespace
    });
    found.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned())
}

/// Starts the syncer of the WorkloadCluster `name`.
pub(super) fn start(name: &str, from: &Path, to: &Path) -> Syncer {
    let child = Command::new(berth())
        .args([
            "syncer",
            "--target",
            name,
            "--heartbeat-interval",
            "1s",
            "--from-kubeconfig",
        ])
        .arg(from)
        .arg("--to-kubeconfig")
        .arg(to)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("berth starts");
    Syncer(child)
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_is_on_the_hub_arrives_reports_and_moves_when_its_cluster_is_evicted() {
    story(&World::new(&json!({"heartbeatThreshold": "1h"}), &[]));
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_is_on_the_hub_is_synced_to_workload_clusters_that_berth_stores() {
    story(&World::owned(&json!({"heartbeatThreshold": "1h"}), &[]));
}

/// Checks that objects outside of placed namespaces are not copied, and that a Secret of a placed one
/// arrives at `cluster` and is stored nowhere else.
fn copies_nothing_else(world: &World, cluster: &Cluster) {
    let hub = &world.hub;
    hub.kubectl("-n kube-system create configmap elsewhere --from-literal=mark=unplaced-424242")
        .succeeds();
    hub.kubectl("-n app create secret generic login --from-literal=password=placed-171717")
        .succeeds();
    hub.kubectl("-n app create configmap after --from-literal=mark=placed-565656")
        .succeeds();
    let login = cluster.arrived("secret", "app", "login");
    assert_eq!(login["data"]["password"], "cGxhY2VkLTE3MTcxNw==");
    cluster.arrived("configmap", "app", "after");
    if let Some(copied) = world.stores("placed-565656") {
        assert!(copied, "what is synced is a copy in the store");
        for text in ["unplaced-424242", "cGxhY2VkLTE3MTcxNw", "placed-171717"] {
            assert_eq!(world.stores(text), Some(false), "{text}");
        }
    }
    hub.kubectl("-n app delete secret login").succeeds();
    hub.kubectl("-n app delete configmap after").succeeds();
}

/// Checks all functions of syncers with two workload clusters.
fn story(world: &World) {
    let clusters = [Cluster::join(world, "east"), Cluster::join(world, "west")];
    let hub = &world.hub;
    for cluster in &clusters {
        // Through its syncer's own heartbeat.
        hub.kubectl(&format!(
            "wait --for=condition=Ready workloadcluster/{} --timeout=60s",
            cluster.name
        ))
        .succeeds();
    }
    world.namespace("app");
    let is_bound = |cluster: &Cluster, placement: &serde_json::Map<String, Value>| {
        state(placement, &cluster.identifier) == Some("Bound")
    };
    let placement = world.placement("app", "bound", |placement| {
        clusters.iter().any(|cluster| is_bound(cluster, placement))
    });
    let (old, new) = match is_bound(&clusters[0], &placement) {
        true => (&clusters[0], &clusters[1]),
        false => (&clusters[1], &clusters[0]),
    };
    hub.kubectl("-n app create configmap settings --from-literal=color=blue")
        .succeeds();
    hub.kubectl("-n app apply -f -")
        .input(deployment("web", 2))
        .succeeds();
    assert_eq!(
        old.arrived("configmap", "app", "settings")["data"]["color"],
        "blue"
    );
    let web = old.arrived("deployment", "app", "web");
    assert_eq!(web["spec"]["replicas"], 2);
    copies_nothing_else(world, old);
    assert_eq!(new.namespace("app"), None);

    // The status is returned, for the hub's own generation.
    let home = old.namespace("app").expect("it is there");
    let status = json!({"status": {
        "readyReplicas": 2, "replicas": 2, "observedGeneration": web["metadata"]["generation"],
    }});
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
    old.server.kubectl_args(&report).succeeds();
    let reported = world.until(&["deployment", "web", "-n", "app"], "reports", |web| {
        web["status"]["readyReplicas"] == 2
    });
    assert_eq!(
        reported["status"]["observedGeneration"],
        reported["metadata"]["generation"]
    );

    // A finalizer in its own view keeps a deployment until a coordination controller removes it.
    let soft = format!("finalizers.workloads.kcp.dev/{}", old.identifier);
    let hold = format!("{soft}=ingress");
    hub.kubectl_args(&["-n", "app", "annotate", "deployment", "web", &hold])
        .succeeds();
    world.patch(
        &["workloadcluster", old.name],
        &json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}}),
    );
    world.placement("app", "on its way", |placement| {
        state(placement, &old.identifier) == Some("Removing") && is_bound(new, placement)
    });
    new.arrived("configmap", "app", "settings");
    new.arrived("deployment", "app", "web");
    eventually("the config map to leave", || {
        let upstream = world.get(&["configmap", "settings", "-n", "app"])?;
        let traces = upstream["metadata"].to_string().contains(&old.identifier);
        (!traces && old.copy("configmap", "app", "settings").is_none()).then_some(())
    });
    let held = old.copy("deployment", "app", "web").expect("it is held");
    assert!(held["metadata"]["deletionTimestamp"].is_null(), "{held}");

    let release = format!("{soft}-");
    hub.kubectl_args(&["-n", "app", "annotate", "deployment", "web", &release])
        .succeeds();
    world.placement("app", "moved", |placement| {
        placement.len() == 1 && is_bound(new, placement)
    });
    assert_eq!(old.namespace("app"), None, "it is let go of once it is gone");
    let namespace = world.get(&["namespace", "app"]).expect("it is there");
    assert!(
        !namespace["metadata"].to_string().contains(&old.identifier),
        "{namespace}"
    );

    // Objects that are deleted on the hub are deleted on both, the namespace last.
    hub.kubectl("delete namespace app --wait=false").succeeds();
    eventually("the end of the namespace", || {
        (world.get(&["namespace", "app"]).is_none() && new.namespace("app").is_none()).then_some(())
    });
    assert_eq!(world.refused(), [Value::Null; 0]);
}
