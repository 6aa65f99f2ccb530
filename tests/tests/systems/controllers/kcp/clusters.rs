//! Reports of locations and workload clusters.

use super::*;

/// Writes a heartbeat as `berth:syncer`.
fn beat(server: &Server, name: &str, seconds_ago: u64) {
    use berth_apimachinery::Clock as _;
    let now = berth_apiserver::SystemClock.now();
    let at = now.checked_sub(std::time::Duration::from_secs(seconds_ago));
    let at = berth_apimachinery::time::rfc3339(at.expect("in range"));
    let change = json!({"status": {"lastSyncerHeartbeatTime": at}});
    patch(
        server,
        &format!("workloadcluster {name} --subresource=status"),
        &change,
    );
}

fn counts(server: &Server, name: &str) -> (i64, i64) {
    let object = get(server, &format!("location {name}"));
    let number = |field: &str| object["status"][field].as_i64().unwrap_or(-1);
    (number("instances"), number("availableInstances"))
}

fn count_becomes(server: &Server, name: &str, wanted: (i64, i64)) {
    eventually(&format!("location {name} to count {wanted:?}"), || {
        (counts(server, name) == wanted).then_some(())
    });
}

#[test]
fn locations_count_their_clusters_and_tell_their_labels() {
    let server = Server::start();
    apply(&server, &[location("eu"), location("us")]);
    count_becomes(&server, "eu", (0, 0));
    for (name, region) in [("one", "eu"), ("two", "eu"), ("three", "us")] {
        cluster(&server, name, region);
    }
    count_becomes(&server, "eu", (2, 2));
    count_becomes(&server, "us", (1, 1));
    let labels = |name: &str| {
        let object = get(&server, &format!("location {name}"));
        object["metadata"]["annotations"]["scheduling.kcp.dev/labels"].clone()
    };
    assert_eq!(labels("eu"), "cloud=gcp region=eu");
    let shown = server.kubectl("get locations eu").succeeds();
    assert!(shown.contains("cloud=gcp region=eu"), "{shown}");
    patch(
        &server,
        "location eu",
        &json!({"metadata": {"labels": {"cloud": null}}}),
    );
    eventually("the labels to be told", || {
        (labels("eu") == "region=eu").then_some(())
    });
    // Cordoned and unready clusters are not available; an evicting one still is.
    patch(
        &server,
        "workloadcluster one",
        &json!({"spec": {"unschedulable": true}}),
    );
    count_becomes(&server, "eu", (2, 1));
    let evicted = json!({"spec": {"evictAfter": "2021-10-28T09:00:00Z"}});
    patch(&server, "workloadcluster two", &evicted);
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    patch(&server, "workloadcluster three --subresource=status", &unready);
    count_becomes(&server, "us", (1, 0));
    assert_eq!(counts(&server, "eu"), (2, 1));
    // Labels, selectors and deletions.
    patch(
        &server,
        "workloadcluster two",
        &json!({"metadata": {"labels": {"region": "us"}}}),
    );
    count_becomes(&server, "eu", (1, 0));
    count_becomes(&server, "us", (2, 1));
    patch(
        &server,
        "location eu",
        &json!({"spec": {"instanceSelector": {"matchLabels": null}}}),
    );
    count_becomes(&server, "eu", (3, 1));
    server.kubectl("delete workloadcluster two").succeeds();
    count_becomes(&server, "eu", (2, 0));
    count_becomes(&server, "us", (1, 0));
}

#[test]
fn a_heartbeat_that_stops_makes_a_cluster_not_ready_and_one_that_returns_makes_it_ready() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    becomes(&server, "app", &[(&one, "Bound")]);
    beat(&server, "one", 0);
    eventually("the heartbeat to be healthy", || {
        (condition(&server, "one", "HeartbeatHealthy") == "True -").then_some(())
    });
    assert_eq!(condition(&server, "one", "Ready"), "True -");
    // The heartbeat becomes stale only by time, here a second after the change of the threshold.
    configure(&server, &json!({"heartbeatThreshold": "1s"}));
    eventually("the silence to be noticed", || {
        (condition(&server, "one", "Ready") == "False ErrorHeartbeat").then_some(())
    });
    assert_eq!(
        condition(&server, "one", "HeartbeatHealthy"),
        "False ErrorHeartbeat"
    );
    count_becomes(&server, "eu", (1, 0));
    // No namespace moves away, and no new one is placed there.
    namespace(&server, "late");
    eventually("the new one to be unschedulable", || {
        let object = get(&server, "namespace late");
        let list = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        list.iter()
            .any(|condition| condition["reason"] == "Unschedulable")
            .then_some(())
    });
    becomes(&server, "app", &[(&one, "Bound")]);
    // The heartbeat is fresh again.
    configure(&server, &json!({"heartbeatThreshold": "10m"}));
    eventually("the silence to be forgiven", || {
        (condition(&server, "one", "Ready") == "True -").then_some(())
    });
    beat(&server, "one", 3600);
    eventually("an old heartbeat to be noticed", || {
        (condition(&server, "one", "Ready") == "False ErrorHeartbeat").then_some(())
    });
    beat(&server, "one", 0);
    eventually("the heartbeat to be back", || {
        (condition(&server, "one", "Ready") == "True -").then_some(())
    });
    count_becomes(&server, "eu", (1, 1));
    becomes(&server, "late", &[(&one, "Bound")]);
}

#[test]
fn heartbeats_in_time_cost_neither_decision_nor_step() {
    let server = Server::start();
    apply(&server, &[location("eu")]);
    let one = cluster(&server, "one", "eu");
    namespace(&server, "app");
    becomes(&server, "app", &[(&one, "Bound")]);
    beat(&server, "one", 30);
    eventually("the heartbeat to be healthy", || {
        (condition(&server, "one", "HeartbeatHealthy") == "True -").then_some(())
    });
    count_becomes(&server, "eu", (1, 1));
    let settled = namespace_barrier(&server, "first");
    assert_eq!(settled, one);
    let counted = || {
        let reconcilers = ["kcp-heartbeat", "kcp-location"].map(|name| steps(&server, name));
        (reconcilers, decisions(&server, "kcp"))
    };
    let before = eventually("the counts to rest", || {
        let now = counted();
        (now == counted()).then_some(now)
    });
    for ago in [20, 15, 10, 5, 0] {
        beat(&server, "one", ago);
    }
    namespace_barrier(&server, "barrier");
    let after = counted();
    assert_eq!(after.0, before.0);
    assert!(
        after.1 <= before.1 + 1,
        "the barrier alone may be decided: {before:?}, {after:?}"
    );
}
