//! A hub that Berth is not installed on, looked at by somebody who may only list (docs/try-on-your-hub.md).

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tests::example::example;
use tests::hub::Hub;
use tests::hub::berth::load_text;

use crate::installation::define_systems;

fn berth(kubeconfig: &Path, words: &str) -> Output {
    Command::new(tests::berth())
        .args(words.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .output()
        .expect("berth runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Requests of `user` to the hub beside reading and asking who they are and what they may.
fn writes(hub: &Hub, user: &str) -> Vec<String> {
    let log = std::fs::read_to_string(hub.audit_log()).expect("the audit log is there");
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| event["user"]["username"] == user)
        .filter(|event| !matches!(event["verb"].as_str(), Some("get" | "list")))
        .map(|event| format!("{} {}", event["verb"], event["requestURI"]))
        .filter(|asked| !asked.contains("/selfsubject"))
        .collect()
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_hub_without_berth_is_looked_at_by_reading_alone() {
    let hub = Hub::start();
    define_systems(&hub);
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        load_text(&hub, &file.replace('/', "-"), &example(file));
    }
    let vera = hub.kubeconfig_for("vera", &[]);
    hub.kubectl("create clusterrole look --verb=list --resource=placements.cluster.open-cluster-management.io,\
                 placementdecisions.cluster.open-cluster-management.io,managedclusters.cluster.open-cluster-management.io,\
                 managedclustersets.cluster.open-cluster-management.io,\
                 managedclustersetbindings.cluster.open-cluster-management.io,\
                 addonplacementscores.cluster.open-cluster-management.io")
        .ok();
    hub.kubectl("create clusterrolebinding look --clusterrole=look --user=vera")
        .ok();

    let check = berth(&vera, "check");
    assert_eq!(check.status.code(), Some(3), "{}", text(&check.stdout));
    let table = text(&check.stdout);
    assert!(
        table.contains("Berth is not installed here") && !table.contains("manifests"),
        "{table}"
    );
    assert!(
        table.contains("ocm: all that its scheduler reads may be read"),
        "{table}"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let files = folder.path().join("hub").display().to_string();
    for (words, part) in [
        (
            "why placement/placement -n story-1",
            "Placement story-1/placement (ocm): ",
        ),
        (
            "advice placement/placement -n story-1",
            "Placement story-1/placement (ocm): ",
        ),
        ("plan --drain cluster1.ocm", "decision"),
        ("compare", " decided the same, "),
        ("simulate --independent", "Placement story-1/placement"),
        (&format!("export {files}"), " exported"),
    ] {
        let output = berth(&vera, words);
        let told = text(&output.stderr);
        assert!(output.status.success(), "{words}: {told}");
        assert!(
            text(&output.stdout).contains(part),
            "{words}: {}",
            text(&output.stdout)
        );
        if !words.starts_with("export") {
            let first = told.lines().next().unwrap_or_default();
            assert!(
                first.starts_with("read ") && first.contains(" as vera;"),
                "{words}: {told}"
            );
        }
    }
    // What is of systems that she may not read is told; an OCM question tells of none.
    let why = berth(&vera, "why placement/placement -n story-1");
    assert!(!text(&why.stderr).contains("left out"), "{}", text(&why.stderr));
    assert_eq!(writes(&hub, "vera"), Vec::<String>::new());
}
