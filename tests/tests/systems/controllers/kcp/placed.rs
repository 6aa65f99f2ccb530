//! The way from a new namespace to labelled resources, and the actor of each step.

use super::*;

#[test]
fn a_namespace_is_placed_and_adopted_and_its_resources_follow() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    config_map(&server, "app", "early");
    becomes(&server, "app", &[(&one, "Bound")]);
    labelled(&server, "namespace app", &one, Some("Sync"));
    labelled(&server, "configmap -n app early", &one, Some("Sync"));
    server
        .kubectl("-n app create secret generic password --from-literal=a=b")
        .succeeds();
    labelled(&server, "secret -n app password", &one, Some("Sync"));
    let object = get(&server, "namespace app");
    let scheduled = object["status"]["conditions"]
        .as_array()
        .and_then(|list| {
            list.iter()
                .find(|condition| condition["type"] == "NamespaceScheduled")
        })
        .cloned();
    assert_eq!(
        scheduled.map(|scheduled| scheduled["status"].clone()),
        Some(json!("True"))
    );
    // Kubernetes' own namespaces are not placed.
    config_map(&server, "kube-system", "own");
    barrier(&server, "app", &one, "barrier");
    assert_eq!(label(&server, "configmap -n kube-system own", &one), None);
    assert_eq!(label(&server, "namespace kube-system", &one), None);
}

#[test]
fn a_resource_that_is_taken_out_of_the_synced_ones_is_cleared_until_it_comes_back() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    config_map(&server, "app", "settings");
    server
        .kubectl("-n app create secret generic password --from-literal=a=b")
        .succeeds();
    let (settings, password) = ("configmap -n app settings", "secret -n app password");
    labelled(&server, settings, &one, Some("Sync"));
    labelled(&server, password, &one, Some("Sync"));
    take(&server, &one, settings);
    configure(&server, &json!({"syncedResources": ["secrets"]}));
    labelled(&server, settings, &one, None);
    let cleared = get(&server, settings);
    let holders = cleared["metadata"]["finalizers"].as_array();
    assert!(
        holders.is_none_or(Vec::is_empty),
        "nobody would let go: {cleared}"
    );
    assert_eq!(label(&server, password, &one).as_deref(), Some("Sync"));
    configure(&server, &json!({"syncedResources": ["configmaps", "secrets"]}));
    labelled(&server, settings, &one, Some("Sync"));
}

#[test]
fn contents_and_own_writes_cost_no_step() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    becomes(&server, "app", &[(&one, "Bound")]);
    barrier(&server, "app", &one, "settings");
    let counted = || (steps(&server, "kcp-resource"), steps(&server, "kcp-namespace"));
    // Steps are counted after they are done: the barrier's own step is the last.
    let before = eventually("the steps to be counted", || {
        let now = counted();
        (now == counted() && now.1 > 0).then_some(now)
    });
    for round in 0..5 {
        patch(
            &server,
            "configmap -n app settings",
            &json!({"data": {"round": round.to_string()}}),
        );
        let note = json!({"metadata": {"annotations": {"round": round.to_string()}}});
        patch(&server, "configmap -n app settings", &note);
        patch(&server, "namespace app", &note);
        patch(&server, "workloadcluster one", &note);
    }
    barrier(&server, "app", &one, "barrier");
    eventually("the barrier to be counted", || {
        (counted().0 > before.0).then_some(())
    });
    assert_eq!(counted(), (before.0 + 1, before.1), "the barrier alone");
}

#[test]
fn with_a_coordination_controller_resources_wait_for_it() {
    let server = Server::start_with(&["--kcp-coordination-user=ingress-controller"]);
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    config_map(&server, "app", "first");
    becomes(&server, "app", &[(&one, "Bound")]);
    labelled(&server, "configmap -n app first", &one, Some(""));
    // Both the named user and Berth's own may change the state, and it is kept.
    let go = json!({"metadata": {"labels": {state_label(&one): "Sync"}}});
    let as_coordinator = ["--as=ingress-controller", "--as-group=system:masters"];
    patch_as(&server, &as_coordinator, "configmap -n app first", &go);
    config_map(&server, "app", "second");
    labelled(&server, "configmap -n app second", &one, Some(""));
    assert_eq!(
        label(&server, "configmap -n app first", &one).as_deref(),
        Some("Sync")
    );
    // The configuration can name the coordinated resources; others that were waiting continue.
    configure(&server, &json!({"coordinatedResources": ["secrets"]}));
    labelled(&server, "configmap -n app second", &one, Some("Sync"));
    server
        .kubectl("-n app create secret generic password --from-literal=a=b")
        .succeeds();
    labelled(&server, "secret -n app password", &one, Some(""));
}

#[test]
fn synced_resources_follow_the_configuration() {
    let server = Server::start();
    configure(&server, &json!({"syncedResources": ["secrets"]}));
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    becomes(&server, "app", &[(&one, "Bound")]);
    config_map(&server, "app", "settings");
    server
        .kubectl("-n app create secret generic password --from-literal=a=b")
        .succeeds();
    labelled(&server, "secret -n app password", &one, Some("Sync"));
    assert_eq!(label(&server, "configmap -n app settings", &one), None);
    configure(&server, &json!({"syncedResources": ["secrets", "configmaps"]}));
    labelled(&server, "configmap -n app settings", &one, Some("Sync"));
}

#[test]
fn off_leaves_deciding_to_people_and_carries_out_what_they_decide() {
    let server = Server::start();
    server.bind_by_hand(&["kcp"]);
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    namespace(&server, "other");
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"name": "app.kcp", "namespace": "app"},
    });
    server
        .kubectl("create -f -")
        .input(binding.to_string())
        .succeeds();
    becomes(&server, "app", &[(&one, "Bound")]);
    barrier(&server, "app", &one, "settings");
    assert_eq!(placement(&server, "other"), BTreeMap::new());
    assert_eq!(decisions(&server, "kcp"), 0);
}

#[test]
fn a_controller_that_is_left_out_leaves_its_work_to_the_next() {
    let mut server = Server::start_with(&["--controllers=*,-kcp-namespace"]);
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    config_map(&server, "app", "settings");
    becomes(&server, "app", &[(&one, "Pending")]);
    eventually("the location to be counted", || {
        let location = get(&server, "location eu");
        (location["status"]["availableInstances"] == 1).then_some(())
    });
    assert_eq!(label(&server, "namespace app", &one), None);
    server.crash();
    server.restart();
    becomes(&server, "app", &[(&one, "Bound")]);
    labelled(&server, "configmap -n app settings", &one, Some("Sync"));
}
