//! Drain of a namespace from a cluster, in the documented order, and never before the syncer has
//! released it.

use super::*;

/// Starts with a namespace `app` on the first of two clusters, and a ConfigMap with the syncer's
/// finalizer.
fn synced(server: &Server) -> (String, String) {
    apply(server, &[location("eu"), location("us")]);
    let one = cluster(server, "one", "eu");
    namespace(server, "app");
    becomes(server, "app", &[(&one, "Bound")]);
    barrier(server, "app", &one, "settings");
    take(server, &one, "configmap -n app settings");
    cluster(server, "elsewhere", "us");
    let two = cluster(server, "two", "eu");
    (one, two)
}

fn evict(server: &Server, name: &str) {
    patch(
        server,
        &format!("workloadcluster {name}"),
        &json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}}),
    );
}

#[test]
fn an_eviction_moves_the_namespace_within_its_location_and_drains_the_old_cluster() {
    let server = Server::start();
    let (one, two) = synced(&server);
    let soft = format!("finalizers.workloads.kcp.dev/{one}");
    patch(
        &server,
        "configmap -n app settings",
        &json!({"metadata": {"annotations": {&soft: "ingress"}}}),
    );
    evict(&server, "one");
    // The replacement comes first, in the same location.
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
    let since = stamped(&server, "namespace app", &one);
    assert_eq!(stamped(&server, "configmap -n app settings", &one), since);
    labelled(&server, "configmap -n app settings", &two, Some("Sync"));
    assert_eq!(
        label(&server, "configmap -n app settings", &one).as_deref(),
        Some("Sync")
    );
    assert_eq!(label(&server, "namespace app", &one).as_deref(), Some("Sync"));
    // New objects are only on the new cluster; those with a finalizer remain.
    barrier(&server, "app", &two, "late");
    assert_eq!(label(&server, "configmap -n app late", &one), None);
    let held = get(&server, "configmap -n app settings");
    assert_eq!(
        held["metadata"]["finalizers"],
        json!([format!("workloads.kcp.dev/syncer-{one}")])
    );
    assert_eq!(
        held["metadata"]["annotations"][deletion_annotation(&one)],
        since.as_str()
    );
    // The cluster recovers: a removal is never reverted.
    patch(
        &server,
        "workloadcluster one",
        &json!({"spec": {"evictAfter": null}}),
    );
    namespace_barrier(&server, "other");
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
    // The syncer releases first the resource, then the namespace.
    patch(
        &server,
        "configmap -n app settings",
        &json!({"metadata": {"annotations": {&soft: null}}}),
    );
    let_go(&server, &one, "configmap -n app settings");
    let_go(&server, &one, "namespace app");
    becomes(&server, "app", &[(&two, "Bound")]);
    let namespace = get(&server, "namespace app");
    assert!(
        namespace["metadata"]["annotations"]
            .get(deletion_annotation(&one))
            .is_none()
    );
    barrier(&server, "app", &two, "barrier");
    let left = get(&server, "configmap -n app settings");
    assert_eq!(label(&server, "configmap -n app settings", &one), None);
    assert!(
        left["metadata"]["annotations"]
            .get(deletion_annotation(&one))
            .is_none()
    );
    assert_eq!(
        label(&server, "configmap -n app settings", &two).as_deref(),
        Some("Sync")
    );
}

#[test]
fn what_nobody_holds_any_more_is_let_go_with_its_namespace() {
    let server = Server::start();
    let (one, two) = synced(&server);
    // Only with a finalizer of a coordination controller.
    config_map(&server, "app", "ingress");
    let soft = format!("finalizers.workloads.kcp.dev/{one}");
    let held = json!({"metadata": {"annotations": {&soft: "ingress"}}});
    patch(&server, "configmap -n app ingress", &held);
    labelled(&server, "configmap -n app ingress", &one, Some("Sync"));
    evict(&server, "one");
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
    stamped(&server, "configmap -n app ingress", &one);
    let_go(&server, &one, "configmap -n app settings");
    let_go(&server, &one, "namespace app");
    becomes(&server, "app", &[(&two, "Bound")]);
    barrier(&server, "app", &two, "barrier");
    assert_eq!(
        label(&server, "configmap -n app ingress", &one).as_deref(),
        Some("Sync")
    );
    patch(
        &server,
        "configmap -n app ingress",
        &json!({"metadata": {"annotations": {&soft: null}}}),
    );
    labelled(&server, "configmap -n app ingress", &one, None);
    let free = get(&server, "configmap -n app ingress");
    assert!(
        free["metadata"]["annotations"]
            .get(deletion_annotation(&one))
            .is_none()
    );
}

#[test]
fn a_cluster_that_is_deleted_is_forgotten_and_the_namespace_moves() {
    let server = Server::start();
    let (one, two) = synced(&server);
    server.kubectl("delete workloadcluster one").succeeds();
    becomes(&server, "app", &[(&two, "Bound")]);
    labelled(&server, "configmap -n app settings", &one, None);
    labelled(&server, "configmap -n app settings", &two, Some("Sync"));
    eventually("the finalizer of the syncer that is gone to go", || {
        let object = get(&server, "configmap -n app settings");
        object["metadata"]["finalizers"]
            .as_array()
            .is_none_or(Vec::is_empty)
            .then_some(())
    });
    assert_eq!(label(&server, "namespace app", &one), None);
}

#[test]
fn a_resource_that_is_deleted_leaves_the_cluster_first() {
    let server = Server::start();
    let (one, _) = synced(&server);
    server
        .kubectl("-n app delete configmap settings --wait=false")
        .succeeds();
    let since = stamped(&server, "configmap -n app settings", &one);
    let object = get(&server, "configmap -n app settings");
    assert_eq!(object["metadata"]["deletionTimestamp"], since.as_str());
    let_go(&server, &one, "configmap -n app settings");
    eventually("it to be gone", || {
        let found = server
            .kubectl("-n app get configmap settings --ignore-not-found -o name")
            .succeeds();
        found.is_empty().then_some(())
    });
}

#[test]
fn a_namespace_that_is_deleted_waits_for_its_syncer() {
    let server = Server::start();
    let (one, _) = synced(&server);
    server.kubectl("delete namespace app --wait=false").succeeds();
    stamped(&server, "configmap -n app settings", &one);
    // It is not decided again, and exists as long as its resources have finalizers.
    evict(&server, "one");
    namespace_barrier(&server, "other");
    let object = get(&server, "namespace app");
    assert_eq!(object["status"]["phase"], "Terminating");
    becomes(&server, "app", &[(&one, "Bound")]);
    let_go(&server, &one, "configmap -n app settings");
    eventually("the namespace to be gone", || {
        let found = server
            .kubectl("get namespace app --ignore-not-found -o name")
            .succeeds();
        found.is_empty().then_some(())
    });
}

#[test]
fn a_namespace_that_is_no_longer_placed_is_drained() {
    let server = Server::start();
    let (one, _) = synced(&server);
    configure(
        &server,
        &json!({"namespaceSelector": {"matchLabels": {"scheduling.berth.dev/kcp": "enabled"}}}),
    );
    becomes(&server, "app", &[(&one, "Removing")]);
    stamped(&server, "configmap -n app settings", &one);
    let_go(&server, &one, "configmap -n app settings");
    let_go(&server, &one, "namespace app");
    becomes(&server, "app", &[]);
    patch(
        &server,
        "namespace app",
        &json!({"metadata": {"labels": {"scheduling.berth.dev/kcp": "enabled"}}}),
    );
    bound(&server, "app");
}
