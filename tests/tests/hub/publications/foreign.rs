//! Objects of other producers with Berth's names: they are not changed, and the Publication has the
//! reason why not everything is published.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use serde_json::{Value, json};

use super::{DECISIONS, PROFILES, items, names, placed, publish, reason_message, upstream_definitions};

const SLICE: &str = "story-1.placement.ocm-0";

/// Creates a ClusterProfile of another cluster manager.
pub(super) fn profile(hub: &Hub, namespace: &str, name: &str, manager: &str) {
    hub.ensure(&["create", "namespace", namespace]);
    let profile = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"displayName": "theirs", "clusterManager": {"name": manager}},
    });
    hub.kubectl("create -f -").input(profile.to_string()).succeeds();
}

/// Creates a PlacementDecision of another scheduler, which equals Berth's except for Berth's mark.
fn slice(hub: &Hub, namespace: &str) -> Value {
    hub.ensure(&["create", "namespace", namespace]);
    let slice = json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
        "metadata": {"name": SLICE, "namespace": namespace, "labels": {
            "multicluster.x-k8s.io/decision-key": "story-1.placement.ocm", "multicluster.x-k8s.io/decision-index": "0"}},
        "decisions": [{"clusterProfileRef": {"name": "theirs"}}],
        "schedulerName": "somebody",
    });
    hub.kubectl("create -f -").input(slice.to_string()).succeeds();
    current_slice(hub, namespace)
}

fn current_slice(hub: &Hub, namespace: &str) -> Value {
    hub.kubectl(&format!(
        "get {DECISIONS} {SLICE} -n {namespace} -o json --show-managed-fields"
    ))
    .json()
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_placement_decision_of_others_is_left_alone_and_berths_own_comes_when_it_is_gone() {
    let (hub, _berth) = placed();
    upstream_definitions(&hub);
    let theirs = slice(&hub, "argocd");
    publish(&hub, "argo", "argocd");
    let message = reason_message(&hub, "argo", "NameTaken");
    assert!(
        message.contains(SLICE) && message.contains("somebody"),
        "{message}"
    );
    // The clusters have no other owner.
    assert!(names(&hub, PROFILES, "argocd").contains("cluster1.ocm"));
    // Neither a change of the decision nor the deletion of the Publication changes it.
    hub.kubectl("label managedcluster cluster1 extra=yes").succeeds();
    eventually("the cluster's new label", || {
        let selected = hub.kubectl(&format!("get {PROFILES} -n argocd -l extra=yes -o name"));
        (!selected.succeeds().is_empty()).then_some(())
    });
    hub.kubectl("delete publication argo").succeeds();
    eventually("the profiles to go", || {
        names(&hub, PROFILES, "argocd").is_empty().then_some(())
    });
    assert_eq!(current_slice(&hub, "argocd"), theirs);

    publish(&hub, "argo", "argocd");
    reason_message(&hub, "argo", "NameTaken");
    assert_eq!(current_slice(&hub, "argocd"), theirs);
    hub.kubectl(&format!("delete {DECISIONS} {SLICE} -n argocd"))
        .succeeds();
    reason_message(&hub, "argo", "Published");
    let slices = items(&hub, DECISIONS, "argocd");
    let ours = slices.iter().find(|slice| slice["metadata"]["name"] == SLICE);
    assert_eq!(ours.expect("it is there")["schedulerName"], "berth-ocm");
}
