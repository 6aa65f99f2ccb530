//! The heartbeat controller's computation.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A cluster with its last heartbeat at second 0, and with these conditions.
fn cluster(conditions: Value) -> Value {
    json!({"status": {"lastSyncerHeartbeatTime": "1970-01-01T00:00:00Z", "conditions": conditions}})
}

fn at_second(cluster: &Value, second: i64) -> Option<Value> {
    let new = reconcile(cluster, SignedDuration::from_mins(1), at(second));
    if let Some(new) = &new {
        let again = reconcile(new, SignedDuration::from_mins(1), at(second + 1));
        assert!(second == 60 || again.is_none(), "doing it twice changes nothing");
    }
    new
}

fn shown(cluster: &Value) -> Vec<String> {
    let list = cluster["status"]["conditions"].as_array().unwrap().iter();
    let text = |condition: &Value, name: &str| condition[name].as_str().unwrap_or("-").to_owned();
    list.map(|condition| {
        ["type", "status", "severity", "reason"]
            .map(|name| text(condition, name))
            .join(" ")
    })
    .collect()
}

#[test]
fn a_cluster_never_heard_of_is_not_healthy() {
    let created = json!({"creationTimestamp": "1970-01-01T00:00:00Z"});
    for silent in [
        json!({"metadata": created}),
        json!({"metadata": created, "status": {"conditions": []}}),
    ] {
        assert_eq!(at_second(&silent, 60), None, "its syncer may be on its way");
        let told = at_second(&silent, 1000).unwrap();
        let expected = [
            "HeartbeatHealthy False Warning ErrorHeartbeat",
            "Ready False Warning ErrorHeartbeat",
        ];
        assert_eq!(shown(&told), expected);
        assert_eq!(
            told["status"]["conditions"][0]["message"],
            "no heartbeat of the syncer was ever seen"
        );
        // The first heartbeat reverts the condition.
        let mut heard = told;
        heard["status"]["lastSyncerHeartbeatTime"] = "1970-01-01T00:17:00Z".into();
        let healthy = reconcile(&heard, SignedDuration::from_mins(1), at(1021)).unwrap();
        assert_eq!(shown(&healthy), ["HeartbeatHealthy True - -", "Ready True - -"]);
    }
}

#[test]
fn a_cluster_never_heard_of_that_somebody_else_reports_on_is_left_to_them() {
    let created = json!({"creationTimestamp": "1970-01-01T00:00:00Z"});
    for conditions in [
        json!([{"type": "Ready", "status": "True"}]),
        json!([{"type": "Ready", "status": "Unknown"}]),
        json!([{"type": "SyncerReady", "status": "True"}]),
    ] {
        let silent = json!({"metadata": created, "status": {"conditions": conditions}});
        assert_eq!(at_second(&silent, 1000), None, "{silent}");
    }
    let unreachable = json!({"metadata": created, "status": {"conditions": [
        {"type": "SyncerReady", "status": "False", "severity": "Error", "reason": "ClusterUnreachable"},
    ]}});
    let told = at_second(&unreachable, 1000).unwrap();
    assert_eq!(shown(&told).len(), 3);
}

#[test]
fn the_threshold_itself_is_still_healthy() {
    let healthy = at_second(&cluster(json!([])), 60).unwrap();
    assert_eq!(shown(&healthy), ["HeartbeatHealthy True - -", "Ready True - -"]);
    let silent = at_second(&healthy, 61).unwrap();
    assert_eq!(
        shown(&silent),
        [
            "HeartbeatHealthy False Warning ErrorHeartbeat",
            "Ready False Warning ErrorHeartbeat"
        ]
    );
    let ready = &silent["status"]["conditions"][1];
    assert_eq!(
        ready["message"],
        "no heartbeat of the syncer since 1970-01-01T00:00:00Z"
    );
    assert_eq!(ready["lastTransitionTime"], "1970-01-01T00:01:01Z");
}

#[test]
fn a_heartbeat_that_returns_makes_ready_what_its_parts_say() {
    let silent = at_second(&cluster(json!([{"type": "Ready", "status": "True"}])), 61).unwrap();
    assert_eq!(
        shown(&silent),
        [
            "Ready False Warning ErrorHeartbeat",
            "HeartbeatHealthy False Warning ErrorHeartbeat"
        ]
    );
    let mut back = silent.clone();
    back["status"]["lastSyncerHeartbeatTime"] = "1970-01-01T00:02:00Z".into();
    let back = at_second(&back, 121).unwrap();
    assert_eq!(shown(&back), ["Ready True - -", "HeartbeatHealthy True - -"]);
    let mut broken = silent;
    broken["status"]["lastSyncerHeartbeatTime"] = "1970-01-01T00:02:00Z".into();
    let list = broken["status"]["conditions"].as_array_mut().unwrap();
    list.push(json!({"type": "APIImporterReady", "status": "False", "severity": "Info", "reason": "Slow"}));
    list.push(
        json!({"type": "SyncerReady", "status": "False", "severity": "Error", "reason": "InvalidKubeConfig"}),
    );
    let broken = at_second(&broken, 121).unwrap();
    assert_eq!(shown(&broken)[0], "Ready False Error InvalidKubeConfig");
}

#[test]
fn a_cluster_that_answers_again_is_ready_also_if_its_heartbeat_came_first() {
    let unreachable = json!([
        {"type": "Ready", "status": "True"},
        {"type": "SyncerReady", "status": "False", "severity": "Error", "reason": "ClusterUnreachable"},
    ]);
    let mut beating = at_second(&cluster(unreachable), 61).unwrap();
    beating["status"]["lastSyncerHeartbeatTime"] = "1970-01-01T00:02:00Z".into();
    let mut answering = at_second(&beating, 121).unwrap();
    assert_eq!(shown(&answering)[0], "Ready False Error ClusterUnreachable");
    answering["status"]["conditions"][1] = json!({"type": "SyncerReady", "status": "True"});
    let answering = at_second(&answering, 122).unwrap();
    assert_eq!(shown(&answering)[0], "Ready True - -");
}

#[test]
fn another_reason_not_to_be_ready_is_left_to_whoever_found_it() {
    let broken = json!([{"type": "Ready", "status": "False", "reason": "InvalidKubeConfig"}]);
    let healthy = at_second(&cluster(broken.clone()), 1).unwrap();
    assert_eq!(shown(&healthy)[0], "Ready False - InvalidKubeConfig");
    let silent = at_second(&cluster(broken), 61).unwrap();
    assert_eq!(shown(&silent)[0], "Ready False - InvalidKubeConfig");
    let unknown = at_second(&cluster(json!([{"type": "Ready", "status": "Unknown"}])), 1).unwrap();
    assert_eq!(shown(&unknown)[0], "Ready Unknown - -", "nobody said that it is");
}
