//! A hub with workload clusters, and the syncers between them.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use berth_tests::{Output, Server, berth};
use serde_json::{Value, json};

/// Time limit of a test's waits: the machine may be slow.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Calls `ask` until it succeeds; fails after the deadline with the last error.
pub(super) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(problem) if start.elapsed() > PATIENCE => panic!("waited {PATIENCE:?} for {what}: {problem}"),
            Err(_) => std::thread::park_timeout(Duration::from_millis(50)),
        }
    }
}

/// A running `berth syncer`.
pub(super) struct Syncer {
    child: Child,
}

impl Syncer {
    /// Kills the syncer without warning.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("the syncer runs");
        self.child.wait().expect("the syncer ends");
    }

    /// Terminates the syncer, and returns its exit code.
    pub(super) fn terminate(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill runs");
        assert!(sent.success());
        until("the syncer to end", || {
            match self.child.try_wait().expect("the syncer is ours") {
                Some(status) => Ok(status.code()),
                None => Err("it runs".to_owned()),
            }
        })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        // Both fail only when it has already ended, which is the goal.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One workload cluster, with the name of its WorkloadCluster on the hub.
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) identifier: String,
    pub(super) server: Server,
    /// A kubeconfig for the cluster's view of the hub.
    pub(super) view: PathBuf,
}

/// A hub and its workload clusters.
pub(super) struct World {
    pub(super) hub: Server,
    pub(super) clusters: Vec<Cluster>,
}

const LOCATION: &str = "
apiVersion: scheduling.kcp.dev/v1alpha1
kind: Location
metadata: {name: here}
spec:
  resource: {group: workloads.kcp.dev, version: v1alpha1, resource: workloadclusters}
  instanceSelector: {}
";

impl World {
    /// Starts a hub with the workload clusters `names`, without syncers.
    pub(super) fn new(names: &[&str]) -> Self {
        let hub = Server::start();
        hub.kubectl("apply -f -").input(LOCATION).succeeds();
        let clusters = names.iter().map(|name| Cluster::join(&hub, name)).collect();
        Self { hub, clusters }
    }

    /// Starts the syncer of a cluster, with a heartbeat every second.
    pub(super) fn sync(&self, cluster: usize) -> Syncer {
        self.sync_with(cluster, &[])
    }

    /// Starts the syncer with `more` arguments.
    pub(super) fn sync_with(&self, cluster: usize, more: &[&str]) -> Syncer {
        self.sync_at(cluster, "1s", more)
    }

    /// Starts the syncer with a heartbeat every `interval`, and `more` arguments.
    pub(super) fn sync_at(&self, cluster: usize, interval: &str, more: &[&str]) -> Syncer {
        let cluster = &self.clusters[cluster];
        let child = Command::new(berth())
            .args([
                "syncer",
                "--target",
                &cluster.name,
                "--heartbeat-interval",
                interval,
            ])
            .args(more)
            .arg("--from-kubeconfig")
            .arg(&cluster.view)
            .arg("--to-kubeconfig")
            .arg(cluster.server.kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("berth starts");
        Syncer { child }
    }

    /// Waits until the condition `kind` of the WorkloadCluster of `cluster` satisfies `wanted`, and returns
    /// it.
    pub(super) fn condition(&self, cluster: usize, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let name = &self.clusters[cluster].name;
        until(&format!("the condition {kind} of {name}"), || {
            let object = self
                .hub
                .kubectl_args(&["get", "workloadcluster", name, "-o", "json"])
                .json();
            let conditions = object["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            match conditions.find(|known| known["type"] == kind && wanted(known)) {
                Some(condition) => Ok(condition.clone()),
                None => Err(object["status"].to_string()),
            }
        })
    }

    /// Creates a namespace on the hub, waits until it is bound to a cluster, and returns its placement.
    pub(super) fn place(&self, namespace: &str) -> Value {
        self.hub
            .kubectl_args(&["create", "namespace", namespace])
            .succeeds();
        self.placement(namespace, |placement| {
            placement.values().any(|state| state == "Bound")
        })
    }

    /// Waits until the placement of `namespace` satisfies `wanted`.
    pub(super) fn placement(
        &self,
        namespace: &str,
        wanted: impl Fn(&serde_json::Map<String, Value>) -> bool,
    ) -> Value {
        until(&format!("the placement of {namespace}"), || {
            let object = self
                .hub
                .kubectl_args(&["get", "namespace", namespace, "-o", "json"])
                .json();
            let text = object["metadata"]["annotations"]["scheduling.kcp.dev/placement"]
                .as_str()
                .unwrap_or("{}");
            let placement: Value = serde_json::from_str(text).expect("a placement is JSON");
            match placement.as_object().filter(|map| wanted(map)) {
                Some(_) => Ok(placement),
                None => Err(object.to_string()),
            }
        })
    }
}

/// Creates the WorkloadCluster `name`, and returns its identifier.
pub(super) fn register(hub: &Server, name: &str) -> String {
    let cluster = json!({"apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": name}, "spec": {}});
    hub.kubectl("apply -f -").input(cluster.to_string()).succeeds();
    let stored = hub
        .kubectl_args(&["get", "workloadcluster", name, "-o", "json"])
        .json();
    stored["metadata"]["uid"].as_str().expect("a uid").to_owned()
}

impl Cluster {
    fn join(hub: &Server, name: &str) -> Self {
        let identifier = register(hub, name);
        let user = format!("syncer-{name}");
        hub.kubectl("apply -f -").input(grant(&user, name)).succeeds();
        let view = hub.data_dir().join(format!("{user}.kubeconfig"));
        let url = format!(
            "{}/apis/scheduling.berth.dev/v1alpha1/targets/{name}.kcp/proxy",
            hub.url()
        );
        let issued = Command::new(berth())
            .args(["kubeconfig", "--user", &user, "--server", &url, "--data-dir"])
            .arg(hub.data_dir())
            .arg("-o")
            .arg(&view)
            .output()
            .expect("berth runs");
        assert!(
            issued.status.success(),
            "{}",
            String::from_utf8_lossy(&issued.stderr)
        );
        Self {
            name: name.to_owned(),
            identifier,
            // In a server that does not decide, the keys of a syncer's marks are not guarded.
            server: Server::start_with(&["--source=kcp=off"]),
            view,
        }
    }

    /// The local namespace of the copies of the hub's `namespace`.
    pub(super) fn namespace(&self, namespace: &str) -> Option<String> {
        let list = self.server.kubectl("get namespaces -o json").json();
        let found = list["items"].as_array().expect("a list").iter().find(|item| {
            let locator = item["metadata"]["annotations"]["kcp.dev/namespace-locator"]
                .as_str()
                .unwrap_or("{}");
            let locator: Value = serde_json::from_str(locator).expect("a locator is JSON");
            locator["namespace"] == namespace
        });
        found.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned())
    }

    /// The copy of an object in the hub's `namespace`.
    pub(super) fn copy(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let home = self
            .namespace(namespace)
            .ok_or_else(|| format!("{namespace} is not on {}", self.name))?;
        let got = self
            .server
            .kubectl_args(&["-n", &home, "get", resource, name, "-o", "json"])
            .run();
        parsed(&got)
    }

    /// Waits until the copy exists, and returns it.
    pub(super) fn arrived(&self, resource: &str, namespace: &str, name: &str) -> Value {
        until(&format!("{resource} {name} on {}", self.name), || {
            self.copy(resource, namespace, name)
        })
    }

    /// A call of `kubectl` with this cluster's view of the hub, as its syncer.
    pub(super) fn view_kubectl(&self, hub: &Server, arguments: &[&str]) -> berth_tests::Kubectl {
        hub.kubectl_as(&self.view, arguments)
    }
}

/// The answer of `kubectl get -o json`.
pub(super) fn parsed(got: &Output) -> Result<Value, String> {
    match got.success {
        true => serde_json::from_str(&got.out).map_err(|problem| problem.to_string()),
        false => Err(got.err.clone()),
    }
}

/// The rights of a syncer: its view, and its heartbeat.
fn grant(user: &str, cluster: &str) -> String {
    format!(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {user}}}
rules:
- {{apiGroups: [scheduling.berth.dev], resources: [targets/proxy], resourceNames: [{cluster}.kcp], verbs: [get, update, patch]}}
- {{apiGroups: [workloads.kcp.dev], resources: [workloadclusters], resourceNames: [{cluster}], verbs: [get]}}
- {{apiGroups: [workloads.kcp.dev], resources: [workloadclusters/status], resourceNames: [{cluster}], verbs: [patch]}}
- {{apiGroups: [''], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {user}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {user}}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]
"
    )
}

/// A deployment for the hub.
pub(super) fn deployment(name: &str, replicas: u32) -> String {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
    .to_string()
}
