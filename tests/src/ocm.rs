//! Open Cluster Management on a hub: its definitions, and its placement controller with its own service
//! account and rights, all from its Go module.

pub mod world;

use std::process::Command;

use serde_json::json;

use crate::hub::{Hub, Process};
use crate::{eventually, go, ports};

/// The Go module of the placement controller, below `tests`.
const MODULE: &str = "peers/ocm";
/// The namespace of OCM.
const NAMESPACE: &str = "open-cluster-management-hub";
/// The user of the placement controller.
pub const USER: &str = "system:serviceaccount:open-cluster-management-hub:placement-controller-sa";
/// The full name of the resource of decisions.
pub const DECISIONS: &str = "placementdecisions.cluster.open-cluster-management.io";
/// The full name of the resource of requests.
pub const PLACEMENTS: &str = "placements.cluster.open-cluster-management.io";
/// Highest number of passes over all requests until their decisions no longer change.
const ROUNDS: usize = 10;

/// Creates OCM's own definitions, its namespace, and the rights of its placement controller.
///
/// # Panics
/// When the module cannot be downloaded, or the hub refuses.
pub fn define(hub: &Hub) {
    let folder = go::module(MODULE, "open-cluster-management.io/ocm").join("manifests/cluster-manager/hub");
    hub.ensure(&["create", "namespace", NAMESPACE]);
    let files = std::fs::read_dir(&folder)
        .expect("the module has manifests")
        .flatten();
    for entry in files {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".crd.yaml") && name.contains("clusters.open-cluster-management.io") {
            let file = entry.path().display().to_string();
            hub.kubectl_args(&["create", "-f", &file]).succeeds();
        }
        if name.starts_with("cluster-manager-placement-") {
            let template = std::fs::read_to_string(entry.path()).expect("it can be read");
            hub.kubectl("apply -f -").input(filled_in(&template)).succeeds();
        }
    }
    hub.kubectl("wait --for=condition=Established crd --all --timeout=60s")
        .succeeds();
}

/// A template of OCM's operator with the names of its usual installation, without further labels.
fn filled_in(template: &str) -> String {
    let text = template
        .replace("{{ .ClusterManagerName }}", "cluster-manager")
        .replace("{{ .ClusterManagerNamespace }}", NAMESPACE);
    let lines = text
        .lines()
        .filter(|line| !line.contains("{{") && line.trim() != "labels:");
    lines.map(|line| format!("{line}\n")).collect()
}

/// OCM's placement controller, which runs until this value is dropped.
pub struct Controller(Process);

impl Controller {
    /// Starts the controller, and waits until it leads.
    ///
    /// # Panics
    /// When the build fails, or the controller does not lead in time.
    #[must_use]
    pub fn start(hub: &Hub) -> Self {
        let program = go::build(MODULE, "./controller", "controller");
        let kubeconfig = hub.kubeconfig_for_service_account(NAMESPACE, "placement-controller-sa");
        let witness = hub.witness();
        let mut command = Command::new(program);
        command
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--namespace={NAMESPACE}"))
            .arg(format!("--listen=127.0.0.1:{}", ports::free()))
            // The default times are too long for tests.
            .args([
                "--leader-election-lease-duration=10s",
                "--leader-election-renew-deadline=8s",
                "--leader-election-retry-period=2s",
                // It writes some 20 PlacementDecisions for a request of 2,000 clusters, at 50 a second by default.
                "--kube-api-qps=5000",
                "--kube-api-burst=5000",
            ])
            .env("POD_NAME", "placement-controller");
        let process = hub.run(&mut command, "placement-controller");
        let works = || match hub.audit_log().exists() {
            true => {
                let entries = witness.entries();
                entries.iter().any(|entry| {
                    entry.user() == USER && entry.verb() == "watch" && entry.resource() == DECISIONS
                })
            }
            // A hub for benchmarks does not write an audit log.
            false => {
                let lease = hub.kubectl(&format!(
                    "get lease placement-lock -n {NAMESPACE} -o jsonpath={{.spec.holderIdentity}}"
                ));
                !lease.run().out.is_empty()
            }
        };
        eventually(
            &format!("OCM's placement controller to work:\n{}", process.tail()),
            || works().then_some(()),
        );
        Self(process)
    }

    /// Ends the controller orderly, as scaling its Deployment to zero does.
    pub fn stop(mut self) {
        self.0.terminate();
    }
}

/// Waits until the controller has decided this number of requests.
///
/// # Panics
/// When the controller makes no progress.
pub fn decided(hub: &Hub, requests: usize) {
    let mut before = 0;
    while before < requests {
        before = eventually("more requests to be decided", || {
            let list = hub.kubectl(&format!("get {PLACEMENTS} -A -o json")).json();
            let all = list["items"].as_array()?.iter();
            let count = all.filter(|one| one["status"]["conditions"].is_array()).count();
            (count > before || count >= requests).then_some(count)
        });
    }
}

/// Triggers decisions of every request, until they no longer change: the controller's decisions depend on its
/// decisions of other requests, and it reads a request only after an event for it.
///
/// # Panics
/// When the decisions keep changing.
pub fn settle(hub: &Hub) {
    let mut before = hub.versions(DECISIONS);
    for round in 0..ROUNDS {
        let touch = format!("annotate {PLACEMENTS} --all -A --overwrite brownfield=round-{round}");
        hub.kubectl(&touch).succeeds();
        pass(hub, round);
        let after = hub.versions(DECISIONS);
        if after == before {
            return;
        }
        before = after;
    }
    panic!("OCM's placement controller goes on moving after {ROUNDS} rounds");
}

/// Waits until the controller has processed all events so far: it works in order, so a last request without a
/// feasible cluster is decided after all others.
fn pass(hub: &Hub, round: usize) {
    let name = format!("last-{round}");
    let last = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": name, "namespace": "default"}, "spec": {},
    });
    hub.kubectl("create -f -").input(last.to_string()).succeeds();
    eventually("the last request to be decided", || {
        let placement = hub
            .kubectl(&format!("get {PLACEMENTS} {name} -n default -o json"))
            .json();
        placement["status"]["conditions"].is_array().then_some(())
    });
    hub.kubectl(&format!("delete {PLACEMENTS} {name} -n default"))
        .succeeds();
    // Without a garbage collector, its decision is not deleted.
    hub.kubectl(&format!(
        "delete {DECISIONS} -n default -l cluster.open-cluster-management.io/placement={name}"
    ))
    .succeeds();
}
