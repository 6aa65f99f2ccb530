//! Active hubs: other schedulers run there, as real processes with their own rights, users change objects,
//! and Berth reads, observes, decides and is uninstalled again. The audit log of a real kube-apiserver proves
//! each step. These tests build and run a kube-apiserver, Open Cluster Management's placement controller and
//! Gardener's API server and scheduler, so they are part of `make e2e`, and otherwise ignored.

mod dump;
mod fleet;
mod gardener;
mod look;
mod observe;
mod takeover;
mod watch;

use std::path::Path;
use std::process::{Command, Output};

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::installation::Installation;
use serde_json::json;

/// Runs `berth` with these arguments as the user of a kubeconfig.
fn berth(kubeconfig: &Path, words: &str) -> Output {
    Command::new(berth_tests::berth())
        .args(words.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .output()
        .expect("berth runs")
}

/// Both outputs of a program, for messages of tests.
fn output_text(output: &Output) -> String {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    format!("{out}{err}")
}

/// An installation of Berth for OCM.
fn for_ocm() -> Installation {
    Installation::new(&["--source=ocm=hub"])
}

/// Sets the mode of a system.
fn set_mode(hub: &Hub, system: &str, mode: &str) {
    let configuration = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
        "metadata": {"name": system}, "spec": {"mode": mode},
    });
    hub.kubectl("apply -f -")
        .input(configuration.to_string())
        .succeeds();
}

/// Waits until `berth check` succeeds. Pods do not run here, so the test sets the Deployment's status to
/// ready.
fn healthy(hub: &Hub) {
    hub.kubectl_args(&[
        "patch",
        "deployment",
        "berth",
        "-n",
        "berth-system",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status": {"replicas": 2, "readyReplicas": 2}}"#,
    ])
    .succeeds();
    let mut last = String::new();
    let started = std::time::Instant::now();
    while started.elapsed() < berth_tests::DEADLINE {
        let check = berth(&hub.admin(), "check");
        if check.status.success() {
            return;
        }
        last = output_text(&check);
        std::thread::park_timeout(std::time::Duration::from_millis(200));
    }
    panic!("berth check finds something wrong:\n{last}");
}

/// Requires that Berth's decision of every request equals the existing one.
fn agrees(hub: &Hub) {
    let compare = berth(
        &hub.admin(),
        "compare --only-different --exit-code --agreement-grace-period=0s",
    );
    assert!(compare.status.success(), "{}", output_text(&compare));
}

/// Waits until the observing Berth reports agreement for every existing request.
fn wait_for_agreement(hub: &Hub) {
    let requests = hub.versions(berth_tests::ocm::PLACEMENTS).len();
    let agreements = || {
        let list = hub
            .kubectl("get decisions -A --field-selector status.agrees=True -o name")
            .succeeds();
        list.lines().count()
    };
    berth_tests::until("every decision to agree", agreements, |count| *count == requests);
}

/// Waits until a namespace is deleted.
fn wait_for_deletion(hub: &Hub, namespace: &str) {
    eventually("the namespace to be gone", || {
        let output = hub.kubectl(&format!("get namespace {namespace}")).run();
        output.err.contains("NotFound").then_some(())
    });
}
