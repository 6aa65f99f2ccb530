//! Scores: the cases of the proposal's test plan (changed, expired and empty status), and the formulas over
//! a fleet.

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{AffectedDemands, Targets, Words};
use serde_json::{Value, json};

use super::world::{World, cluster, columns, foreign, now, placement, scores, wants};
use crate::names::{CLUSTERS, SCORES};

fn by_score(count: i32) -> Value {
    json!({
        "numberOfClusters": count,
        "prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "cpu"}}},
        ]},
    })
}

fn built_in(name: &str) -> Value {
    json!({"prioritizerPolicy": {"mode": "Exact", "configurations": [{"scoreCoordinate": {"builtIn": name}}]}})
}

fn values(world: &World, key: &Key, at: Timestamp) -> Vec<(String, Option<i64>)> {
    let decision = world.decide_at(key, at);
    let names = decision
        .solved
        .feasible
        .iter()
        .map(|&candidate| world.fleet.cluster_name(candidate).to_string());
    names
        .zip(decision.solved.scores[0].values.iter().copied())
        .collect()
}

fn of(list: &[(&str, Option<i64>)]) -> Vec<(String, Option<i64>)> {
    list.iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect()
}

#[test]
fn a_changed_score_makes_its_placements_due_and_moves_the_decision() {
    let mut world = columns(&["a", "b"]);
    world.put(&scores("a", &json!([{"name": "cpu", "value": 10}]), &Value::Null));
    world.put(&scores("b", &json!([{"name": "cpu", "value": 20}]), &Value::Null));
    let key = placement("ns", "p");
    world.put(&wants("p", &by_score(1)));
    world.put(&wants("steady", &built_in("Steady")));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["b"]);
    let due = world.put(&scores("a", &json!([{"name": "cpu", "value": 30}]), &Value::Null));
    assert_eq!(due.decide, AffectedDemands::Some(vec![key.clone()]));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a"]);
    let same = world.put(&scores("a", &json!([{"name": "cpu", "value": 30}]), &Value::Null));
    assert_eq!(same.decide, AffectedDemands::None);
}

#[test]
fn an_expired_score_counts_as_zero_right_after_its_end() {
    let mut world = columns(&["a", "b"]);
    world.put(&scores(
        "a",
        &json!([{"name": "cpu", "value": 50}]),
        &json!("2021-10-28T09:00:00Z"),
    ));
    world.put(&scores("b", &json!([{"name": "cpu", "value": 20}]), &Value::Null));
    world.put(&wants("p", &by_score(1)));
    let key = placement("ns", "p");
    assert_eq!(
        values(&world, &key, now()),
        of(&[("a", Some(50)), ("b", Some(20))])
    );
    let due = world.decide(&key).due_at.unwrap();
    assert_eq!(
        due,
        now().checked_add(jiff::SignedDuration::from_nanos(1)).unwrap()
    );
    assert_eq!(values(&world, &key, due), of(&[("a", Some(0)), ("b", Some(20))]));
    assert_eq!(world.fleet.known_difference(&world.decide(&key)), None);
    let later = world.decide_at(&key, due);
    assert_eq!(world.picked(&later), ["b"]);
    let known = world.fleet.known_difference(&later).unwrap();
    assert!(known.contains("up to 10 minutes late"), "{known}");
    assert_eq!(
        later.due_at,
        due.checked_add(jiff::SignedDuration::from_mins(5)).ok()
    );
}

#[test]
fn empty_missing_and_valueless_scores_are_zero() {
    let mut world = columns(&["a", "b", "c", "d"]);
    world.put(&scores("a", &json!([]), &Value::Null));
    world.put(&scores("b", &json!([{"name": "cpu"}]), &Value::Null));
    world.put(&scores("c", &json!([{"name": "mem", "value": 70}]), &Value::Null));
    world.put(&wants("p", &by_score(1)));
    let key = placement("ns", "p");
    let zero = of(&[("a", Some(0)), ("b", Some(0)), ("c", Some(0)), ("d", Some(0))]);
    assert_eq!(values(&world, &key, now()), zero);
    world.put(&scores("d", &json!([{"name": "cpu", "value": -5}]), &Value::Null));
    assert_eq!(values(&world, &key, now())[3], ("d".to_owned(), Some(-5)));
    world.delete(&Key::new(SCORES, "d", "default"));
    assert_eq!(values(&world, &key, now()), zero);
    // A score that exists before its cluster counts once the cluster is added.
    world.put(&scores("e", &json!([{"name": "cpu", "value": 7}]), &Value::Null));
    world.put(&cluster("e"));
    assert_eq!(values(&world, &key, now())[4], ("e".to_owned(), Some(7)));
}

#[test]
fn balance_counts_foreign_decisions_and_not_its_own() {
    let mut world = columns(&["a", "b", "c"]);
    world.put(&foreign("x", &["a", "b", "elsewhere"]));
    world.put(&foreign("y", &["a", "elsewhere"]));
    world.put(&foreign("z", &["elsewhere"]));
    world.put(&wants("p", &built_in("Balance")));
    let key = placement("ns", "p");
    // The highest count is 3, for a cluster that does not exist.
    let expected = of(&[("a", Some(-32)), ("b", Some(32)), ("c", Some(100))]);
    assert_eq!(values(&world, &key, now()), expected);
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a", "b", "c"]);
    assert_eq!(values(&world, &key, now()), expected);
    world.delete(&Key::new(crate::names::DECISIONS, "other", "z"));
    assert_eq!(
        values(&world, &key, now()),
        of(&[("a", Some(-100)), ("b", Some(0)), ("c", Some(100))])
    );
}

#[test]
fn allocatable_needs_both_fields_and_spreads_between_the_extremes() {
    let mut world = columns(&["a", "b", "c", "d", "e"]);
    let mut report = |name: &str, status: Value| {
        world.edit(&Key::new(CLUSTERS, "", name), |value| value["status"] = status);
    };
    let both = |amount: &str| json!({"allocatable": {"cpu": amount}, "capacity": {"cpu": "64"}});
    report("a", both("4"));
    report("b", both("8000m"));
    report("c", both("16"));
    report("d", json!({"allocatable": {"cpu": "64"}}));
    world.put(&wants("p", &built_in("ResourceAllocatableCPU")));
    let key = placement("ns", "p");
    let expected = [
        ("a", Some(-100)),
        ("b", Some(-33)),
        ("c", Some(100)),
        ("d", None),
        ("e", None),
    ];
    assert_eq!(values(&world, &key, now()), of(&expected));
    let decision = world.decide(&key);
    // A cluster without an entry counts as 0, which is above one with -100.
    assert_eq!(world.picked(&decision), ["c", "d", "e", "b", "a"]);
}

#[test]
fn steady_prefers_what_is_selected() {
    let mut world = columns(&["a", "b"]);
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    let key = placement("ns", "p");
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a"]);
    world.put(&cluster("0-first"));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a"]);
}

#[test]
fn a_negative_weight_takes_the_last_ones() {
    let mut world = columns(&["a", "b", "c"]);
    for (name, value) in [("a", 100), ("b", 0), ("c", -100)] {
        world.put(&scores(
            name,
            &json!([{"name": "cpu", "value": value}]),
            &Value::Null,
        ));
    }
    let mut spec = by_score(2);
    spec["prioritizerPolicy"]["configurations"][0]["weight"] = json!(-1);
    world.put(&wants("p", &spec));
    let decision = world.decide(&placement("ns", "p"));
    assert_eq!(world.picked(&decision), ["c", "b"]);
    assert_eq!(decision.solved.totals, [-100, 0, 100]);
}
