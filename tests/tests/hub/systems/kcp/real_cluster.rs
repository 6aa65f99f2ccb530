//! Syncing to a real cluster: it allocates its own values, its token controller does not change copied
//! tokens, and an object with an invalid JSON Patch waits until the patch is corrected.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::audit::Witness;
use serde_json::{Value, json};

use super::synced::{Syncer, home, start};
use super::world::{World, deployment, state};

/// The address and the port of the hub's Service, which are already in use in the workload cluster.
const ADDRESS: &str = "10.0.0.77";
const NODE_PORT: u32 = 30_077;

/// A hub, and a real cluster on which the namespace `app` is placed.
struct Pair {
    world: World,
    cluster: Hub,
    identifier: String,
    _syncer: Syncer,
}

impl Pair {
    fn new() -> Self {
        let world = World::new(&json!({"heartbeatThreshold": "1h"}), &[]);
        let mut cluster = Hub::start();
        cluster.start_controllers();
        let identifier = world.cluster("east");
        let view = world.syncer("east", &identifier, "syncer-east");
        let syncer = start("east", &view, &cluster.admin());
        world
            .hub
            .kubectl("wait --for=condition=Ready workloadcluster/east --timeout=60s")
            .succeeds();
        world.namespace("app");
        world.placement("app", "bound", |placement| {
            state(placement, &identifier) == Some("Bound")
        });
        Self {
            world,
            cluster,
            identifier,
            _syncer: syncer,
        }
    }

    /// The cluster's namespace of the copies of `app`.
    fn home(&self) -> Option<String> {
        home(&self.cluster.kubectl("get namespaces -o json").json(), "app")
    }

    /// The copy of `name` of the namespace `app`, if it exists.
    fn copy(&self, resource: &str, name: &str) -> Option<Value> {
        let home = self.home()?;
        let words = ["-n", &home, "get", resource, name, "-o", "json"];
        let output = self.cluster.kubectl_args(&words).run();
        output
            .success
            .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))
    }

    /// Waits until the copy exists and satisfies `wanted`.
    fn arrived(&self, resource: &str, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{resource} {name}: {what}"), || {
            self.copy(resource, name).filter(&wanted)
        })
    }

    /// Creates `object` in the namespace `app` of the hub.
    fn create(&self, object: &Value) {
        let hub = &self.world.hub;
        hub.kubectl("-n app create -f -")
            .input(object.to_string())
            .succeeds();
    }

    fn patch(&self, resource: &str, name: &str, patch: &Value) {
        self.world.patch(&["-n", "app", resource, name], patch);
    }

    /// Creates a ConfigMap and waits for its copy: earlier objects have been processed by then.
    fn barrier(&self, name: &str) {
        self.create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}));
        self.arrived("configmap", name, "arrives", |_| true);
    }

    /// Waits until the condition Synced has `status`, and returns its reason and message.
    fn synced(&self, status: &str) -> String {
        let words = ["workloadcluster", "east"];
        let condition = |cluster: &Value| {
            let conditions = cluster["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            let found = conditions.find(|known| known["type"] == "Synced" && known["status"] == status);
            found.map(|known| format!("{}: {}", known["reason"], known["message"]))
        };
        let cluster = self
            .world
            .until(&words, &format!("Synced is {status}"), |cluster| {
                condition(cluster).is_some()
            });
        condition(&cluster).expect("it is there")
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_a_real_cluster_allocates_is_its_own() {
    let pair = Pair::new();
    let taken = service("taken", 80);
    let taken_words = "-n default create -f -";
    pair.cluster
        .kubectl(taken_words)
        .input(taken.to_string())
        .succeeds();
    let since = pair.cluster.witness();
    services(&pair);
    tokens(&pair, &since);
    pair.synced("True");
}

/// A Service with an address and a port that both clusters may allocate.
fn service(name: &str, target: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {
            "type": "NodePort", "clusterIP": ADDRESS, "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": target, "nodePort": NODE_PORT}],
        },
    })
}

fn services(pair: &Pair) {
    pair.create(&service("web", 80));
    let allocated = |service: &Value| {
        let spec = &service["spec"];
        (spec["clusterIP"].clone(), spec["ports"][0]["nodePort"].clone())
    };
    let web = pair.arrived("service", "web", "arrives", |_| true);
    let own = allocated(&web);
    assert!(own.0 != ADDRESS && own.0.is_string(), "{web}");
    assert!(own.1 != NODE_PORT && own.1.is_number(), "{web}");
    // Only the ports are patched: the cluster's label and finalizer on the hub's Service are guarded.
    let ports = json!([{"port": 80, "targetPort": 8080, "nodePort": NODE_PORT}]);
    pair.patch("service", "web", &json!({"spec": {"ports": ports}}));
    let web = pair.arrived("service", "web", "follows", |web| {
        web["spec"]["ports"][0]["targetPort"] == 8080
    });
    assert_eq!(allocated(&web), own, "and keeps what it was given");
}

/// Checks the token of one of the hub's service accounts, and the account.
fn tokens(pair: &Pair, since: &Witness<'_>) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"},
        "secrets": [{"name": "robot-token"}]});
    pair.create(&account);
    pair.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "robot-token", "annotations": {"kubernetes.io/service-account.name": "robot"}},
    }));
    let token = pair.world.until(
        &["-n", "app", "secret", "robot-token"],
        "has its token",
        |secret| secret["data"]["token"].is_string(),
    );
    let copy = pair.arrived("secret", "robot-token", "has the token", |copy| {
        copy["data"]["token"] == token["data"]["token"]
    });
    assert_eq!(copy["type"], "Opaque");
    let annotations = copy["metadata"]["annotations"].to_string();
    assert!(
        !annotations.contains("kubernetes.io/service-account"),
        "{annotations}"
    );

    let robot = pair.arrived("serviceaccount", "robot", "arrives", |_| true);
    assert!(!robot["secrets"].to_string().contains("robot-token"), "{robot}");
    let home = pair.home().expect("it is there");
    let added = json!({"secrets": [{"name": "added-here"}]}).to_string();
    let words = [
        "-n",
        &home,
        "patch",
        "serviceaccount",
        "robot",
        "--type=merge",
        "-p",
        &added,
    ];
    pair.cluster.kubectl_args(&words).succeeds();
    let label = json!({"metadata": {"labels": {"team": "a"}}});
    pair.patch("serviceaccount", "robot", &label);
    let robot = pair.arrived("serviceaccount", "robot", "follows", |robot| {
        robot["metadata"]["labels"]["team"] == "a"
    });
    assert_eq!(
        robot["secrets"],
        json!([{"name": "added-here"}]),
        "is the cluster's own"
    );

    pair.barrier("after");
    let later = pair.copy("secret", "robot-token").expect("it stays");
    assert_eq!(
        later["metadata"]["uid"], copy["metadata"]["uid"],
        "it was never made again"
    );
    let secrets: Vec<String> = since
        .entries()
        .iter()
        .filter(|entry| entry.resource() == "secrets" && entry.namespace() == home)
        .filter(|entry| ["create", "delete"].contains(&entry.verb()))
        .map(|entry| entry.verb().to_owned())
        .collect();
    assert_eq!(secrets, ["create"], "by nobody else either");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn an_object_whose_spec_diff_cannot_be_applied_waits_until_it_is_mended() {
    let pair = Pair::new();
    pair.world
        .hub
        .kubectl(
            "annotate workloadcluster east featuregates.experimental.workloads.kcp.dev/advancedscheduling=true",
        )
        .succeeds();
    let diff = format!("experimental.spec-diff.workloads.kcp.dev/{}", pair.identifier);
    let mut web: Value = serde_json::from_str(&deployment("web", 3)).expect("it is JSON");
    web["metadata"]["annotations"] =
        json!({&diff: r#"[{"op": "replace", "path": "/replicaz", "value": 0}]"#});
    pair.create(&web);
    pair.barrier("first");
    let message = pair.synced("False");
    assert!(
        message.contains("ObjectsNotSynced") && message.contains("app/web") && message.contains("spec-diff"),
        "{message}"
    );
    assert_eq!(
        pair.copy("deployment", "web"),
        None,
        "three would run where none was meant"
    );

    let mended = json!({"metadata": {"annotations": {&diff: r#"[{"op": "replace", "path": "/replicas", "value": 0}]"#}}});
    pair.patch("deployment", "web", &mended);
    pair.arrived("deployment", "web", "runs none", |web| {
        web["spec"]["replicas"] == 0
    });
    pair.synced("True");

    let broken = json!({"metadata": {"annotations": {&diff: "["}}});
    pair.patch("deployment", "web", &broken);
    pair.synced("False");
    pair.barrier("second");
    let web = pair.copy("deployment", "web").expect("it stays");
    assert_eq!(web["spec"]["replicas"], 0, "as it is");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_cluster_that_was_never_heard_of_is_told_unhealthy_after_the_threshold() {
    let world = World::new(&json!({"heartbeatThreshold": "2s"}), &[]);
    world.cluster("silent");
    world.until(&["workloadcluster", "silent"], "is unhealthy", |cluster| {
        let conditions = cluster["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|known| {
            known["type"] == "HeartbeatHealthy"
                && known["status"] == "False"
                && known["reason"] == "ErrorHeartbeat"
        })
    });
}
