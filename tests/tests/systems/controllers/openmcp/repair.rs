//! Repair of damage by others: a lost Cluster, a lost finalizer, a lost status.

use super::*;

/// Patches as a member of the break-glass group.
fn force(server: &Server, what: &str, change: &str) {
    let fred = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    let mut arguments: Vec<&str> = vec!["patch"];
    arguments.extend(what.split_whitespace());
    arguments.extend(["--type=merge", "-p", change]);
    server.kubectl_as(&fred, &arguments).succeeds();
}

#[test]
fn a_lost_finalizer_is_put_back_on_cluster_and_request() {
    let server = server(&[WORKLOAD]);
    request(&server, "one", "workload");
    let name = grant(&server, "one");
    let used = use_of(&server, "one");
    let without = r#"{"metadata":{"finalizers":null}}"#;
    force(&server, &format!("-n ns cluster {name}"), without);
    eventually("the finalizer to be put back", || {
        finalizers(&get(&server, "cluster", &name))
            .contains(&used.as_str())
            .then_some(())
    });
    let event = eventually("the repair to be told", || {
        let events = super::super::events(&server, "ns", "one").into_iter();
        let mut notes = events.map(|(_, note)| note);
        notes.find(|note| note.contains("lost finalizer"))
    });
    assert_eq!(
        event,
        format!("bound to ns/{name}; the lost finalizer of the request is restored")
    );
    force(&server, "-n ns clusterrequest one", without);
    eventually("the request's own to be put back", || {
        finalizers(&get(&server, "clusterrequest", "one"))
            .contains(&"clusters.openmcp.cloud/request")
            .then_some(())
    });
    assert_eq!(grant(&server, "one"), name);
}

#[test]
fn a_lost_cluster_is_made_again_under_its_name() {
    let server = server(&[WORKLOAD]);
    request(&server, "one", "workload");
    request(&server, "two", "workload");
    let name = grant(&server, "one");
    assert_eq!(grant(&server, "two"), name);
    let uid = |server: &Server| get(server, "cluster", &name)["metadata"]["uid"].clone();
    let before = uid(&server);
    // A deletion does not remove it: requests use it.
    server
        .kubectl(&format!("-n ns delete cluster {name} --wait=false"))
        .succeeds();
    request(&server, "barrier", "workload");
    let other = grant(&server, "barrier");
    assert_ne!(other, name, "a cluster that goes is not shared");
    assert_eq!(uid(&server), before);
    force(
        &server,
        &format!("-n ns cluster {name}"),
        r#"{"metadata":{"finalizers":null}}"#,
    );
    let (one, two) = (use_of(&server, "one"), use_of(&server, "two"));
    eventually("it to be made again, for both", || {
        let cluster = find(&server, "cluster", &name)?;
        let held = finalizers(&cluster);
        (cluster["metadata"]["uid"] != before && held.contains(&one.as_str()) && held.contains(&two.as_str()))
            .then_some(())
    });
    assert_eq!(
        (grant(&server, "one"), grant(&server, "two")),
        (name.clone(), name)
    );
    assert_eq!(clusters(&server).len(), 2);
}

#[test]
fn a_lost_status_is_found_again_by_the_finalizer() {
    let server = server(&[WORKLOAD]);
    request(&server, "one", "workload");
    let name = grant(&server, "one");
    let fred = server.kubeconfig_for("fred", &["system:masters", "firefighters"]);
    let cut = r#"{"status":{"phase":"Pending","observedGeneration":1}}"#;
    server
        .kubectl_as(
            &fred,
            &[
                "-n",
                "ns",
                "patch",
                "clusterrequest",
                "one",
                "--subresource=status",
                "--type=merge",
                "-p",
                cut,
            ],
        )
        .succeeds();
    assert_eq!(grant(&server, "one"), name);
    assert_eq!(clusters(&server), [name]);
}
