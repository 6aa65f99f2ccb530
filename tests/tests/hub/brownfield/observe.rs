//! Berth observes a hub on which OCM decides and users change objects: its writes, its refusals, and the
//! requests that wait for it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use berth_tests::differential::variable;
use berth_tests::hub::audit::Entry;
use berth_tests::hub::{Berth, Hub};
use berth_tests::ocm::world::USUAL;
use berth_tests::{eventually, hub, ocm};
use serde_json::json;

use crate::brownfield::dump::Dump;
use crate::brownfield::{
    agrees, berth, for_ocm, healthy, output_text, wait_for_agreement, wait_for_deletion,
};

/// Default duration of the changes in seconds, and the environment variable with another value.
pub(crate) const SECONDS: (&str, u64) = ("BROWNFIELD_SECONDS", 10);

/// For some seconds, taints, relabels and deletes clusters, and creates, changes and deletes requests and
/// namespaces.
pub(crate) fn churn(hub: &Hub) {
    let seconds = Duration::from_secs(variable(SECONDS.0, SECONDS.1));
    let started = Instant::now();
    let mut round = 0;
    while started.elapsed() < seconds || round == 0 {
        let cluster = format!("managedcluster cluster-{:04}", round * 37 % USUAL.clusters);
        let namespace = format!("passing-{round}");
        let taint = json!({"spec": {"taints": [{"key": "drain", "effect": "NoSelect", "timeAdded": "2026-01-02T03:04:05Z"}]}});
        patch(hub, &cluster, &taint.to_string());
        hub.kubectl(&format!("create namespace {namespace}")).succeeds();
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
             "metadata": {"name": "eu", "namespace": namespace}, "spec": {"clusterSet": "eu"}},
            {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
             "metadata": {"name": "passing", "namespace": namespace}, "spec": {"numberOfClusters": 2}},
        ]});
        hub.kubectl("create -f -").input(objects.to_string()).succeeds();
        hub.kubectl(&format!("label {cluster} moved=round-{round} --overwrite"))
            .succeeds();
        eventually("OCM to decide the new request", || {
            let list = hub
                .kubectl(&format!("get {} -n {namespace} -o json", ocm::DECISIONS))
                .json();
            let decided = list["items"][0]["status"]["decisions"].as_array().map(Vec::len);
            (decided == Some(2)).then_some(())
        });
        patch(hub, &cluster, r#"{"spec": {"taints": null}}"#);
        hub.kubectl(&format!("delete namespace {namespace} --wait=false"))
            .succeeds();
        wait_for_deletion(hub, &namespace);
        round += 1;
    }
}

fn patch(hub: &Hub, object: &str, change: &str) {
    let mut words = vec!["patch"];
    words.extend(object.split(' '));
    words.extend(["--type=merge", "-p", change]);
    hub.kubectl_args(&words).succeeds();
}

/// Requires that no decision is written while nothing changes.
pub(crate) fn is_still(hub: &Hub) {
    let witness = hub.witness();
    let before = [hub.versions(ocm::DECISIONS), hub.versions(ocm::PLACEMENTS)];
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        std::thread::park_timeout(Duration::from_millis(500));
    }
    let after = [hub.versions(ocm::DECISIONS), hub.versions(ocm::PLACEMENTS)];
    let writes: Vec<String> = witness
        .entries()
        .iter()
        .filter(|entry| entry.is_write() && entry.resource().starts_with("placement"))
        .map(Entry::summary)
        .collect();
    assert!(before == after && writes.is_empty(), "{writes:#?}");
}

/// Checks that a deleted namespace waits for an APIService without a server, and no longer after that
/// is deleted (docs/install.md).
fn namespaces_wait_while_berth_is_down(hub: &Hub, berth: &mut Berth) {
    hub.kubectl("create namespace waiting").succeeds();
    berth.kill();
    eventually("the hub to notice that Berth is away", || {
        let services = hub::berth::availability(hub);
        services
            .iter()
            .any(|(_, message)| message != "all checks passed")
            .then_some(())
    });
    hub.kubectl("delete namespace waiting --wait=false").succeeds();
    eventually("the namespace to wait", || {
        let namespace = hub.kubectl("get namespace waiting -o json").json();
        let conditions = namespace["status"]["conditions"].to_string();
        conditions
            .contains("NamespaceDeletionDiscoveryFailure")
            .then_some(())
    });
    hub.kubectl("delete apiservice v1alpha1.scheduling.berth.dev")
        .succeeds();
    wait_for_deletion(hub, "waiting");
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn who_observes_beside_ocm_agrees_writes_its_own_alone_refuses_nothing_and_leaves_no_trace() {
    let mut hub = Hub::start();
    hub.start_controllers();
    ocm::define(&hub);
    USUAL.load(&hub);
    let controller = ocm::Controller::start(&hub);
    ocm::settle(&hub);
    let before = Dump::of(&hub);

    let installation = for_ocm().observing();
    let witness = hub.witness();
    let running = installation.install(&hub, &[]);
    healthy(&hub);
    agrees(&hub);
    wait_for_agreement(&hub);
    is_still(&hub);
    before.requires_others(&hub);
    let refused = witness.refused_by_berth();
    assert!(refused.is_empty(), "{refused:#?}");
    witness.requires_observing(&[]);
    uninstalled(&hub, running);
    before.requires_the_same(&hub);

    let mut running = installation.install(&hub, &[]);
    churn(&hub);
    ocm::settle(&hub);
    agrees(&hub);
    wait_for_agreement(&hub);
    is_still(&hub);
    namespaces_wait_while_berth_is_down(&hub, &mut running);
    // It serves again after another installation.
    let running = installation.install(&hub, &[]);
    healthy(&hub);
    churn(&hub);
    let refused = witness.refused_by_berth();
    assert!(refused.is_empty(), "{refused:#?}");
    witness.requires_observing(&[]);
    let ours = witness.writes_of(ocm::USER);
    let failed: Vec<String> = ours
        .iter()
        .filter(|entry| entry.code() == 403)
        .map(Entry::summary)
        .collect();
    let terminating = |line: &String| line.contains("because it is being terminated");
    assert!(failed.iter().all(terminating), "{failed:#?}");
    drop(running);
    controller.stop();
}

/// Uninstalls Berth as an administrator does, and ends the servers' processes last, which no Deployment runs
/// here.
pub(crate) fn uninstalled<T>(hub: &Hub, running: T) {
    ends_quietly(hub, "uninstall --dry-run");
    let output = berth(
        &hub.admin(),
        "uninstall --delete-namespace --delete-configurations",
    );
    assert!(output.status.success(), "{}", output_text(&output));
    drop(running);
    wait_for_deletion(hub, hub::berth::NAMESPACE);
}

/// Requires that a command whose output is closed early (`| head`) ends without an error message.
fn ends_quietly(hub: &Hub, words: &str) {
    let mut child = Command::new(berth_tests::berth())
        .args(words.split(' '))
        .env("KUBECONFIG", hub.admin())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("berth runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.stderr.is_empty(), "{}", output_text(&output));
}
