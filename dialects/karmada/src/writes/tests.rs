//! Writes, in their order.

use std::collections::BTreeMap;

use berth_apimachinery::{Change, Key, Timestamp};
use berth_dialect_contract::{Ask, Decision, Inventory, Outcome, Write};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{BINDINGS, CLUSTERS};
use crate::testing::{binding_value, cluster_value, object};

fn key() -> Key {
    Key::new(BINDINGS, "team", "web-deployment")
}

fn fleet(binding: &Value) -> Fleet {
    let mut fleet = Fleet::default();
    for (name, pods) in [("a", 10), ("b", 6)] {
        let change = Change::added(Key::new(CLUSTERS, "", name), object(&cluster_value(name, pods)));
        Inventory::fold(&mut fleet, &change);
    }
    Inventory::fold(&mut fleet, &Change::added(key(), object(binding)));
    fleet
}

fn decide(fleet: &Fleet) -> (Decision, Vec<Write>) {
    let key = key();
    let ask = Ask {
        demand: &key,
        now: Timestamp::UNIX_EPOCH,
        seed: 0,
        chosen: None,
    };
    let decision = fleet
        .decide(&ask)
        .expect("it is there")
        .expect("nothing was chosen");
    let writes = fleet.writes(&decision);
    (decision, writes)
}

fn divided() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
}

#[test]
fn a_cluster_that_is_listed_twice_does_not_count_as_two() {
    let entry = json!({"name": "a", "replicas": 2});
    let mut binding = json!({"spec": {"clusters": [entry, entry]}});
    let shares = BTreeMap::from([("a", 2), ("b", 3)]);
    assert!(super::set_clusters(&mut binding, &shares));
    assert_eq!(
        binding["spec"]["clusters"],
        json!([entry, {"name": "b", "replicas": 3}])
    );
    assert!(!super::set_clusters(&mut binding, &shares));
}

#[test]
fn clusters_come_first_with_the_placement_and_then_the_status() {
    let (decision, writes) = decide(&fleet(&binding_value(&divided(), 12, "")));
    assert_eq!(decision.outcome, Outcome::Scheduled);
    let [spec, status] = &writes[..] else {
        panic!("{writes:?}")
    };
    assert_eq!((spec.subresource, status.subresource), ("", "status"));
    assert_eq!(
        spec.object["spec"]["clusters"],
        json!([{"name": "a", "replicas": 7}, {"name": "b", "replicas": 5}])
    );
    let noted = spec.object["metadata"]["annotations"]["policy.karmada.io/applied-placement"].as_str();
    let noted: Value = serde_json::from_str(noted.expect("it is noted")).expect("a placement");
    assert_eq!(noted, divided());
    assert_eq!(
        status.object["status"]["schedulerObservedGeneration"], 2,
        "of what the first write makes"
    );
    assert_eq!(status.object["status"]["conditions"][0]["reason"], "Success");
    assert_eq!((spec.base.is_some(), status.base.is_some()), (true, false));
}

#[test]
fn decided_again_it_writes_nothing() {
    let mut fleet = fleet(&binding_value(&divided(), 12, ""));
    let (_, writes) = decide(&fleet);
    let mut stored = writes.last().expect("it is written").object.clone();
    stored["metadata"]["generation"] = 2.into();
    let due = Inventory::fold(&mut fleet, &Change::added(key(), object(&stored)));
    assert_eq!(
        due.decide,
        berth_dialect_contract::AffectedDemands::None,
        "its own write"
    );
    let (decision, writes) = decide(&fleet);
    assert_eq!(
        (decision.outcome, writes.len()),
        (Outcome::Unchanged, 0),
        "{writes:?}"
    );
    assert!(fleet_message(&fleet, &decision).contains("nothing makes Karmada decide again"));
}

#[test]
fn where_nothing_is_decided_the_generation_is_observed_and_the_time_of_the_last_decision_stays() {
    let mut binding = binding_value(&divided(), 3, "a3");
    binding["metadata"]["generation"] = 2.into();
    binding["metadata"]["annotations"] =
        json!({"policy.karmada.io/applied-placement": divided().to_string()});
    for (stored, written) in [
        (json!("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z"),
        (Value::Null, "1970-01-01T00:00:00Z"),
    ] {
        binding["status"] = json!({"schedulerObservedGeneration": 1, "lastScheduledTime": stored});
        let (_, writes) = decide(&fleet(&binding));
        let [status] = &writes[..] else {
            panic!("{writes:?}")
        };
        let status = &status.object["status"];
        assert_eq!(
            (
                &status["schedulerObservedGeneration"],
                &status["lastScheduledTime"]
            ),
            (&json!(2), &json!(written))
        );
    }
}

fn fleet_message(fleet: &Fleet, decision: &Decision) -> String {
    berth_dialect_contract::Words::message(fleet, decision)
}

#[test]
fn where_nothing_fits_what_is_listed_goes_and_where_room_is_short_it_stays() {
    let mut nowhere = divided();
    nowhere["clusterAffinity"] = json!({"clusterNames": ["x"]});
    let (decision, writes) = decide(&fleet(&binding_value(&nowhere, 12, "a12")));
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Unschedulable, "NoClusterFit")
    );
    assert_eq!(writes[0].object["spec"]["clusters"], Value::Null);
    assert_eq!(
        writes[1].object["status"]["schedulerObservedGeneration"],
        Value::Null
    );
    let (decision, writes) = decide(&fleet(&binding_value(&divided(), 40, "a12")));
    assert_eq!(decision.reason, "NotEnoughRoom");
    let [status] = &writes[..] else {
        panic!("{writes:?}")
    };
    assert_eq!(
        status.object["status"]["conditions"][0]["reason"],
        "Unschedulable"
    );
}

#[test]
fn where_every_group_fails_the_group_of_the_last_success_stays_observed() {
    let mut placement = divided();
    placement["clusterAffinities"] = json!([
        {"affinityName": "near", "clusterNames": ["x"]},
        {"affinityName": "far", "clusterNames": ["y"]},
    ]);
    for observed in ["", "gone"] {
        let mut binding = binding_value(&placement, 12, "a12");
        binding["status"] = json!({"schedulerObservingAffinityName": observed});
        let (decision, writes) = decide(&fleet(&binding));
        assert_eq!(decision.reason, "NoClusterFit");
        let [spec, status] = &writes[..] else {
            panic!("{writes:?}")
        };
        assert_eq!((spec.subresource, status.subresource), ("", "status"));
        assert_eq!(
            status.object["status"]["schedulerObservingAffinityName"],
            observed
        );
    }
}

#[test]
fn what_else_an_entry_says_stays() {
    let mut binding = binding_value(&divided(), 5, "a3");
    binding["spec"]["clusters"][0]["note"] = "kept".into();
    let (_, writes) = decide(&fleet(&binding));
    assert_eq!(
        writes[0].object["spec"]["clusters"],
        json!([{"name": "a", "replicas": 5, "note": "kept"}])
    );
}
