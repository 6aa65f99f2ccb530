//! A burst of bindings, which are decided one after the other while no cluster reports new figures.

use berth_apimachinery::{Change, Key};
use berth_dialect_contract::{Ask, Inventory as _, Outcome, config as settings};
use serde_json::{Value, json};

use super::*;
use crate::fleet::Fleet;
use crate::names::{BINDINGS, CLUSTERS, DIALECT};
use crate::testing::{binding_value, cluster_value, object};

const NOW: &str = "2026-01-01T00:00:00Z";

fn fold(fleet: &mut Fleet, key: &Key, value: &Value) {
    fleet.fold(&Change::added(key.clone(), object(value)));
}

/// Two clusters with room for 40 and 20 replicas of half a processor.
fn fleet(is_counted: bool) -> Fleet {
    let mut fleet = Fleet::default();
    for (name, cpu) in [("a", "20"), ("b", "10")] {
        let mut cluster = cluster_value(name, 1000);
        cluster["status"]["resourceSummary"]["allocatable"]["cpu"] = cpu.into();
        fold(&mut fleet, &Key::new(CLUSTERS, "", name), &cluster);
    }
    let configuration = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": DIALECT},
        "spec": {DIALECT: {"schedulingOvercommitProtection": is_counted}},
    });
    fold(&mut fleet, &settings::key(DIALECT), &configuration);
    fleet
}

fn key(number: usize) -> Key {
    Key::new(BINDINGS, "team", &format!("web-{number}"))
}

fn asking(replicas: i64) -> Value {
    let divided = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    let mut value = binding_value(&divided, replicas, "");
    value["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "500m"}});
    value
}

/// Decides the binding with this number at `now`, and folds its writes in.
fn decide(fleet: &mut Fleet, number: usize, replicas: i64, now: &str) -> (Outcome, Vec<i64>) {
    let key = key(number);
    fold(fleet, &key, &asking(replicas));
    let ask = Ask {
        demand: &key,
        now: now.parse().expect("an instant"),
        seed: 1,
        chosen: None,
    };
    let decision = fleet
        .decide(&ask)
        .expect("it is there")
        .expect("nothing was chosen");
    for write in fleet.writes(&decision) {
        fold(fleet, &key, &write.object);
    }
    (decision.outcome, decision.amounts)
}

/// Number of replicas on each cluster.
fn placed(fleet: &Fleet) -> BTreeMap<String, i64> {
    let mut placed = BTreeMap::new();
    for target in fleet.bindings.values().flat_map(|record| &record.spec.clusters) {
        *placed.entry(target.name.clone()).or_default() += i64::from(target.replicas);
    }
    placed
}

#[test]
fn a_burst_sees_the_same_room_again_and_again_as_upstream() {
    let mut fleet = fleet(false);
    for number in 0..500 {
        assert_eq!(
            decide(&mut fleet, number, 10, NOW),
            (Outcome::Scheduled, vec![10])
        );
    }
    assert_eq!(
        placed(&fleet),
        BTreeMap::from([("a".to_owned(), 5000)]),
        "room is for 40"
    );
}

#[test]
fn a_burst_counts_what_was_placed_before_it() {
    let mut fleet = fleet(true);
    let outcomes: Vec<Outcome> = (0..500)
        .map(|number| decide(&mut fleet, number, 10, NOW).0)
        .collect();
    let (placed_first, rest) = outcomes.split_at(6);
    assert!(placed_first.iter().all(|outcome| *outcome == Outcome::Scheduled));
    assert!(rest.iter().all(|outcome| *outcome == Outcome::Unschedulable));
    let full = BTreeMap::from([("a".to_owned(), 40), ("b".to_owned(), 20)]);
    assert_eq!(placed(&fleet), full, "no more than there is room for");
}

#[test]
fn other_requests_count_as_so_many_replicas_of_this_one() {
    let load = Load {
        pods: 2,
        amounts: BTreeMap::from([(Arc::from("cpu"), 5), (Arc::from("gpu"), 99)]),
    };
    let request = |resources: Value| {
        let requirements =
            serde_json::from_value(json!({"resourceRequest": resources})).expect("requirements");
        Request::read(&requirements).expect("quantities")
    };
    let unit = request(json!({"cpu": "1"})).exact()[0].1.0;
    let load = Load {
        amounts: load
            .amounts
            .into_iter()
            .map(|(name, amount)| (name, amount * unit))
            .collect(),
        ..load
    };
    for (resources, expected) in [
        (json!({"cpu": "2"}), 3),
        (json!({"cpu": "10", "memory": "1Gi"}), 2),
        (json!({}), 2),
        (json!({"cpu": "0"}), 2),
    ] {
        assert_eq!(
            load.replicas(Some(&request(resources.clone()))),
            expected,
            "{resources}"
        );
    }
    assert_eq!(load.replicas(None), 2);
}

#[test]
fn what_is_healthy_or_was_placed_long_ago_is_in_the_figures() {
    let mut fleet = fleet(true);
    decide(&mut fleet, 0, 40, NOW);
    assert_eq!(decide(&mut fleet, 1, 30, NOW).0, Outcome::Unschedulable);
    assert_eq!(
        decide(&mut fleet, 1, 30, "2026-01-01T00:04:59Z").0,
        Outcome::Unschedulable
    );
    assert_eq!(
        decide(&mut fleet, 1, 30, "2026-01-01T00:05:00Z").0,
        Outcome::Scheduled
    );
    let mut healthy = fleet.bindings[&key(1)].object.parse();
    healthy["status"]["aggregatedStatus"] =
        json!([{"clusterName": "a", "health": "Healthy"}, {"clusterName": "b", "health": "Unhealthy"}]);
    assert_eq!(
        decide(&mut fleet, 2, 40, "2026-01-01T00:05:00Z").0,
        Outcome::Unschedulable
    );
    fold(&mut fleet, &key(1), &healthy);
    assert_eq!(
        decide(&mut fleet, 2, 40, "2026-01-01T00:05:00Z").0,
        Outcome::Scheduled
    );
}

#[test]
fn a_decision_that_counts_guards_what_it_counts() {
    let fences = |is_counted: bool| {
        let mut fleet = fleet(is_counted);
        let key = key(0);
        fold(&mut fleet, &key, &asking(10));
        let ask = Ask {
            demand: &key,
            now: NOW.parse().expect("an instant"),
            seed: 1,
            chosen: None,
        };
        let decision = fleet
            .decide(&ask)
            .expect("it is there")
            .expect("nothing was chosen");
        decision
            .fences
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(fences(true), ["karmada/room/44"]);
    assert!(fences(false).is_empty());
}
