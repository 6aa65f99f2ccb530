//! A hub and a Berth, whose rights are those that `berth manifests` prints. kcp's own kinds are on the hub or
//! in Berth; namespaces and what is in them are the hub's in any case.

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

/// kcp's objects are in Berth's own store, and there is no other system.
const KCP_OWNED: [&str; 5] = [
    "--source=fleet=off",
    "--source=gardener=off",
    "--source=kcp=owned",
    "--source=ocm=off",
    "--source=openmcp=off",
];

/// Longer than a kube-apiserver lets any but long-running requests through its aggregator live, with a
/// margin.
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

/// See the module.
pub(super) struct World {
    pub(super) hub: Hub,
    berth: Berth,
}

impl World {
    /// A hub that has kcp's kinds, with a Berth that has kcp's `configuration` in a file, as from a mounted
    /// ConfigMap, and these `further` arguments.
    pub(super) fn new(configuration: &Value, further: &[&str]) -> Self {
        let mut hub = Hub::start();
        hub.start_controllers();
        define_systems(&hub);
        Self::with(hub, &ON_HUB, configuration, further)
    }

    /// World with kcp's kinds in Berth, which has nothing else.
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

    /// Whether `text` stands in Berth's database file; `None` where it has none, since everything is on the
    /// hub.
    pub(super) fn stores(&self, text: &str) -> Option<bool> {
        let file = std::fs::read(self.berth.data_dir().join("berth.redb")).ok()?;
        Some(memchr::memmem::find(&file, text.as_bytes()).is_some())
    }

    /// Makes a WorkloadCluster and gives its identifier.
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

    /// Says for the syncer of `cluster` that it is alive.
    pub(super) fn beat(&self, cluster: &str) {
        let status = json!({"lastSyncerHeartbeatTime": berth_apimachinery::time::rfc3339(SystemClock.now())});
        self.patch(
            &["workloadcluster", cluster, "--subresource=status"],
            &json!({"status": status}),
        );
    }

    /// Patches, as administrator, what `words` name.
    pub(super) fn patch(&self, words: &[&str], patch: &Value) {
        let text = patch.to_string();
        let mut arguments = vec!["patch"];
        arguments.extend(words);
        arguments.extend(["--type=merge", "-p", &text]);
        self.hub.kubectl_args(&arguments).succeeds();
    }

    /// Makes a namespace that is to be placed.
    pub(super) fn namespace(&self, name: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"scheduling.berth.dev/kcp": "enabled"}}});
        self.hub
            .kubectl("create -f -")
            .input(namespace.to_string())
            .succeeds();
    }

    /// Waits until the placement of `namespace` is as `wanted`.
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

    /// The object of the hub that `words` name, if it is there.
    pub(super) fn get(&self, words: &[&str]) -> Option<Value> {
        let mut arguments = vec!["get", "-o", "json"];
        arguments.extend(words);
        let output = self.hub.kubectl_args(&arguments).run();
        output
            .success
            .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))
    }

    /// Waits until the object that `words` name is there and passes `test`.
    pub(super) fn until(&self, words: &[&str], what: &str, test: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{}: {what}", words.join(" ")), || {
            self.get(words).filter(&test)
        })
    }

    /// The kubeconfig of `user`, whose server is the view of the syncer of `cluster`, with the rights that
    /// `berth syncer-rights` prints.
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

    /// Every request of Berth's that the hub refused for want of rights, by its audit log.
    pub(super) fn refused(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.hub.audit_log()).expect("the audit log is there");
        let events = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        let refused = |event: &Value| {
            event["user"]["username"] == BERTH
                && event["responseStatus"]["code"] == 403
                // What admission refuses is no matter of rights.
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
