//! Helm 4 with `tests/helm/looked`.

use berth_tests::helm::Helm;
use serde_json::Value;

use super::{STORY, server};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/helm/looked");

#[test]
#[ignore = "builds Helm: `make clients`"]
fn helm_4_installs_looks_up_upgrades_and_uninstalls() {
    let helm = Helm::Four;
    // Built before any process is started.
    assert!(helm.program().exists());
    let server = server(&STORY);
    let kubeconfig = server.kubeconfig().display().to_string();
    let words = |words: &[&str]| -> Vec<String> {
        let rest = ["--kubeconfig", &kubeconfig];
        words.iter().chain(&rest).map(|word| (*word).to_owned()).collect()
    };
    let done = |arguments: &[&str]| {
        let all = words(arguments);
        helm.done("story-1", &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let get = |what: &str| -> Value { server.kubectl(&format!("-n story-1 get {what} -o json")).json() };
    let clusters = |decision: &Value| decision["status"]["decisions"].as_array().map(Vec::len);

    done(&["install", "shop", CHART, "--wait", "--timeout", "60s"]);
    let found = get("configmap shop")["data"].clone();
    assert_eq!(found["definition"], "{}", "no definition has that name");
    assert_eq!(found["namespace"], "story-1");
    assert_eq!(clusters(&get("decision shop.ocm")), Some(1));

    done(&[
        "upgrade",
        "shop",
        CHART,
        "--wait",
        "--timeout",
        "60s",
        "--set",
        "clusters=2",
    ]);
    assert_eq!(clusters(&get("decision shop.ocm")), Some(2));
    let list: Value = serde_json::from_str(&done(&["list", "--output", "json"])).expect("a list");
    assert_eq!(
        (&list[0]["status"], &list[0]["revision"]),
        (&"deployed".into(), &"2".into())
    );

    // In YAML, Off without quotes is a boolean.
    let refused = words(&["upgrade", "shop", CHART, "--set-string", "autoBind=Off"]);
    let refused = helm.run("story-1", &refused.iter().map(String::as_str).collect::<Vec<_>>());
    let refusal = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && refusal.contains(".spec.autoBind: expected string, got false"),
        "{refusal}"
    );

    done(&["uninstall", "shop", "--wait", "--timeout", "60s"]);
    let left = server
        .kubectl("-n story-1 get placements.cluster.open-cluster-management.io,configmaps,secrets -o name")
        .succeeds();
    assert!(!left.contains("shop"), "{left}");
}
