//! A hub, and a Berth with the rights of `berth manifests`. kcp's own kinds are on the hub or in Berth;
//! namespaces and their objects are always on the hub.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::Berth;
use berth_tests::hub::installation::{Installation, ON_HUB, define_systems, trusted};
use serde_json::{Map, Value, json};

/// Berth's user on the hub.
const BERTH: &str = "system:serviceaccount:berth-system:berth";

/// Arguments for only kcp, with its objects in Berth's own store.
const KCP_OWNED: [&str; 5] = [
    "--source=fleet=off",
    "--source=gardener=off",
    "--source=kcp=owned",
    "--source=ocm=off",
    "--source=openmcp=off",
];

/// Longer, with a margin, than a kube-apiserver's time limit of requests through its aggregator that
/// are not long-running.
pub(super) const LONG: Duration = Duration::from_secs(125);

/// A Location of all workload clusters.
const LOCATION: &str = "
apiVersion: scheduling.kcp.dev/v1alpha1
kind: Location
metadata: {name: here, labels: {cloud: ours}}
spec:
  resource: {group: workloads.kcp.dev, version: v1alpha1, resource: workloadclusters}
  instanceSelector: {}
";

/// A hub, and a Berth with kcp.
pub(super) struct World {
    pub(super) hub: Hub,
    berth: Berth,
}

impl World {
    /// Starts a hub with kcp's kinds, and a Berth with kcp's `configuration` in a file, as from a mounted
    /// ConfigMap, and `further` arguments.
    pub(super) fn new(configuration: &Value, further: &[&str]) -> Self {
        let mut hub = Hub::start();
        hub.start_controllers();
        define_systems(&hub);
        Self::with(hub, &ON_HUB, configuration, further)
    }

    /// Starts a hub, and a Berth with only kcp's kinds.
    pub(super) fn owned(configuration: &Value, further: &[&str]) -> Self {
        let mut hub = Hub::start();
        hub.start_controllers();
        Self::with(hub, &KCP_OWNED, configuration, further)
    }

    fn with(hub: Hub, sources: &[&'static str], configuration: &Value, further: &[&str]) -> Self {
        let object = json!({
            "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
            "metadata": {"name": "kcp"}, "spec": {"kcp": configuration},
        });
        let file = hub.file("kcp.yaml", &object.to_string()).display().to_string();
        let mut arguments = vec!["--config", &file];
        arguments.extend(further);
        let berth = Installation::new(sources).install(&hub, &arguments);
        trusted(&hub);
        hub.kubectl("create -f -").input(LOCATION).succeeds();
        Self { hub, berth }
    }

    /// Whether `text` is in Berth's database file; `None` without one, since all objects are on the hub.
    pub(super) fn stores(&self, text: &str) -> Option<bool> {
        let file = std::fs::read(self.berth.data_dir().join("berth.redb")).ok()?;
        Some(memchr::memmem::find(&file, text.as_bytes()).is_some())
    }

    /// Creates a WorkloadCluster, and returns its identifier.
    pub(super) fn cluster(&self, name: &str) -> String {
        let cluster = json!({"apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
            "metadata": {"name": name}, "spec": {}});
        let made = self
            .hub
            .kubectl("create -o json -f -")
            .input(cluster.to_string())
            .json();
        made["metadata"]["uid"].as_str().expect("a uid").to_owned()
    }

    /// Sends a heartbeat of the syncer of `cluster`.
    pub(super) fn beat(&self, cluster: &str) {
        let status = json!({"lastSyncerHeartbeatTime": berth_apimachinery::time::rfc3339(SystemClock.now())});
        self.patch(
            &["workloadcluster", cluster, "--subresource=status"],
            &json!({"status": status}),
        );
    }

    /// Patches the object with kubectl's `words` as administrator.
    pub(super) fn patch(&self, words: &[&str], patch: &Value) {
        let text = patch.to_string();
        let mut arguments = vec!["patch"];
        arguments.extend(words);
        arguments.extend(["--type=merge", "-p", &text]);
        self.hub.kubectl_args(&arguments).succeeds();
    }

    /// Creates a namespace with a request for a place.
    pub(super) fn namespace(&self, name: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"scheduling.berth.dev/kcp": "enabled"}}});
        self.hub
            .kubectl("create -f -")
            .input(namespace.to_string())
            .succeeds();
    }

    /// Waits until the placement of `namespace` satisfies `wanted`.
    pub(super) fn placement(
        &self,
        namespace: &str,
        what: &str,
        wanted: impl Fn(&Map<String, Value>) -> bool,
    ) -> Map<String, Value> {
        eventually(&format!("{namespace} to be {what}"), || {
            let object = self.get(&["namespace", namespace])?;
            let text = object["metadata"]["annotations"]["scheduling.kcp.dev/placement"]
                .as_str()
                .unwrap_or("{}");
            let placement: Map<String, Value> = serde_json::from_str(text).expect("a placement is a map");
            wanted(&placement).then_some(placement)
        })
    }

    /// The hub's object with kubectl's `words`, if it exists.
    pub(super) fn get(&self, words: &[&str]) -> Option<Value> {
        let mut arguments = vec!["get", "-o", "json"];
        arguments.extend(words);
        let output = self.hub.kubectl_args(&arguments).run();
        output
            .success
            .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))
    }

    /// Waits until the object with kubectl's `words` exists and satisfies `test`.
    pub(super) fn until(&self, words: &[&str], what: &str, test: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{}: {what}", words.join(" ")), || {
            self.get(words).filter(&test)
        })
    }

    /// A kubeconfig of `user` for the view of the syncer of `cluster`, with the rights of `berth
    /// syncer-rights`.
    pub(super) fn syncer(&self, cluster: &str, identifier: &str, user: &str) -> PathBuf {
        let output = Command::new(berth_tests::berth())
            .args(["syncer-rights", "--target", cluster, "--user", user])
            .args(["--identifier", identifier])
            .output()
            .expect("berth runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let rights = String::from_utf8(output.stdout).expect("YAML is text");
        self.hub.kubectl("create -f -").input(rights).succeeds();
        self.hub.kubeconfig_below(&view(cluster), user)
    }

    /// Berth's requests that the hub refused because of missing rights, according to its audit log.
    pub(super) fn refused(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.hub.audit_log()).expect("the audit log is there");
        let events = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        let refused = |event: &Value| {
            event["user"]["username"] == BERTH
                && event["responseStatus"]["code"] == 403
                // Refusals of admission are not about rights.
                && event["annotations"]["authorization.k8s.io/decision"] != "allow"
        };
        events.filter(refused).collect()
    }
}

/// The path of the view of a cluster's syncer.
pub(super) fn view(cluster: &str) -> String {
    format!("/apis/scheduling.berth.dev/v1alpha1/targets/{cluster}.kcp/proxy")
}

/// The state of the cluster `identifier` in a placement.
pub(super) fn state<'a>(placement: &'a Map<String, Value>, identifier: &str) -> Option<&'a str> {
    let entry = placement
        .iter()
        .find(|(place, _)| place.ends_with(&format!("+{identifier}")));
    entry.and_then(|(_, state)| state.as_str())
}

/// A deployment.
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
