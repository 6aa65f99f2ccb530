//! `berth uninstall`, in every state of Berth.

use std::path::Path;
use std::process::{Command, Output};

use berth_tests::eventually;
use berth_tests::example::example;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::load_text;
use serde_json::json;

use crate::install::installation::{Installation, ON_HUB, define_systems, trusted};

fn uninstall(hub: &Hub, arguments: &[&str]) -> (Output, String) {
    uninstall_as(&hub.admin(), arguments)
}

fn uninstall_as(kubeconfig: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(berth_tests::berth())
        .arg("uninstall")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(arguments)
        .output()
        .expect("berth runs");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output, text)
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn uninstalling_leaves_nothing_behind_and_no_namespace_stuck() {
    let mut hub = Hub::start();
    hub.start_controllers();
    let installation = Installation::new(&ON_HUB);
    let mut berth = installation.install(&hub, &[]);
    let (output, text) = uninstall(&hub, &["--dry-run", "--delete-namespace"]);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("would delete APIService v1alpha1.scheduling.berth.dev"),
        "{text}"
    );
    assert!(!text.contains("\ndeleted"), "{text}");
    hub.kubectl("get apiservice v1alpha1.scheduling.berth.dev")
        .succeeds();
    hub.kubectl("get deployment berth -n berth-system").succeeds();

    // A user without rights is told which are missing.
    let nobody = hub.kubeconfig_for("nobody", &[]);
    let (output, text) = uninstall_as(&nobody, &[]);
    assert!(!output.status.success() && text.contains("APIServices"), "{text}");

    // The worst case: Berth is down, and a namespace waits for it.
    berth.kill();
    hub.kubectl("create namespace waiting").succeeds();
    hub.kubectl("delete namespace waiting --wait=false").succeeds();
    let (output, text) = uninstall(&hub, &["--delete-namespace", "--delete-configurations"]);
    assert!(output.status.success(), "{text}");
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what:?} is not in:\n{text}"))
    };
    assert!(place("ValidatingWebhookConfiguration berth") < place("APIService v1alpha1"));
    assert!(place("APIService v1alpha1") < place("Deployment berth-system/berth"));
    assert!(place("Deployment berth-system/berth") < place("ClusterRoleBinding berth:server"));
    assert!(place("ClusterRoleBinding berth:server") < place("Namespace berth-system"));

    eventually("both namespaces to be gone", || {
        let left = hub.kubectl("get namespaces -o name").succeeds();
        (!left.contains("waiting") && !left.contains("berth-system")).then_some(())
    });
    let left = hub
        .kubectl("get clusterroles,clusterrolebindings,apiservices,mutatingwebhookconfigurations,validatingwebhookconfigurations,crds -o name")
        .succeeds();
    let ours: Vec<&str> = left.lines().filter(|line| line.contains("berth")).collect();
    assert!(ours.is_empty(), "{ours:?}");
    let left = hub.kubectl("get roles,rolebindings -A -o name").succeeds();
    assert!(!left.contains("berth"), "{left}");
    let (output, text) = uninstall(&hub, &["--delete-namespace", "--delete-configurations"]);
    assert!(
        output.status.success() && text.is_empty(),
        "a second time there is nothing to do: {text}"
    );
}

/// Creates bound objects of all five systems, with finalizers that only Berth removes, and ends Berth.
fn five_systems(hub: &Hub, installation: &Installation) {
    hub.kubectl("create namespace shop").succeeds();
    let mut berth = installation.install(hub, &[]);
    trusted(hub);
    for file in [
        "gardener/fleet.yaml",
        "gardener/testing.yaml",
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "fleet/fleet.yaml",
        "fleet/pick-n.yaml",
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
        "openmcp/shared.yaml",
    ] {
        load_text(hub, &file.replace('/', "-"), &example(file));
    }
    for decision in [
        "clusterdecision two-regions.fleet",
        "decision batch.openmcp -n project-a",
    ] {
        hub.kubectl(&format!(
            "wait --for=jsonpath={{.status.phase}}=Bound {decision} --timeout=60s"
        ))
        .succeeds();
    }
    eventually("the request to have its finalizer", || {
        let request = hub
            .kubectl("get clusterrequest batch -n project-a -o json")
            .json();
        (request["metadata"]["finalizers"] == json!(["clusters.openmcp.cloud/request"])).then_some(())
    });
    berth.kill();
    // A finalizer of KubeFleet's hub agent, and one of a syncer that no longer exists, without guards.
    hub.kubectl("delete mutatingwebhookconfiguration,validatingwebhookconfiguration berth")
        .succeeds();
    let held = json!({"metadata": {"finalizers": ["kubernetes-fleet.io/scheduler-cleanup"]}}).to_string();
    hub.kubectl_args(&[
        "patch",
        "clusterresourceplacement",
        "two-regions",
        "--type=merge",
        "-p",
        &held,
    ])
    .succeeds();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "held", "namespace": "shop", "finalizers": ["workloads.kcp.dev/syncer-gone"]}});
    hub.kubectl("create -f -").input(held.to_string()).succeeds();
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_only_berth_lets_go_of_is_named_and_released_and_no_namespace_waits_for_it() {
    let mut hub = Hub::start();
    hub.start_controllers();
    define_systems(&hub);
    five_systems(&hub, &Installation::new(&ON_HUB));

    // It does nothing until their treatment is specified.
    let (output, text) = uninstall(&hub, &[]);
    assert!(!output.status.success(), "{text}");
    for what in [
        "1 clusterrequests.clusters.openmcp.cloud with the finalizer clusters.openmcp.cloud/request: project-a/batch",
        "clusters.clusters.openmcp.cloud with the finalizer request.clusters.openmcp.cloud/…",
        "1 configmaps with the finalizer workloads.kcp.dev/syncer-…: shop/held",
        "nothing was changed",
        "--release-finalizers",
        "--keep-finalizers",
    ] {
        assert!(text.contains(what), "{what:?} is not in:\n{text}");
    }
    hub.kubectl("get apiservice v1alpha1.scheduling.berth.dev")
        .succeeds();
    assert!(
        !text.contains("kubernetes-fleet.io"),
        "its hub agent finishes these: {text}"
    );
    let (output, text) = uninstall(&hub, &["--dry-run", "--release-finalizers"]);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("would release clusterrequests.clusters.openmcp.cloud from"),
        "{text}"
    );

    let (output, text) = uninstall(&hub, &["--release-finalizers"]);
    assert!(output.status.success(), "{text}");
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what:?} is not in:\n{text}"))
    };
    assert!(
        place("ClusterRoleBinding berth:server") < place("released 1 clusterrequests"),
        "nobody takes it up again: {text}"
    );

    // KubeFleet's hub agent, which is simulated here, removes its own finalizers.
    hub.kubectl_args(&[
        "patch",
        "clusterresourceplacement",
        "two-regions",
        "--type=merge",
        "-p",
        r#"{"metadata": {"finalizers": null}}"#,
    ])
    .succeeds();
    // Every object and every namespace of the five systems can be deleted, although Berth does not run.
    for what in [
        "clusterrequests,clusters.clusters.openmcp.cloud,shoots,placements,placementdecisions.cluster.open-cluster-management.io -A",
        "clusterresourceplacements,clusterresourcebindings,memberclusters,managedclusters,seeds",
        "namespaces --field-selector=metadata.name=shop",
        "namespaces --field-selector=metadata.name=project-a",
        "namespaces --field-selector=metadata.name=garden-dev",
        "namespaces --field-selector=metadata.name=story-1",
    ] {
        let all = if what.contains("field-selector") {
            ""
        } else {
            "--all"
        };
        hub.kubectl(&format!("delete {what} {all} --wait=false"))
            .succeeds();
    }
    eventually("everything of the five to be gone", || {
        let namespaces = hub.kubectl("get namespaces -o name").succeeds();
        let waits = ["shop", "project-a", "garden-dev", "story-1"]
            .iter()
            .any(|name| namespaces.contains(&format!("namespace/{name}\n")));
        let left = hub
            .kubectl("get clusterresourceplacements,clusterresourcebindings,clusterrequests,clusters.clusters.openmcp.cloud -A -o name")
            .succeeds();
        (!waits && left.trim().is_empty()).then_some(())
    });
    let leases = hub.kubectl("get leases -n berth-system -o name").succeeds();
    assert!(
        !leases.contains("berth-") && !leases.contains("fence-"),
        "{leases}"
    );
    let (output, text) = uninstall(&hub, &["--release-finalizers"]);
    assert!(
        output.status.success() && text.is_empty(),
        "a second time: {text}"
    );
}
