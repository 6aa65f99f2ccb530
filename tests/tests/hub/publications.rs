//! Publications on a real hub: Berth writes objects of upstream's own CustomResourceDefinitions, and does not
//! change others' objects. These tests build and run a kube-apiserver, so they are part of `make e2e`, and
//! otherwise ignored.

#[cfg(debug_assertions)]
mod crashes;
mod foreign;

use std::collections::BTreeSet;
use std::path::Path;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use serde_json::{Value, json};

const PROFILES: &str = "clusterprofiles.multicluster.x-k8s.io";
const DECISIONS: &str = "placementdecisions.multicluster.x-k8s.io";

/// The SIG's own definitions of the two kinds.
fn upstream_definitions(hub: &Hub) {
    let module = berth_tests::go::module("consumers", "sigs.k8s.io/cluster-inventory-api");
    for kind in ["clusterprofiles", "placementdecisions"] {
        let file = module.join(format!("config/crd/bases/multicluster.x-k8s.io_{kind}.yaml"));
        hub.kubectl_args(&["create", "-f", path(&file)]).succeeds();
    }
    hub.kubectl_args(&[
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ])
    .succeeds();
}

fn path(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

/// Starts a hub with OCM's example fleet, one placed Placement, and Berth, without a Publication.
fn placed() -> (Hub, Berth) {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(&hub, "hub-sources-rbac.yaml");
    let berth = Berth::install_hub(&hub, &["ocm", "fleet"]);
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        berth::load_text(
            &hub,
            &file.replace('/', "-"),
            &berth_tests::example::example(file),
        );
    }
    (hub, berth)
}

fn publish(hub: &Hub, name: &str, namespace: &str) {
    hub.ensure(&["create", "namespace", namespace]);
    let publication = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": name},
        "spec": {"namespace": namespace, "systems": ["ocm"]},
    });
    hub.kubectl("create -f -")
        .input(publication.to_string())
        .succeeds();
}

/// The reason of condition Published, with its message.
fn published(hub: &Hub, name: &str) -> Option<(String, String)> {
    let publication = hub.kubectl(&format!("get publication {name} -o json")).json();
    let mut conditions = publication["status"]["conditions"].as_array()?.iter();
    let condition = conditions.find(|condition| condition["type"] == "Published")?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Some((text("reason"), text("message")))
}

fn reason_message(hub: &Hub, name: &str, reason: &str) -> String {
    eventually(&format!("Publication {name} to say {reason}"), || {
        let (current, message) = published(hub, name)?;
        (current == reason).then_some(message)
    })
}

fn items(hub: &Hub, what: &str, namespace: &str) -> Vec<Value> {
    let list = hub.kubectl(&format!("get {what} -n {namespace} -o json")).json();
    list["items"].as_array().expect("a list has items").clone()
}

fn names(hub: &Hub, what: &str, namespace: &str) -> BTreeSet<String> {
    let name = |item: &Value| item["metadata"]["name"].as_str().map(str::to_owned);
    items(hub, what, namespace).iter().filter_map(name).collect()
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_hub_is_published_on_once_it_has_the_kinds_and_what_others_made_is_left_alone() {
    let (hub, _berth) = placed();
    publish(&hub, "argo", "argocd");
    let message = reason_message(&hub, "argo", "KindsMissing");
    assert!(message.contains(PROFILES), "{message}");

    upstream_definitions(&hub);
    foreign::profile(&hub, "kueue-system", "cluster1.ocm", "somebody");
    foreign::profile(&hub, "fleet-system", "member-1", "KubeFleet");
    publish(&hub, "kueue", "kueue-system");
    publish(&hub, "fleet", "fleet-system");
    reason_message(&hub, "argo", "Published");
    let profiles = names(&hub, PROFILES, "argocd");
    assert!(profiles.contains("cluster1.ocm"), "{profiles:?}");
    let decisions = items(&hub, DECISIONS, "argocd");
    let entries: Vec<&Value> = decisions
        .iter()
        .flat_map(|slice| slice["decisions"].as_array().expect("decisions are a list"))
        .collect();
    assert!(!entries.is_empty(), "{decisions:?}");
    for entry in entries {
        let cluster = entry["clusterProfileRef"]["name"].as_str().expect("a name");
        assert!(profiles.contains(cluster), "{cluster} has no profile");
    }
    let one = hub
        .kubectl(&format!(
            "get {PROFILES} cluster1.ocm -n argocd -o json --show-managed-fields"
        ))
        .json();
    let managers = one["metadata"]["managedFields"]
        .as_array()
        .expect("they are tracked");
    assert!(
        managers
            .iter()
            .all(|entry| entry["manager"] == "berth-publications" && entry["operation"] == "Apply"),
        "{managers:?}"
    );

    let message = reason_message(&hub, "kueue", "NameTaken");
    assert!(
        message.contains("cluster1.ocm") && message.contains("somebody"),
        "{message}"
    );
    let theirs = hub
        .kubectl(&format!("get {PROFILES} cluster1.ocm -n kueue-system -o json"))
        .json();
    assert_eq!(theirs["spec"]["displayName"], "theirs");
    assert!(theirs["metadata"]["annotations"].is_null(), "{theirs}");
    let message = reason_message(&hub, "fleet", "NamespaceOfAnother");
    assert!(message.contains("KubeFleet"), "{message}");
    assert_eq!(
        names(&hub, PROFILES, "fleet-system"),
        ["member-1".to_owned()].into()
    );

    for publication in ["argo", "kueue", "fleet"] {
        hub.kubectl(&format!("delete publication {publication}"))
            .succeeds();
    }
    eventually("Berth's own to go", || {
        let left = ["argocd", "kueue-system"].map(|namespace| names(&hub, PROFILES, namespace).len());
        (left == [0, 1]).then_some(())
    });
    assert_eq!(names(&hub, DECISIONS, "argocd"), BTreeSet::new());
    assert_eq!(
        names(&hub, PROFILES, "fleet-system"),
        ["member-1".to_owned()].into()
    );
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_consumers_write_on_a_hub_stays_and_a_finalizer_of_theirs_is_waited_for() {
    let (hub, _berth) = placed();
    upstream_definitions(&hub);
    publish(&hub, "argo", "argocd");
    reason_message(&hub, "argo", "Published");
    let patch = |patch: &Value, further: &[&str]| {
        let text = patch.to_string();
        let mut arguments = vec![
            "patch",
            PROFILES,
            "cluster1.ocm",
            "-n",
            "argocd",
            "--type=merge",
            "-p",
            &text,
        ];
        arguments.extend(further);
        hub.kubectl_args(&arguments).succeeds();
    };
    patch(
        &json!({"metadata": {"finalizers": ["argoproj.io/cluster-profile-finalizer"], "labels": {"team": "a"}}}),
        &[],
    );
    patch(
        &json!({"status": {"accessProviders": [{"name": "theirs", "cluster": {"server": "https://c1"}}]}}),
        &["--subresource=status"],
    );
    let profile = || {
        hub.kubectl(&format!("get {PROFILES} cluster1.ocm -n argocd -o json"))
            .json()
    };
    hub.kubectl("label managedcluster cluster1 extra=yes").succeeds();
    eventually("the cluster's new label", || {
        (profile()["metadata"]["labels"]["extra"] == "yes").then_some(())
    });
    let now = profile();
    assert_eq!(now["metadata"]["labels"]["team"], "a");
    let providers = now["status"]["accessProviders"].as_array().expect("a list");
    assert!(
        providers.iter().any(|provider| provider["name"] == "theirs"),
        "{providers:?}"
    );
    hub.kubectl("delete managedcluster cluster1 --wait=false")
        .succeeds();
    eventually("the profile to be on its way out", || {
        profile()["metadata"]["deletionTimestamp"]
            .is_string()
            .then_some(())
    });
    patch(&json!({"metadata": {"finalizers": null}}), &[]);
    eventually("the profile to go", || {
        (!names(&hub, PROFILES, "argocd").contains("cluster1.ocm")).then_some(())
    });
}
