//! Changes that make Karmada decide, and those that do not.

use serde_json::{Value, json};

use super::*;
use crate::testing::{binding_value, cluster, cluster_value, clusters, record};

fn divided() -> Value {
    json!({
        "clusterAffinities": [
            {"affinityName": "g1", "clusterNames": ["a"]},
            {"affinityName": "g2", "clusterNames": ["b"]},
        ],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    })
}

/// The trigger of a settled binding with `placement`, on the clusters in `held`, after `change`.
fn trigger(placement: &Value, replicas: i64, held: &str, change: impl FnOnce(&mut Value)) -> Trigger {
    let mut value = binding_value(placement, replicas, held);
    value["metadata"]["annotations"] = json!({"policy.karmada.io/applied-placement": placement.to_string()});
    value["status"] = json!({
        "schedulerObservedGeneration": 1, "schedulerObservingAffinityName": "g1",
        "lastScheduledTime": "2026-01-01T00:00:00Z",
    });
    change(&mut value);
    let record = record(&value);
    let placement = &record.placement.as_ref().expect("a placement").raw;
    Trigger::of(&record, placement, &Columns::build(clusters("a:10 b:10").iter()))
}

#[test]
fn a_settled_divided_workload_waits_and_everything_else_decides_at_every_look() {
    assert_eq!(trigger(&divided(), 3, "a3", |_| {}), Trigger::Nothing);
    assert_eq!(trigger(&divided(), 0, "a0", |_| {}), Trigger::Always);
    assert_eq!(trigger(&json!({}), 3, "a3", |_| {}), Trigger::Always);
}

#[test]
fn another_number_of_replicas_decides() {
    assert_eq!(trigger(&divided(), 4, "a3", |_| {}), Trigger::ReplicasChanged);
    let duplicated = json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}});
    assert_eq!(trigger(&duplicated, 4, "a4 b3", |_| {}), Trigger::ReplicasChanged);
}

#[test]
fn of_groups_only_the_observed_one_counts() {
    let with =
        |edit: fn(&mut Value)| trigger(&divided(), 3, "a3", |value| edit(&mut value["spec"]["placement"]));
    let observed = with(|placement| placement["clusterAffinities"][0]["clusterNames"] = json!(["b"]));
    assert_eq!(observed, Trigger::PlacementChanged);
    let other = with(|placement| placement["clusterAffinities"][1]["clusterNames"] = json!(["a"]));
    assert_eq!(other, Trigger::Nothing);
    let rest = with(|placement| {
        placement["spreadConstraints"] = json!([{"spreadByField": "cluster", "maxGroups": 1}])
    });
    assert_eq!(rest, Trigger::PlacementChanged);
}

#[test]
fn an_annotation_that_is_not_there_decides_and_one_that_cannot_be_read_does_not() {
    let annotated = |text: &str| {
        trigger(&divided(), 3, "a3", |value| {
            value["metadata"]["annotations"] = json!({"policy.karmada.io/applied-placement": text});
        })
    };
    assert_eq!(annotated(""), Trigger::PlacementChanged);
    assert_eq!(annotated("{"), Trigger::Nothing);
}

#[test]
fn a_reschedule_counts_once_by_whole_seconds() {
    let at = |time: &str| {
        trigger(&divided(), 3, "a3", |value| {
            value["spec"]["rescheduleTriggeredAt"] = time.into()
        })
    };
    assert_eq!(at("2026-01-01T00:00:01Z"), Trigger::Rescheduled);
    assert_eq!(at("2026-01-01T00:00:00Z"), Trigger::Nothing);
}

#[test]
fn a_cluster_that_leaves_decides() {
    let mut value = cluster_value("a", 10);
    value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    value["metadata"]["finalizers"] = json!(["karmada.io/cluster-controller"]);
    let mut binding = binding_value(&divided(), 3, "a3");
    binding["metadata"]["annotations"] =
        json!({"policy.karmada.io/applied-placement": divided().to_string()});
    binding["status"]["schedulerObservingAffinityName"] = "g1".into();
    let record = record(&binding);
    let placement = &record.placement.as_ref().expect("a placement").raw;
    assert_eq!(
        Trigger::of(&record, placement, &Columns::build([cluster(&value)].iter())),
        Trigger::ClusterLeaves
    );
}
