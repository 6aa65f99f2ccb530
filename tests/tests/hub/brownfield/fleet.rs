//! A hub of KubeFleet whose hub agent continues beside Berth, simulated by a client with its user and its
//! verbs: its rollouts, evictions and cleanups are never refused.

use std::path::PathBuf;

use berth_tests::eventually;
use berth_tests::example::example;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load_text;
use berth_tests::hub::installation::{Installation, define_systems, trusted};
use serde_json::{Value, json};

use crate::brownfield::dump::Dump;
use crate::brownfield::healthy;
use crate::brownfield::observe::uninstalled;

const PLACEMENT: &str = "clusterresourceplacement";
const BINDING: &str = "clusterresourcebinding";
const SNAPSHOT: &str = "clusterschedulingpolicysnapshot";
const OF: &str = "kubernetes-fleet.io/parent-CRP=two-regions";

/// KubeFleet's hub agent.
struct Agent<'a> {
    hub: &'a Hub,
    kubeconfig: PathBuf,
}

impl<'a> Agent<'a> {
    fn new(hub: &'a Hub) -> Self {
        let kubeconfig = hub.kubeconfig_for_service_account("fleet-system", "hub-agent-sa");
        hub.kubectl("create clusterrole hub-agent --verb=* --resource=*.placement.kubernetes-fleet.io")
            .succeeds();
        hub.kubectl("create clusterrolebinding hub-agent --clusterrole=hub-agent --serviceaccount=fleet-system:hub-agent-sa")
            .succeeds();
        Self { hub, kubeconfig }
    }

    fn kubectl(&self, words: &str) -> berth_tests::Kubectl {
        let words: Vec<&str> = words.split(' ').collect();
        self.hub.kubectl_as(&self.kubeconfig, &words)
    }

    fn patch(&self, what: &str, change: &Value) {
        let mut words = vec!["patch"];
        words.extend(what.split(' '));
        let change = change.to_string();
        words.extend(["--type=merge", "-p", &change]);
        self.hub.kubectl_as(&self.kubeconfig, &words).succeeds();
    }

    /// Creates the objects of KubeFleet's own scheduler for a placement, where it decides.
    fn schedules(&self) {
        self.holds(PLACEMENT, "two-regions", "kubernetes-fleet.io/scheduler-cleanup");
        let snapshot = json!({
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot",
            "metadata": {
                "name": "two-regions-0",
                "labels": {
                    "kubernetes-fleet.io/parent-CRP": "two-regions", "kubernetes-fleet.io/is-latest-snapshot": "true",
                    "kubernetes-fleet.io/policy-index": "0",
                },
                "annotations": {"kubernetes-fleet.io/CRP-generation": "1", "kubernetes-fleet.io/number-of-clusters": "2"},
            },
            "spec": {"policyHash": "YQ==", "policy": {"placementType": "PickN"}},
        });
        self.kubectl("create -f -").input(snapshot.to_string()).succeeds();
        self.patch(
            &format!("{SNAPSHOT} two-regions-0 --subresource=status"),
            &json!({"status": {"observedCRPGeneration": 1}}),
        );
        for cluster in ["member-eu-1", "member-us-1"] {
            let binding = json!({
                "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
                "metadata": {
                    "name": format!("two-regions-{cluster}"),
                    "labels": {"kubernetes-fleet.io/parent-CRP": "two-regions"},
                    "finalizers": ["kubernetes-fleet.io/scheduler-crb-cleanup"],
                },
                "spec": {
                    "state": "Scheduled", "resourceSnapshotName": "", "schedulingPolicySnapshotName": "two-regions-0",
                    "targetCluster": cluster, "clusterDecision": {"clusterName": cluster, "selected": true, "reason": "picked"},
                },
            });
            self.kubectl("create -f -").input(binding.to_string()).succeeds();
        }
    }

    /// Adds a finalizer to an object.
    fn holds(&self, kind: &str, name: &str, finalizer: &str) {
        let mut all = finalizers(self.hub, kind, name);
        all.push(finalizer.to_owned());
        self.patch(
            &format!("{kind} {name}"),
            &json!({"metadata": {"finalizers": all}}),
        );
    }

    /// Removes finalizers from an object, if both exist.
    fn lets_go(&self, kind: &str, name: &str, which: &[&str]) {
        if !self.hub.kubectl(&format!("get {kind} {name}")).run().success {
            return;
        }
        let all = finalizers(self.hub, kind, name);
        let left: Vec<&String> = all.iter().filter(|one| !which.contains(&one.as_str())).collect();
        if left.len() < all.len() {
            self.patch(
                &format!("{kind} {name}"),
                &json!({"metadata": {"finalizers": left}}),
            );
        }
    }

    /// Rolls every binding out.
    fn rolls_out(&self) {
        for binding in bindings(self.hub) {
            let name = binding["metadata"]["name"].as_str().expect("it has a name");
            self.patch(
                &format!("{BINDING} {name}"),
                &json!({"spec": {"state": "Bound", "resourceSnapshotName": "two-regions-0-snapshot",
                                 "applyStrategy": {"type": "ServerSideApply"}}}),
            );
            self.holds(BINDING, name, "kubernetes-fleet.io/work-cleanup");
            let applied = json!({"type": "Applied", "status": "True", "reason": "AllWorkHaveBeenApplied", "message": "",
                                 "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1});
            self.patch(
                &format!("{BINDING} {name} --subresource=status"),
                &json!({"status": {"conditions": [applied]}}),
            );
        }
    }

    /// Evicts one binding: deletes it, and cleans up after it.
    fn evicts(&self, name: &str, finalizers: &[&str]) {
        self.kubectl(&format!("delete {BINDING} {name} --wait=false"))
            .succeeds();
        self.lets_go(BINDING, name, finalizers);
        eventually("the evicted binding to be gone", || {
            let there = self.hub.kubectl(&format!("get {BINDING} {name}")).run();
            there.err.contains("NotFound").then_some(())
        });
    }

    /// Cleans up after a placement that is being deleted, with its snapshots as a collection.
    fn cleans_up(&self, finalizers: &[&str]) {
        let path = format!(
            "/apis/placement.kubernetes-fleet.io/v1beta1/clusterschedulingpolicysnapshots?labelSelector={}",
            OF.replace('/', "%2F").replace('=', "%3D")
        );
        self.kubectl(&format!("delete --raw {path}")).succeeds();
        for binding in bindings(self.hub) {
            let name = binding["metadata"]["name"].as_str().expect("it has a name");
            self.kubectl(&format!(
                "delete {BINDING} {name} --wait=false --ignore-not-found"
            ))
            .succeeds();
            self.lets_go(BINDING, name, finalizers);
        }
        self.lets_go(
            PLACEMENT,
            "two-regions",
            &[&["kubernetes-fleet.io/crp-cleanup"], finalizers].concat(),
        );
    }
}

fn finalizers(hub: &Hub, kind: &str, name: &str) -> Vec<String> {
    let object = hub.kubectl(&format!("get {kind} {name} -o json")).json();
    let all = object["metadata"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    all.iter()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

fn bindings(hub: &Hub) -> Vec<Value> {
    let list = hub.kubectl(&format!("get {BINDING} -l {OF} -o json")).json();
    list["items"].as_array().cloned().unwrap_or_default()
}

/// Waits until there are two bindings, without one named `gone`, and returns them.
fn two(hub: &Hub, gone: &str) -> Vec<Value> {
    eventually("two bindings", || {
        let all = bindings(hub);
        let gone = all.iter().any(|binding| binding["metadata"]["name"] == gone);
        (all.len() == 2 && !gone).then_some(all)
    })
}

/// Runs a placement's whole lifecycle with the agent's work. Where Berth decides, it creates and releases the
/// objects of the agent's scheduler.
fn life(hub: &Hub, agent: &Agent<'_>, berth_decides: bool) {
    let own: &[&str] = match berth_decides {
        true => &["kubernetes-fleet.io/work-cleanup"],
        false => &[
            "kubernetes-fleet.io/work-cleanup",
            "kubernetes-fleet.io/scheduler-crb-cleanup",
            "kubernetes-fleet.io/scheduler-cleanup",
        ],
    };
    load_text(hub, "placement.yaml", &example("fleet/pick-n.yaml"));
    agent.holds(PLACEMENT, "two-regions", "kubernetes-fleet.io/crp-cleanup");
    if !berth_decides {
        agent.schedules();
    }
    let evicted = two(hub, "")[0]["metadata"]["name"]
        .as_str()
        .expect("it has a name")
        .to_owned();
    agent.rolls_out();
    agent.evicts(&evicted, own);
    if berth_decides {
        two(hub, &evicted);
        agent.rolls_out();
    }
    hub.kubectl(&format!("delete {PLACEMENT} two-regions --wait=false"))
        .succeeds();
    eventually("the placement to be gone", || {
        agent.cleans_up(own);
        let there = hub.kubectl(&format!("get {PLACEMENT} two-regions")).run();
        there.err.contains("NotFound").then_some(())
    });
    for kind in [BINDING, SNAPSHOT] {
        let left = hub.kubectl(&format!("get {kind} -o name")).succeeds();
        assert!(left.is_empty(), "{left}");
    }
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn kubefleets_agent_rolls_out_evicts_and_cleans_up_beside_berth_in_every_mode() {
    let mut hub = Hub::start();
    hub.start_controllers();
    define_systems(&hub);
    load_text(&hub, "fleet.yaml", &example("fleet/fleet.yaml"));
    let agent = Agent::new(&hub);
    let before = Dump::of(&hub);
    let sources = ["--source=fleet=hub"];
    for observes in [true, false] {
        let witness = hub.witness();
        let installation = Installation::new(&sources);
        let installation = match observes {
            true => installation.observing(),
            false => installation,
        };
        let running = installation.install(&hub, &[]);
        if !observes {
            trusted(&hub);
        }
        healthy(&hub);
        life(&hub, &agent, !observes);
        healthy(&hub);
        let refused = witness.refused_by_berth();
        assert!(refused.is_empty(), "{refused:#?}");
        uninstalled(&hub, running);
        before.requires_the_same(&hub);
    }
}
