//! Helm 3 and 4 with a chart of Berth's kinds: installed, upgraded, rolled back and uninstalled behind a real
//! kube-apiserver. Helm 3 patches, Helm 4 applies on the server; both preserve the scheduler's decisions and
//! others' fields.

use berth_tests::eventually;
use berth_tests::helm::Helm;
use berth_tests::hub::{Berth, Hub};
use serde_json::{Value, json};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/helm/placed");
const NAMESPACE: &str = "garden-dev";
const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";

/// A release of one Helm, and its hub.
struct Release {
    helm: Helm,
    name: &'static str,
    hub: &'static Hub,
    kubeconfig: String,
}

impl Release {
    fn new(helm: Helm, name: &'static str) -> Self {
        let (hub, _) = Berth::shared();
        let kubeconfig = hub.admin().display().to_string();
        Self {
            helm,
            name,
            hub,
            kubeconfig,
        }
    }

    /// Runs a command on the release, which must succeed.
    fn done(&self, command: &str, arguments: &[&str]) -> String {
        let words = [
            &[command, self.name],
            arguments,
            &["--kubeconfig", &self.kubeconfig],
        ]
        .concat();
        self.helm.done(NAMESPACE, &words)
    }

    /// Runs a command on the release, which must fail, and returns its error.
    fn fails(&self, command: &str, arguments: &[&str]) -> String {
        let words = [
            &[command, self.name],
            arguments,
            &["--kubeconfig", &self.kubeconfig],
        ]
        .concat();
        let output = self.helm.run(NAMESPACE, &words);
        assert!(!output.status.success(), "helm {words:?} went");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn get(&self, object: &str) -> Value {
        let command = format!("-n {NAMESPACE} get {object} -o json --show-managed-fields");
        self.hub.kubectl(&command).json()
    }

    fn placement(&self) -> Value {
        self.get(&format!("{PLACEMENTS} {}-web", self.name))
    }

    fn shoot(&self) -> Value {
        self.get(&format!("shoot {}", self.name))
    }

    /// Waits until the shoot has a seed, and returns it.
    fn bound(&self) -> Value {
        eventually("the shoot to have a seed", || {
            let shoot = self.shoot();
            shoot["spec"]["seedName"].is_string().then_some(shoot)
        })
    }

    /// Objects with the label of the release.
    fn standing(&self) -> Vec<String> {
        let command = format!(
            "-n {NAMESPACE} get {PLACEMENTS},shoots -l app.kubernetes.io/instance={} -o name",
            self.name
        );
        self.hub
            .kubectl(&command)
            .succeeds()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// The operations of Helm's entries about the main object.
fn operations_of_helm(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["managedFields"].as_array().expect("managers");
    let own = list
        .iter()
        .filter(|entry| entry["manager"] == "helm" && entry.get("subresource").is_none());
    own.map(|entry| entry["operation"].as_str().expect("an operation"))
        .collect()
}

/// Installs, upgrades, rolls back and uninstalls the chart with `helm`, whose writes are of the kind
/// `operation`.
fn lives(helm: Helm, name: &'static str, operation: &str) {
    let release = Release::new(helm, name);
    release.done("install", &[CHART]);
    let placement = release.placement();
    assert_eq!(placement["spec"]["numberOfClusters"], 1);
    assert_eq!(operations_of_helm(&placement), [operation], "{placement}");
    let seed = release.bound()["spec"]["seedName"].clone();
    let label = format!("-n {NAMESPACE} label {PLACEMENTS} {name}-web owner=ann");
    release.hub.kubectl(&label).succeeds();

    let values = "clusters=2,placements={web,api},shoot.purpose=development,shoot.maximum=5";
    release.done("upgrade", &[CHART, "--set", values]);
    let (placement, shoot) = (release.placement(), release.shoot());
    assert_eq!(placement["spec"]["numberOfClusters"], 2);
    assert_eq!(placement["metadata"]["labels"]["owner"], "ann", "{placement}");
    assert_eq!(shoot["spec"]["purpose"], "development");
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["maximum"], 5);
    assert_eq!(
        shoot["spec"]["seedName"], seed,
        "the scheduler's decision stays: {shoot}"
    );
    assert_eq!(release.standing().len(), 3);

    release.done("rollback", &["1"]);
    let (placement, shoot) = (release.placement(), release.shoot());
    assert_eq!(placement["spec"]["numberOfClusters"], 1);
    assert_eq!(placement["metadata"]["labels"]["owner"], "ann", "{placement}");
    assert_eq!(shoot["spec"]["purpose"], "evaluation");
    assert_eq!(shoot["spec"]["provider"]["workers"][0]["maximum"], 3);
    assert_eq!(shoot["spec"]["seedName"], seed);
    assert_eq!(
        release.standing().len(),
        2,
        "the second placement went with the rollback"
    );
    assert_eq!(operations_of_helm(&placement), [operation], "{placement}");

    release.done("uninstall", &[]);
    assert_eq!(release.standing(), Vec::<String>::new());
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn helm_3_installs_upgrades_rolls_back_and_uninstalls_placements_and_shoots() {
    lives(Helm::Three, "three", "Update");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn helm_4_applies_upgrades_rolls_back_and_uninstalls_placements_and_shoots() {
    lives(Helm::Four, "four", "Apply");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn helm_4_meets_the_conflict_with_another_manager_and_forces_it() {
    let release = Release::new(Helm::Four, "fought");
    release.done("install", &[CHART]);
    let foreign = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "fought-web", "namespace": NAMESPACE}, "spec": {"numberOfClusters": 7}});
    let command =
        format!("-n {NAMESPACE} apply --server-side --field-manager=autoscaler --force-conflicts -f -");
    release
        .hub
        .kubectl(&command)
        .input(foreign.to_string())
        .succeeds();
    let error = release.fails("upgrade", &[CHART, "--set", "clusters=3"]);
    assert!(
        error.contains("conflict with \"autoscaler\"") && error.contains(".spec.numberOfClusters"),
        "{error}"
    );
    assert_eq!(release.placement()["spec"]["numberOfClusters"], 7);
    release.done("upgrade", &[CHART, "--set", "clusters=3", "--force-conflicts"]);
    assert_eq!(release.placement()["spec"]["numberOfClusters"], 3);
    release.done("uninstall", &[]);
}
