//! Deleted requests release their clusters, and clusters with the label are deleted with their last request.

use super::*;

/// Adds another finalizer, with which a deleted Cluster remains for a while.
fn hold(server: &Server, cluster: &str) {
    let object = get(server, "cluster", cluster);
    let mut list = finalizers(&object);
    list.push("provider.example.com/cluster");
    let change = json!({"metadata": {"finalizers": list}}).to_string();
    patch(server, &format!("-n ns cluster {cluster}"), &change);
}

/// Removes the provider's finalizer.
fn let_go(server: &Server, cluster: &str) {
    let object = get(server, "cluster", cluster);
    let mut list = finalizers(&object);
    list.retain(|name| *name != "provider.example.com/cluster");
    let change = json!({"metadata": {"finalizers": list}}).to_string();
    patch(server, &format!("-n ns cluster {cluster}"), &change);
}

fn delete(server: &Server, request: &str) {
    server
        .kubectl(&format!("-n ns delete clusterrequest {request} --wait=false"))
        .succeeds();
}

fn wait_for_deletion(server: &Server, kind: &str, name: &str) {
    eventually(&format!("{kind} {name} to be gone"), || {
        find(server, kind, name).is_none().then_some(())
    });
}

#[test]
fn the_last_request_takes_a_labelled_cluster_with_it() {
    let server = server(&[WORKLOAD]);
    request(&server, "one", "workload");
    let name = grant(&server, "one");
    request(&server, "two", "workload");
    assert_eq!(grant(&server, "two"), name);
    delete(&server, "one");
    wait_for_deletion(&server, "clusterrequest", "one");
    let cluster = get(&server, "cluster", &name);
    assert_eq!(finalizers(&cluster), [use_of(&server, "two")]);
    assert!(cluster["metadata"]["deletionTimestamp"].is_null());
    delete(&server, "two");
    wait_for_deletion(&server, "clusterrequest", "two");
    wait_for_deletion(&server, "cluster", &name);
}

#[test]
fn a_place_that_becomes_free_is_given_again_and_nothing_moves_into_it() {
    let server = server(&[WORKLOAD]);
    for name in ["one", "two", "three"] {
        request(&server, name, "workload");
        grant(&server, name);
    }
    let (first, second) = (grant(&server, "one"), grant(&server, "three"));
    assert_ne!(first, second);
    delete(&server, "two");
    wait_for_deletion(&server, "clusterrequest", "two");
    request(&server, "four", "workload");
    let fourth = grant(&server, "four");
    assert!([&first, &second].contains(&&fourth));
    assert_eq!((grant(&server, "one"), grant(&server, "three")), (first, second));
    assert_eq!(clusters(&server).len(), 2);
}

#[test]
fn any_other_value_of_the_label_keeps_the_cluster() {
    let kept = "kept: {template: {metadata: {labels: {clusters.openmcp.cloud/delete-without-requests: \"false\"}}, spec: {profile: small, tenancy: Shared}}}";
    let server = server(&[kept]);
    request(&server, "one", "kept");
    assert_eq!(grant(&server, "one"), "kept");
    // A manually created cluster without the label is also kept; one with the label is deleted with its
    // last request.
    delete(&server, "one");
    wait_for_deletion(&server, "clusterrequest", "one");
    let cluster = get(&server, "cluster", "kept");
    assert!(finalizers(&cluster).is_empty() && cluster["metadata"]["deletionTimestamp"].is_null());
    request(&server, "again", "kept");
    assert_eq!(grant(&server, "again"), "kept", "it is found again");
    server
        .kubectl("-n ns label --overwrite cluster kept clusters.openmcp.cloud/delete-without-requests=true")
        .succeeds();
    delete(&server, "again");
    wait_for_deletion(&server, "cluster", "kept");
    wait_for_deletion(&server, "clusterrequest", "again");
}

#[test]
fn a_request_waits_for_the_deletion_of_its_cluster_where_it_says_so() {
    let server = server(&[WORKLOAD, MCP]);
    request_with(
        &server,
        "patient",
        "",
        "purpose: workload, waitForClusterDeletion: true",
    );
    request(&server, "own", "mcp");
    request_with(
        &server,
        "hasty",
        "",
        "purpose: mcp, waitForClusterDeletion: false",
    );
    request(&server, "usual", "mcp");
    let names = ["patient", "own", "hasty", "usual"].map(|name| grant(&server, name));
    for name in &names[..3] {
        hold(&server, name);
    }
    for name in ["patient", "own", "hasty", "usual"] {
        delete(&server, name);
    }
    wait_for_deletion(&server, "clusterrequest", "hasty");
    wait_for_deletion(&server, "clusterrequest", "usual");
    wait_for_deletion(&server, "cluster", &names[3]);
    for (request, cluster) in [("patient", &names[0]), ("own", &names[1])] {
        eventually("the cluster to be let go", || {
            let cluster = get(&server, "cluster", cluster);
            let ending = !cluster["metadata"]["deletionTimestamp"].is_null();
            (ending && finalizers(&cluster) == ["provider.example.com/cluster"]).then_some(())
        });
        let waiting = get(&server, "clusterrequest", request);
        assert_eq!(finalizers(&waiting), ["clusters.openmcp.cloud/request"]);
        let_go(&server, cluster);
        wait_for_deletion(&server, "cluster", cluster);
        wait_for_deletion(&server, "clusterrequest", request);
    }
}

#[test]
fn a_pending_request_and_one_to_be_ignored_can_be_deleted() {
    let server = server(&[WORKLOAD]);
    request(&server, "unknown", "other");
    pending(&server, "unknown", "UnknownPurpose");
    request(&server, "set-aside", "workload");
    let name = grant(&server, "set-aside");
    server
        .kubectl("-n ns annotate clusterrequest set-aside openmcp.cloud/operation=ignore")
        .succeeds();
    delete(&server, "unknown");
    delete(&server, "set-aside");
    wait_for_deletion(&server, "clusterrequest", "unknown");
    wait_for_deletion(&server, "clusterrequest", "set-aside");
    wait_for_deletion(&server, "cluster", &name);
}
