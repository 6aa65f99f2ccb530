//! `berth check` on a hub: it reports exactly the actual problems.

use std::collections::BTreeSet;
use std::process::Command;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use serde_json::Value;

use crate::install::installation::{Installation, ON_HUB, define_systems, trusted};

/// The exit code, and the findings.
fn report(hub: &Hub) -> (Option<i32>, Vec<Value>) {
    let output = Command::new(berth_tests::berth())
        .args(["check", "-o", "json"])
        .env("KUBECONFIG", hub.admin())
        .output()
        .expect("berth runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let findings = report["findings"].as_array().expect("a list").clone();
    (output.status.code(), findings)
}

/// The exit code, and the problems.
fn check(hub: &Hub) -> (Option<i32>, BTreeSet<String>) {
    let (code, findings) = report(hub);
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let wrong = findings.iter().filter(|finding| finding["verdict"] == "Wrong");
    let wrong = wrong.map(|finding| format!("{}: {}", text(finding, "subject"), text(finding, "message")));
    (code, wrong.collect())
}

fn has(wrong: &BTreeSet<String>, subject: &str, message: &str) -> bool {
    wrong
        .iter()
        .any(|line| line.starts_with(subject) && line.contains(message))
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_is_wrong_on_a_hub_is_found_and_nothing_else() {
    let hub = Hub::start();
    let (code, wrong) = check(&hub);
    assert_eq!((code, wrong.len()), (Some(3), 0), "{wrong:#?}");
    define_systems(&hub);
    let installation = Installation::new(&ON_HUB);
    let berth = installation.install(&hub, &[]);
    trusted(&hub);
    // Pods do not run here, which is a problem indeed; it is the only one.
    let wrong = eventually("only the Deployment to be wrong", || {
        let (_, wrong) = check(&hub);
        (wrong.len() == 1).then_some(wrong)
    });
    assert!(
        has(&wrong, "Deployment berth-system/berth", "0 of 2 ready"),
        "{wrong:#?}"
    );
    every_row_is_there(&hub);
    hub.kubectl("delete validatingwebhookconfiguration berth")
        .succeeds();
    hub.kubectl("delete clusterrolebinding berth:reader").succeeds();
    let (code, wrong) = check(&hub);
    assert_eq!(code, Some(1));
    assert!(
        has(&wrong, "ValidatingWebhookConfiguration berth", "does not exist"),
        "{wrong:#?}"
    );
    let lost = eventually("the right to be gone", || {
        let (_, wrong) = check(&hub);
        has(&wrong, "berth:reader of", "missing: ").then_some(wrong)
    });
    assert_eq!(lost.len(), 3, "{lost:#?}");
    drop(berth);
    eventually("the hub to notice that nobody answers", || {
        let (_, wrong) = check(&hub);
        has(
            &wrong,
            "APIService v1alpha1.scheduling.berth.dev",
            "not Available",
        )
        .then_some(())
    });
}

/// Requires a row of each area, with its verdict without problems.
fn every_row_is_there(hub: &Hub) {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let configuration = format!("apply -f {examples}/gardener/minimal-distance-configuration.yaml");
    hub.kubectl(&configuration).succeeds();
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n\
                     metadata: {name: nowhere, namespace: default}\nspec: {}\n";
    hub.kubectl("apply -f -").input(placement).succeeds();
    let rows = [
        ("versions", "hub", "Ok"),
        ("clock", "server", "Ok"),
        ("certificates", "kubeconfig", "Ok"),
        ("registration", "scheduling.berth.dev/v1alpha1", "Ok"),
        ("registration", "APIService v1alpha1.scheduling.berth.dev", "Ok"),
        (
            "certificates",
            "caBundle of APIService v1alpha1.scheduling.berth.dev",
            "Ok",
        ),
        (
            "certificates",
            "caBundle of MutatingWebhookConfiguration berth",
            "Ok",
        ),
        (
            "certificates",
            "caBundle of ValidatingWebhookConfiguration berth",
            "Ok",
        ),
        ("definitions", "schedulerconfigurations.config.berth.dev", "Ok"),
        ("sources", "gardener", "Ok"),
        ("sources", "ocm", "Ok"),
        ("rights", "yours", "Ok"),
        ("rights", "berth:reader of", "Ok"),
        ("configuration", "gardener", "Ok"),
        ("leader", "berth-controllers", "Ok"),
        ("held", "", "Note"),
    ];
    let mut missing: Vec<&(&str, &str, &str)> = Vec::new();
    let seen = std::time::Instant::now();
    loop {
        let (_, findings) = report(hub);
        let is_there = |(area, subject, verdict): &(&str, &str, &str)| {
            findings.iter().any(|finding| {
                let named = finding["subject"].as_str().unwrap_or_default();
                finding["area"] == *area && named.starts_with(subject) && finding["verdict"] == *verdict
            })
        };
        missing.clear();
        missing.extend(rows.iter().filter(|row| !is_there(row)));
        if missing.is_empty() {
            return;
        }
        assert!(
            seen.elapsed() < berth_tests::DEADLINE,
            "{missing:?} are not among {findings:#?}"
        );
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
