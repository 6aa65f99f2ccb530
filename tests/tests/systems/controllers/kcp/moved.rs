//! Changes that move a namespace, and changes that do not.

use super::*;

/// Creates a namespace `app` on the only cluster of the location eu.
fn settled(server: &Server) -> String {
    apply(server, &[location("eu")]);
    let one = cluster(server, "one", "eu");
    namespace(server, "app");
    becomes(server, "app", &[(&one, "Bound")]);
    one
}

#[test]
fn a_cordon_a_lost_condition_and_a_new_cluster_move_nothing() {
    let server = Server::start();
    let one = settled(&server);
    let two = cluster(&server, "two", "eu");
    patch(
        &server,
        "workloadcluster one",
        &json!({"spec": {"unschedulable": true}}),
    );
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    patch(&server, "workloadcluster one --subresource=status", &unready);
    patch(
        &server,
        "location eu",
        &json!({"spec": {"description": "Europe"}}),
    );
    patch(
        &server,
        "namespace app",
        &json!({"metadata": {"labels": {"team": "a"}}}),
    );
    // New namespaces are placed elsewhere.
    assert_eq!(namespace_barrier(&server, "other"), two);
    becomes(&server, "app", &[(&one, "Bound")]);
    // The end of it does not either.
    patch(
        &server,
        "workloadcluster one",
        &json!({"spec": {"unschedulable": false}}),
    );
    patch(
        &server,
        "workloadcluster two",
        &json!({"spec": {"unschedulable": true}}),
    );
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    patch(&server, "workloadcluster one --subresource=status", &ready);
    assert_eq!(namespace_barrier(&server, "another"), one);
    becomes(&server, "app", &[(&one, "Bound")]);
    becomes(&server, "other", &[(&two, "Bound")]);
}

#[test]
fn an_eviction_begins_at_its_instant_by_time_alone() {
    let server = Server::start();
    let one = settled(&server);
    let soon = clock_in(3);
    patch(
        &server,
        "workloadcluster one",
        &json!({"spec": {"evictAfter": soon}}),
    );
    let two = cluster(&server, "two", "eu");
    let before = placement(&server, "app");
    if clock_in(0) < soon {
        assert_eq!(before[&one], "Bound", "its time has not come");
    }
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
    assert!(clock_in(0) >= soon);
}

/// The time in this number of seconds.
fn clock_in(seconds: u64) -> String {
    use berth_apimachinery::Clock as _;
    let now = berth_apiserver::SystemClock.now();
    let at = now.checked_add(std::time::Duration::from_secs(seconds));
    berth_apimachinery::time::rfc3339(at.expect("in range"))
}

#[test]
fn a_location_that_no_longer_holds_the_cluster_gives_another() {
    let server = Server::start();
    let one = settled(&server);
    let two = cluster(&server, "two", "north");
    cluster(&server, "three", "south");
    let north = json!({"spec": {"instanceSelector": {"matchLabels": {"region": "north"}}}});
    patch(&server, "location eu", &north);
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
    let_go(&server, &one, "namespace app");
    becomes(&server, "app", &[(&two, "Bound")]);
    // The labels of a cluster do the same.
    let south = json!({"metadata": {"labels": {"region": "south"}}});
    patch(&server, "workloadcluster two", &south);
    becomes(&server, "app", &[(&two, "Removing")]);
    patch(
        &server,
        "workloadcluster one",
        &json!({"metadata": {"labels": {"region": "north"}}}),
    );
    becomes(&server, "app", &[(&one, "Bound"), (&two, "Removing")]);
}

#[test]
fn a_location_sticks_until_nothing_is_left_in_it() {
    let server = Server::start();
    let one = settled(&server);
    apply(&server, &[location("us")]);
    let far = cluster(&server, "far", "us");
    let evicted = json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}});
    patch(&server, "workloadcluster one", &evicted);
    becomes(&server, "app", &[(&one, "Removing")]);
    // No fallback to another location, whatever changes there.
    namespace_barrier(&server, "other");
    cluster(&server, "farther", "us");
    namespace_barrier(&server, "another");
    becomes(&server, "app", &[(&one, "Removing")]);
    // The old place no longer applies: any location is possible.
    patch(
        &server,
        "location us",
        &json!({"spec": {"instanceSelector": {"matchLabels": {"region": "us"}}}}),
    );
    server.kubectl("delete workloadcluster farther").succeeds();
    let_go(&server, &one, "namespace app");
    becomes(&server, "app", &[(&far, "Bound")]);
}

#[test]
fn what_finds_no_cluster_waits_for_one_that_could_help() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    namespace(&server, "app");
    eventually("it to be unschedulable", || {
        let object = get(&server, "namespace app");
        let list = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = list.iter().any(|condition| {
            condition["type"] == "NamespaceScheduled" && condition["reason"] == "Unschedulable"
        });
        found.then_some(())
    });
    // A cluster without a location has no effect; the first one with a location ends the wait, long before
    // the next timed attempt.
    cluster(&server, "nowhere", "mars");
    assert_eq!(placement(&server, "app"), BTreeMap::new());
    let one = cluster(&server, "one", "eu");
    becomes(&server, "app", &[(&one, "Bound")]);
}

#[test]
fn a_namespace_with_scheduling_disabled_is_frozen() {
    let server = Server::start();
    let one = settled(&server);
    let two = cluster(&server, "two", "eu");
    let key = "experimental.workloads.kcp.dev/scheduling-disabled";
    patch(
        &server,
        "namespace app",
        &json!({"metadata": {"labels": {key: "true"}}}),
    );
    let evicted = json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}});
    patch(&server, "workloadcluster one", &evicted);
    assert_eq!(namespace_barrier(&server, "other"), two);
    becomes(&server, "app", &[(&one, "Bound")]);
    patch(
        &server,
        "namespace app",
        &json!({"metadata": {"labels": {key: null}}}),
    );
    becomes(&server, "app", &[(&one, "Removing"), (&two, "Bound")]);
}
