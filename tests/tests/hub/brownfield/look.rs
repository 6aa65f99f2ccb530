//! A hub without an installed Berth, on which OCM decides, and a user who may only read
//! (docs/try-on-your-hub.md).

use std::path::Path;

use berth_tests::hub::Hub;
use berth_tests::hub::audit::{Entry, Witness};
use berth_tests::looking::Looking;
use berth_tests::ocm;
use berth_tests::ocm::world::USUAL;
use serde_json::json;

use crate::brownfield::{berth, output_text};

/// The reading user.
const VERA: &str = "vera";

/// Grants vera a role with these rules.
fn may(hub: &Hub, rules: &str) {
    hub.kubectl(&format!("create clusterrole look {rules}"))
        .succeeds();
    hub.kubectl("create clusterrolebinding look --clusterrole=look --user=vera")
        .succeeds();
}

/// Whether a request is a review of her rights or her identity: these are the only creates, and change
/// no object.
fn is_question(entry: &Entry) -> bool {
    entry.verb() == "create"
        && [
            "selfsubjectaccessreviews.authorization.k8s.io",
            "selfsubjectreviews.authentication.k8s.io",
        ]
        .contains(&entry.resource().as_str())
}

/// Requires that vera sent only reads, and none of Secrets.
fn only_read(witness: &Witness<'_>) {
    let entries = witness.entries();
    let hers: Vec<&Entry> = entries.iter().filter(|entry| entry.user() == VERA).collect();
    assert!(
        hers.iter().any(|entry| entry.resource() == ocm::PLACEMENTS),
        "she read the requests"
    );
    let others: Vec<String> = hers
        .iter()
        .filter(|entry| entry.is_write() && !is_question(entry) || entry.resource().starts_with("secrets"))
        .map(|entry| entry.summary())
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// Checks that the console of the hub shows every request and cluster, and their changes.
fn console(hub: &Hub, kubeconfig: &Path) {
    let console = Looking::start(kubeconfig, &[]);
    for path in ["targets", "decisions"] {
        let count = console.items(path).len();
        assert!(count >= USUAL.requests, "{path}: {count}");
    }
    let agreeing = || {
        let all = console.items("decisions?fieldSelector=status.agrees%3DTrue");
        all.len()
    };
    berth_tests::until("every decision to agree", agreeing, |count| {
        *count >= USUAL.requests
    });
    let request = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "made-while-looking", "namespace": "team-0"}, "spec": {"numberOfClusters": 2},
    });
    hub.kubectl("create -f -").input(request.to_string()).succeeds();
    let shown = |path: &str| console.items(path);
    berth_tests::eventually("the console to show what OCM decides meanwhile", || {
        let all = shown("namespaces/team-0/decisions");
        let new = all
            .iter()
            .find(|one| one["metadata"]["name"] == "made-while-looking.ocm")?;
        (new["status"]["phase"] == "Bound").then_some(())
    });
    hub.kubectl("delete placement made-while-looking -n team-0")
        .succeeds();
    berth_tests::eventually("the console to no longer show it", || {
        let all = shown("namespaces/team-0/decisions");
        (!all
            .iter()
            .any(|one| one["metadata"]["name"] == "made-while-looking.ocm"))
        .then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_hub_without_berth_is_looked_at_by_reading_alone_and_agrees_with_its_scheduler() {
    let hub = Hub::start();
    ocm::define(&hub);
    USUAL.load(&hub);
    let controller = ocm::Controller::start(&hub);
    ocm::settle(&hub);
    // She may read all resources, so that Berth alone decides which it reads.
    may(&hub, "--verb=get,list,watch --resource=*.*");
    let vera = hub.kubeconfig_for(VERA, &[]);
    let witness = hub.witness();

    let check = berth(&vera, "check");
    assert_eq!(check.status.code(), Some(3), "{}", output_text(&check));
    let table = output_text(&check);
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
            "compare --exit-code --agreement-grace-period=0s",
            "100 requests: 100 decided the same, 0 differently",
        ),
        (
            "why placement/request-0000 -n team-0",
            "Placement team-0/request-0000 (ocm): ",
        ),
        (
            "why placement/request-0011 -n team-1 --from=hub",
            "Placement team-1/request-0011 (ocm): ",
        ),
        (
            "advice placement/request-0011 -n team-1",
            "Placement team-1/request-0011 (ocm): ",
        ),
        ("plan --drain cluster-0000.ocm", "decision"),
        ("simulate --independent", "Placement team-0/request-0000"),
        (&format!("export {files}"), " exported"),
        (
            &format!("compare --exit-code -f {files}"),
            "100 decided the same, 0 differently",
        ),
    ] {
        let output = berth(&vera, words);
        let text = output_text(&output);
        assert!(output.status.success() && text.contains(part), "{words}: {text}");
        if !words.contains(&files) {
            assert!(text.contains(" as vera;"), "{words}: {text}");
        }
    }
    let output = berth(&vera, "manifests rbac --mode=observe --detect");
    assert!(
        output.status.success() && output_text(&output).contains("found ocm: --source=ocm=hub"),
        "{}",
        output_text(&output)
    );
    console(&hub, &vera);
    only_read(&witness);
    controller.stop();
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn listing_what_the_scheduler_reads_is_all_the_right_that_looking_takes() {
    let hub = Hub::start();
    ocm::define(&hub);
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        // OCM's own definitions have no other version.
        let text = berth_tests::example::example(file)
            .replace("/v1alpha1\nkind: Placement\n", "/v1beta1\nkind: Placement\n");
        let text = text.replace("BuildIn", "BuiltIn").replace("buildIn", "builtIn");
        berth_tests::hub::berth::load_text(&hub, &file.replace('/', "-"), &text);
    }
    let kinds = [
        "placements",
        "placementdecisions",
        "managedclusters",
        "managedclustersets",
        "managedclustersetbindings",
        "addonplacementscores",
    ]
    .map(|kind| format!("{kind}.cluster.open-cluster-management.io"));
    may(&hub, &format!("--verb=list --resource={}", kinds.join(",")));
    let vera = hub.kubeconfig_for(VERA, &[]);
    let witness = hub.witness();
    for words in [
        "why placement/placement -n story-1",
        "advice placement/placement -n story-1",
        "plan --drain cluster1.ocm",
        "compare",
        "simulate --independent",
    ] {
        let output = berth(&vera, words);
        let text = output_text(&output);
        assert!(output.status.success(), "{words}: {text}");
        let first = String::from_utf8_lossy(&output.stderr);
        assert!(
            first.starts_with("read ") && text.contains(" as vera;"),
            "{words}: {text}"
        );
        // Systems that she may not read are reported, except for a question about OCM.
        let asks_ocm = words.starts_with("why") || words.starts_with("advice");
        assert!(!asks_ocm || !text.contains("left out"), "{words}: {text}");
    }
    only_read(&witness);
}
