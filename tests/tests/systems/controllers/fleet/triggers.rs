//! Changes of clusters that cause decisions, and changes that do not.

use super::*;

/// A policy that picks all clusters with the label gold and more than four nodes.
const GOLD: &str = "placementType: PickAll, affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [{labelSelector: {matchLabels: {tier: gold}}, propertySelector: {matchExpressions: [{name: kubernetes-fleet.io/node-count, operator: Gt, values: [\"4\"]}]}}]}}}";

#[test]
fn every_way_to_become_eligible_fills_what_was_unfulfilled() {
    let server = server();
    let gold = Member {
        labels: "tier: gold",
        nodes: 9,
        ..Member::default()
    };
    let ready = Member {
        name: "ready",
        ..gold
    };
    ready.put(&server);
    place(&server, "p", GOLD);
    becomes(&server, "p", &["ready Scheduled"]);
    let untouched = binding(&server, "p", "ready");
    // Each of these lacks one property, and then gets it.
    let lacking = [
        Member {
            name: "labels",
            labels: "tier: silver",
            ..gold
        },
        Member {
            name: "nodes",
            nodes: 4,
            ..gold
        },
        Member {
            name: "taint",
            taints: "{key: down, effect: NoSchedule}",
            ..gold
        },
        Member {
            name: "health",
            healthy: false,
            ..gold
        },
        Member {
            name: "silent",
            silent: 3600,
            ..gold
        },
    ];
    for member in &lacking {
        member.put(&server);
    }
    place(&server, "barrier", GOLD);
    becomes(&server, "barrier", &["ready Scheduled"]);
    let mut wanted = vec!["ready Scheduled".to_owned()];
    for member in &lacking {
        let mended = Member {
            name: member.name,
            ..gold
        };
        match member.name {
            "taint" => patch(&server, "membercluster taint", r#"{"spec":{"taints":[]}}"#),
            "labels" => patch(
                &server,
                "membercluster labels",
                r#"{"metadata":{"labels":{"tier":"gold"}}}"#,
            ),
            _ => mended.put(&server),
        }
        wanted.push(format!("{} Scheduled", member.name));
        wanted.sort();
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        becomes(&server, "p", &wanted);
    }
    // A cluster that joins.
    Member { name: "new", ..gold }.put(&server);
    wanted.push("new Scheduled".to_owned());
    wanted.sort();
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    becomes(&server, "p", &wanted);
    assert_eq!(binding(&server, "p", "ready"), untouched);
}

#[test]
fn an_unfulfilled_placement_says_so_and_takes_only_what_it_lacks() {
    let server = server();
    member(&server, "m1", "site: a");
    place(&server, "p", "placementType: PickN, numberOfClusters: 2");
    becomes(&server, "p", &["m1 Scheduled"]);
    let note = event(&server, "default", "p", "Warning FailedScheduling");
    assert!(note.starts_with("SchedulingPolicyUnfulfilled: "), "{note}");
    let scheduled_condition = |server: &Server| {
        let placement = server.kubectl("get clusterresourceplacement p -o json").json();
        let snapshot = server
            .kubectl("get clusterschedulingpolicysnapshot p-0 -o json")
            .json();
        let [status, reason, _] = condition(&placement, "ClusterResourcePlacementScheduled")?;
        let [other, _, message] = condition(&snapshot, "Scheduled")?;
        assert_eq!(status, other, "{message}");
        Some((status, reason))
    };
    assert_eq!(
        scheduled_condition(&server),
        Some(("False".to_owned(), "SchedulingPolicyUnfulfilled".to_owned()))
    );
    let first = binding(&server, "p", "m1");
    // Two clusters join; the better one by name is picked, and the first is kept although it is worse.
    member(&server, "m2", "site: b");
    becomes(&server, "p", &["m1 Scheduled", "m2 Scheduled"]);
    assert_eq!(
        scheduled_condition(&server),
        Some(("True".to_owned(), "SchedulingPolicyFulfilled".to_owned()))
    );
    let note = event(&server, "default", "p", "Normal Scheduled");
    assert!(!note.is_empty());
    assert_eq!(binding(&server, "p", "m1"), first);
    let fulfilled = decisions(&server, "fleet");
    member(&server, "m9", "site: c");
    place(&server, "barrier", "placementType: PickN, numberOfClusters: 1");
    becomes(&server, "barrier", &["m9 Scheduled"]);
    counted(&server, "fleet", fulfilled + 1);
    assert_eq!(bindings(&server, "p"), ["m1 Scheduled", "m2 Scheduled"]);
}

#[test]
fn a_cluster_that_turns_ineligible_or_reports_as_before_moves_nothing() {
    let server = server();
    member(&server, "m1", "tier: gold");
    member(&server, "m2", "tier: gold");
    place(&server, "all", "placementType: PickAll");
    place(&server, "one", "placementType: PickN, numberOfClusters: 1");
    place(&server, "fixed", "placementType: PickFixed, clusterNames: [m2]");
    becomes(&server, "all", &["m1 Scheduled", "m2 Scheduled"]);
    becomes(&server, "one", &["m2 Scheduled"]);
    becomes(&server, "fixed", &["m2 Scheduled"]);
    counted(&server, "fleet", 3);
    // Heartbeats, a taint, bad health, missing heartbeats, more nodes, lost labels.
    for change in [
        Member {
            name: "m2",
            labels: "tier: gold",
            ..Member::default()
        },
        Member {
            name: "m2",
            labels: "tier: gold",
            nodes: 30,
            ..Member::default()
        },
        Member {
            name: "m2",
            labels: "tier: gold",
            taints: "{key: down, effect: NoSchedule}",
            ..Member::default()
        },
        Member {
            name: "m2",
            labels: "tier: gold",
            taints: "{key: down, effect: NoSchedule}",
            healthy: false,
            ..Member::default()
        },
        Member {
            name: "m2",
            taints: "{key: down, effect: NoSchedule}",
            healthy: false,
            silent: 3600,
            ..Member::default()
        },
    ] {
        change.put(&server);
    }
    place(&server, "barrier", "placementType: PickN, numberOfClusters: 1");
    becomes(&server, "barrier", &["m1 Scheduled"]);
    counted(&server, "fleet", 4);
    assert_eq!(bindings(&server, "all"), ["m1 Scheduled", "m2 Scheduled"]);
    assert_eq!(bindings(&server, "one"), ["m2 Scheduled"]);
    assert_eq!(bindings(&server, "fixed"), ["m2 Scheduled"]);
}

#[test]
fn a_leaving_cluster_is_left_once_it_is_gone_and_replaced_where_one_is_missing() {
    let server = server();
    for name in ["m1", "m2", "m3"] {
        member(&server, name, "");
    }
    place(&server, "all", "placementType: PickAll");
    place(&server, "one", "placementType: PickN, numberOfClusters: 1");
    place(&server, "fixed", "placementType: PickFixed, clusterNames: [m3]");
    place(
        &server,
        "elsewhere",
        "placementType: PickFixed, clusterNames: [m1]",
    );
    becomes(&server, "all", &["m1 Scheduled", "m2 Scheduled", "m3 Scheduled"]);
    becomes(&server, "one", &["m3 Scheduled"]);
    becomes(&server, "fixed", &["m3 Scheduled"]);
    becomes(&server, "elsewhere", &["m1 Scheduled"]);
    roll_out(&server, "one");
    counted(&server, "fleet", 4);
    // It still exists for a while: its agents are still leaving.
    patch(
        &server,
        "membercluster m3",
        r#"{"metadata":{"finalizers":["kubernetes-fleet.io/membercluster-finalizer"]}}"#,
    );
    server.kubectl("delete membercluster m3 --wait=false").succeeds();
    // Bindings on it are kept as long as it exists.
    becomes(&server, "all", &["m1 Scheduled", "m2 Scheduled", "m3 Scheduled"]);
    becomes(&server, "one", &["m3 Bound"]);
    counted(&server, "fleet", 4);
    patch(&server, "membercluster m3", r#"{"metadata":{"finalizers":null}}"#);
    becomes(
        &server,
        "all",
        &["m1 Scheduled", "m2 Scheduled", "m3 Unscheduled"],
    );
    becomes(&server, "one", &["m2 Scheduled", "m3 Unscheduled"]);
    becomes(&server, "fixed", &["m3 Unscheduled"]);
    assert_eq!(
        binding(&server, "one", "m3")["metadata"]["annotations"][PREVIOUS],
        "Bound"
    );
    counted(&server, "fleet", 7);
    // A cluster that is deleted without leaving.
    server.kubectl("delete membercluster m2").succeeds();
    becomes(
        &server,
        "all",
        &["m1 Scheduled", "m2 Unscheduled", "m3 Unscheduled"],
    );
    becomes(
        &server,
        "one",
        &["m1 Scheduled", "m2 Unscheduled", "m3 Unscheduled"],
    );
    assert_eq!(bindings(&server, "elsewhere"), ["m1 Scheduled"]);
    // It is created again: PickAll and the fixed list bind it as before.
    member(&server, "m3", "");
    becomes(&server, "fixed", &["m3 Scheduled"]);
    becomes(
        &server,
        "all",
        &["m1 Scheduled", "m2 Unscheduled", "m3 Scheduled"],
    );
}
