//! Every case of the table, with the decisions of Karmada v1.18.2 itself.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::testing::{binding_value, choice_text, chosen, cluster, cluster_value, clusters, record};

const THREE: &str = "a:10 b:6 c:6";
const FIVE: &str = "m1:40 m2:30 m3:60 m4:10 m5:20";
const REGIONS: &str = "A/a1:10 A/a2:20 B/b1:50 C/c1:5 C/c2:5 C/c3:5";
const GROUPS: &str = "a:4 b:6 c:20";

fn aggregated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
}

fn dynamic() -> Value {
    weighted(&json!({"dynamicWeight": "AvailableReplicas"}))
}

fn duplicated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}})
}

fn weighted(preference: &Value) -> Value {
    let mut scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"});
    if !preference.is_null() {
        scheduling["weightPreference"] = preference.clone();
    }
    json!({"replicaScheduling": scheduling})
}

fn fixed(weights: &[(&str, i64)]) -> Value {
    let rules = weights
        .iter()
        .map(|(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight}));
    weighted(&json!({"staticWeightList": rules.collect::<Vec<_>>()}))
}

/// Returns the placement with constraints such as `region 1..3`.
fn spread(mut placement: Value, constraints: &[(&str, i64, i64)]) -> Value {
    let all = constraints
        .iter()
        .map(|(field, least, most)| json!({"spreadByField": field, "minGroups": least, "maxGroups": most}));
    placement["spreadConstraints"] = all.collect::<Vec<_>>().into();
    placement
}

fn decided(world: &str, placement: &Value, replicas: i64, held: &str) -> String {
    choice_text(
        &clusters(world),
        &record(&binding_value(placement, replicas, held)),
    )
}

#[test]
fn aggregated_fills_as_few_clusters_as_it_takes() {
    for (replicas, held, expected) in [
        (7, "", "a:7"),
        (12, "", "a:7 b:5"),
        (22, "", "a:10 b:6 c:6"),
        (23, "", "Unschedulable"),
        (9, "b6", "b:9"),
        (12, "b6", "b:12"),
        (14, "b1 c1", "b:7 c:7"),
        (5, "a6 b3 c3", "a:5"),
    ] {
        assert_eq!(
            decided(THREE, &aggregated(), replicas, held),
            expected,
            "{replicas} after {held}"
        );
    }
}

#[test]
fn dynamic_weights_divide_by_room_and_scale_by_what_is_there() {
    for (world, replicas, held, expected) in [
        (THREE, 12, "", "a:6 b:3 c:3"),
        (THREE, 5, "a6 b3 c3", "a:3 b:1 c:1"),
        (THREE, 1, "a4 b4 c4", "a:1"),
        (THREE, 12, "c12", "c:12"),
        ("a:10 b:6", 12, "b4 c8", "a:5 b:7"),
    ] {
        assert_eq!(
            decided(world, &dynamic(), replicas, held),
            expected,
            "{replicas} after {held}"
        );
    }
}

#[test]
fn asked_for_from_scratch_it_forgets_what_was_there_once_it_was_decided() {
    let mut fresh = binding_value(&dynamic(), 12, "c12");
    fresh["spec"]["rescheduleTriggeredAt"] = "2026-01-02T00:00:00Z".into();
    assert_eq!(
        choice_text(&clusters(THREE), &record(&fresh)),
        "c:12",
        "never decided"
    );
    fresh["status"]["lastScheduledTime"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(choice_text(&clusters(THREE), &record(&fresh)), "a:4 b:2 c:6");
    fresh["status"]["lastScheduledTime"] = "2026-01-02T00:00:00Z".into();
    assert_eq!(
        choice_text(&clusters(THREE), &record(&fresh)),
        "c:12",
        "decided since"
    );
}

#[test]
fn duplicated_looks_at_no_room() {
    assert_eq!(decided(THREE, &duplicated(), 50, ""), "a:50 b:50 c:50");
    assert_eq!(decided(THREE, &json!({}), 50, ""), "a:50 b:50 c:50");
}

#[test]
fn static_weights_go_by_rules_alone_and_ties_by_the_uid() {
    assert_eq!(decided(THREE, &fixed(&[("a", 1), ("b", 2)]), 9, ""), "a:3 b:6");
    assert_eq!(decided(THREE, &fixed(&[("x", 1)]), 9, ""), "a:3 b:3 c:3");
    for (uid, expected) in [("", "a:3 b:2 c:2"), ("1", "a:3 b:2 c:2"), ("2", "a:2 b:2 c:3")] {
        let mut binding = binding_value(&weighted(&Value::Null), 7, "");
        binding["spec"]["resource"]["uid"] = uid.into();
        assert_eq!(
            choice_text(&clusters(THREE), &record(&binding)),
            expected,
            "uid {uid:?}"
        );
    }
}

#[test]
fn without_replicas_a_workload_goes_nowhere_and_everything_else_everywhere() {
    let mut workload = binding_value(&duplicated(), 0, "");
    workload["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "1"}});
    assert_eq!(choice_text(&clusters(THREE), &record(&workload)), "");
    assert_eq!(decided(THREE, &aggregated(), 0, ""), "a:0 b:0 c:0");
}

#[test]
fn spread_by_cluster_takes_the_best_and_changes_them_for_room() {
    for (placement, (least, most), replicas, held, expected) in [
        (duplicated(), (1, 2), 5, "", "m1:5 m3:5"),
        (duplicated(), (6, 7), 5, "", "SchedulerError"),
        (duplicated(), (2, 0), 5, "", "SchedulerError"),
        (dynamic(), (2, 2), 80, "", "m1:32 m3:48"),
        (dynamic(), (2, 2), 90, "", "m1:36 m3:54"),
        (dynamic(), (2, 2), 101, "", "SchedulerError"),
        (dynamic(), (2, 2), 100, "m4:5 m5:5", "m1:40 m3:60"),
        (aggregated(), (2, 3), 5, "", "m3:5"),
        (fixed(&[("m1", 1), ("m4", 1)]), (1, 1), 10, "", "m1:5 m4:5"),
        (weighted(&json!({})), (1, 1), 10, "", "m3:10"),
    ] {
        let placement = spread(placement, &[("cluster", least, most)]);
        assert_eq!(
            decided(FIVE, &placement, replicas, held),
            expected,
            "{placement} {replicas} after {held}"
        );
    }
}

#[test]
fn spread_by_region_chooses_regions_first() {
    for (placement, region, cluster, replicas, expected) in [
        (duplicated(), (1, 3), (1, 3), 5, "c1:5 c2:5 c3:5"),
        (duplicated(), (2, 2), (2, 2), 5, "a2:5 c1:5"),
        (duplicated(), (2, 2), (2, 4), 5, "a1:5 a2:5 c1:5 c2:5"),
        (duplicated(), (3, 3), (1, 2), 5, "a2:5 b1:5 c1:5"),
        (duplicated(), (1, 2), (4, 6), 5, "a1:5 a2:5 c1:5 c2:5 c3:5"),
        (duplicated(), (1, 1), (4, 4), 5, "SchedulerError"),
        (duplicated(), (4, 4), (1, 4), 5, "SchedulerError"),
        (dynamic(), (2, 2), (2, 4), 40, "a1:5 a2:10 b1:25"),
        (dynamic(), (2, 2), (2, 2), 75, "Unschedulable"),
        (dynamic(), (2, 2), (2, 3), 75, "a1:9 a2:19 b1:47"),
    ] {
        let constraints = [("region", region.0, region.1), ("cluster", cluster.0, cluster.1)];
        let placement = spread(placement, &constraints);
        assert_eq!(
            decided(REGIONS, &placement, replicas, ""),
            expected,
            "{placement} {replicas}"
        );
    }
}

#[test]
fn the_constraint_without_max_groups_is_named() {
    for (region, field) in [(None, "cluster"), (Some(("region", 1, 0)), "region")] {
        let constraints: Vec<_> = region.into_iter().chain([("cluster", 1, 0)]).collect();
        let placement = spread(duplicated(), &constraints);
        let choice = chosen(&clusters(REGIONS), &record(&binding_value(&placement, 5, "")));
        assert_eq!(
            choice.run.outcome,
            Err(Failure::NoMaxGroups { field }),
            "{placement}"
        );
    }
    let constraints = [("region", 2, 2), ("cluster", 1, 0)];
    assert_eq!(
        decided(REGIONS, &spread(duplicated(), &constraints), 5, ""),
        "a2:5 c1:5"
    );
}

fn grouped(overflow: bool) -> Value {
    let mut placement = dynamic();
    placement["clusterAffinities"] = match overflow {
        false => json!([
            {"affinityName": "g1", "clusterNames": ["a"]},
            {"affinityName": "g2", "clusterNames": ["b", "c"]},
        ]),
        true => json!([{
            "affinityName": "g1", "clusterNames": ["a"],
            "overflowAffinities": [
                {"affinityName": "o1", "clusterNames": ["b"]},
                {"affinityName": "o2", "clusterNames": ["c"]},
            ],
        }]),
    };
    placement
}

#[test]
fn groups_are_tried_from_the_observed_one_on_and_never_back() {
    for (replicas, held, observed, fresh, expected) in [
        (3, "", "", false, "g1: a:3"),
        (8, "", "", false, "g2: b:2 c:6"),
        (80, "", "", false, "Unschedulable"),
        (3, "b3", "g2", false, "g2: b:3"),
        (80, "b3", "g2", false, "Unschedulable"),
        (3, "b3", "g2", true, "g1: a:3"),
    ] {
        let mut binding = binding_value(&grouped(false), replicas, held);
        binding["status"]["schedulerObservingAffinityName"] = observed.into();
        if fresh {
            binding["spec"]["rescheduleTriggeredAt"] = "2026-01-02T00:00:00Z".into();
            binding["status"]["lastScheduledTime"] = "2026-01-01T00:00:00Z".into();
        }
        let text = choice_text(&clusters(GROUPS), &record(&binding));
        assert_eq!(
            text, expected,
            "{replicas} after {held}, {observed} observed, fresh: {fresh}"
        );
    }
}

#[test]
fn what_has_no_room_in_a_group_flows_over() {
    for (replicas, held, expected) in [
        (3, "", "g1: a:3"),
        (8, "", "g1: a:4 b:4"),
        (25, "", "g1: a:4 b:6 c:15"),
        (31, "", "Unschedulable"),
        (5, "a4 b6 c15", "g1: a:5"),
    ] {
        assert_eq!(
            decided(GROUPS, &grouped(true), replicas, held),
            expected,
            "{replicas} after {held}"
        );
    }
    for (most, expected) in [(1, "g1: c:8"), (2, "g1: a:4 b:4")] {
        let placement = spread(grouped(true), &[("cluster", 1, most)]);
        assert_eq!(decided(GROUPS, &placement, 8, ""), expected, "at most {most}");
    }
}

#[test]
fn a_taint_keeps_nothing_away_that_is_there_already() {
    let tainted = |name: &str, effect: &str| {
        let mut value = cluster_value(name, 10);
        value["spec"]["taints"] = json!([{"key": "k", "effect": effect}]);
        cluster(&value)
    };
    let world = [
        tainted("a", "NoExecute"),
        tainted("b", "NoSchedule"),
        tainted("c", "PreferNoSchedule"),
    ];
    let binding = binding_value(&duplicated(), 1, "a1");
    assert_eq!(choice_text(&world, &record(&binding)), "a:1 c:1");
}
