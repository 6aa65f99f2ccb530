//! Decision groups, objects of 100, and the order of writes.

use std::collections::BTreeSet;

use berth_apimachinery::Key;
use berth_dialect_contract::{AffectedDemands, Inventory};
use serde_json::{Value, json};

use super::world::{World, cluster, columns, foreign, placement, wants};
use crate::names::{CLUSTERS, DECISIONS};

fn many(count: usize) -> World {
    let mut world = columns(&[]);
    for number in 0..count {
        world.put(&cluster(&format!("c{number:04}")));
    }
    world
}

fn sizes(world: &World, key: &Key) -> Vec<usize> {
    world.listed(key).iter().map(|(_, names)| names.len()).collect()
}

fn group_sizes(world: &World, key: &Key) -> Value {
    let groups = world.get(key)["status"]["decisionGroups"]
        .as_array()
        .unwrap()
        .clone();
    groups
        .iter()
        .map(|group| json!([group["decisionGroupName"], group["clusterCount"]]))
        .collect()
}

#[test]
fn seven_clusters_at_thirty_percent_make_three_groups() {
    let mut world = many(7);
    let key = placement("ns", "p");
    world.put(&wants(
        "p",
        &json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "30%"}}}),
    ));
    world.settle(&key);
    assert_eq!(sizes(&world, &key), [3, 3, 1]);
    assert_eq!(group_sizes(&world, &key), json!([["", 3], ["", 3], ["", 1]]));
}

#[test]
fn a_hundred_and_one_clusters_need_two_objects_and_shrink_to_one() {
    let mut world = many(101);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    world.settle(&key);
    assert_eq!(sizes(&world, &key), [100, 1]);
    assert_eq!(
        world.get(&key)["status"]["decisionGroups"][0]["decisions"],
        json!(["p-decision-1", "p-decision-2"])
    );
    world.delete(&Key::new(CLUSTERS, "", "c0000"));
    world.settle(&key);
    assert_eq!(sizes(&world, &key), [100]);
    assert_eq!(world.bound(&key).len(), 100);
}

#[test]
fn nothing_selected_is_one_empty_object() {
    let mut world = many(2);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 0})));
    world.settle(&key);
    assert_eq!(sizes(&world, &key), [0]);
    assert_eq!(group_sizes(&world, &key), json!([["", 0]]));
    assert!(world.fleet.writes(&world.decide(&key)).is_empty());
}

#[test]
fn named_groups_take_their_clusters_first() {
    let mut world = many(5);
    for (name, label) in [("c0001", "canary"), ("c0003", "canary"), ("c0004", "east")] {
        world.edit(&Key::new(CLUSTERS, "", name), |value| {
            value["metadata"]["labels"]["tier"] = json!(label)
        });
    }
    let key = placement("ns", "p");
    let selects = |tier: &str| json!({"labelSelector": {"matchLabels": {"tier": tier}}});
    world.put(&wants(
        "p",
        &json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1, "decisionGroups": [
            {"groupName": "canary", "groupClusterSelector": selects("canary")},
            {"groupName": "east", "groupClusterSelector": selects("east")},
        ]}}}),
    ));
    world.settle(&key);
    assert_eq!(
        group_sizes(&world, &key),
        json!([["canary", 1], ["canary", 1], ["east", 1], ["", 1], ["", 1]])
    );
    let stored = world.get(&Key::new(DECISIONS, "ns", "p-decision-3"));
    assert_eq!(
        stored["metadata"]["labels"]["cluster.open-cluster-management.io/decision-group-name"],
        "east"
    );
    assert_eq!(
        stored["metadata"]["labels"]["cluster.open-cluster-management.io/decision-group-index"],
        "2"
    );
    assert_eq!(stored["status"]["decisions"][0]["clusterName"], "c0004");
}

/// Applies writes one by one and checks that a cluster that stays selected is never missing.
fn never_missing(world: &mut World, key: &Key) {
    let before: BTreeSet<String> = world.bound(key).into_iter().collect();
    let decision = world.decide(key);
    let after: BTreeSet<String> = world.picked(&decision).into_iter().collect();
    for write in world.fleet.writes(&decision) {
        let due = world.apply(&write);
        assert_eq!(due.decide, AffectedDemands::None, "{}", write.key);
        let listed: BTreeSet<String> = world.bound(key).into_iter().collect();
        assert!(
            before.intersection(&after).all(|name| listed.contains(name)),
            "{}",
            write.key
        );
        assert!(sizes(world, key).iter().all(|&size| size <= 100));
    }
    assert_eq!(world.bound(key), after.into_iter().collect::<Vec<_>>());
    assert!(world.fleet.writes(&world.decide(key)).is_empty());
}

#[test]
fn clusters_that_stay_are_listed_at_every_step() {
    let mut world = many(250);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    never_missing(&mut world, &key);
    // Every cluster moves by one place to the right, then to the left.
    world.put(&cluster("a-first"));
    never_missing(&mut world, &key);
    world.delete(&Key::new(CLUSTERS, "", "a-first"));
    world.delete(&Key::new(CLUSTERS, "", "c0120"));
    never_missing(&mut world, &key);
    // Two groups swap members, so that neither list can be written first.
    let tier = |world: &mut World, name: &str, tier: &str| {
        world.edit(&Key::new(CLUSTERS, "", name), |value| {
            value["metadata"]["labels"]["tier"] = json!(tier)
        });
    };
    tier(&mut world, "c0001", "x");
    tier(&mut world, "c0002", "y");
    let group = |name: &str| json!({"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"tier": name}}}});
    world.edit(&key, |value| {
        value["spec"]["decisionStrategy"]["groupStrategy"]["decisionGroups"] =
            json!([group("x"), group("y")]);
    });
    never_missing(&mut world, &key);
    tier(&mut world, "c0001", "y");
    tier(&mut world, "c0002", "x");
    never_missing(&mut world, &key);
}

#[test]
fn unknown_fields_survive_and_foreign_hands_are_mended() {
    let mut world = many(3);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 2})));
    world.settle(&key);
    let first = Key::new(DECISIONS, "ns", "p-decision-1");
    world.edit(&first, |value| {
        value["metadata"]["labels"] = json!({
            "keep": "me", "cluster.open-cluster-management.io/placement": "p",
        });
        value["metadata"]["ownerReferences"] = json!([]);
        value["status"]["decisions"][0]["extra"] = json!(7);
        value["status"]["decisions"].as_array_mut().unwrap().pop();
        value["status"]["other"] = json!(true);
    });
    world.edit(&key, |value| {
        value["status"]["conditions"]
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "Mine"}))
    });
    world.settle(&key);
    let stored = world.get(&first);
    assert_eq!(stored["metadata"]["labels"]["keep"], "me");
    assert_eq!(
        stored["metadata"]["labels"]["cluster.open-cluster-management.io/decision-group-index"],
        "0"
    );
    assert_eq!(stored["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert_eq!(stored["status"]["decisions"][0]["extra"], 7);
    assert_eq!(stored["status"]["other"], true);
    assert_eq!(world.bound(&key), ["c0000", "c0001"]);
    assert_eq!(
        world.get(&key)["status"]["conditions"].as_array().unwrap().len(),
        3
    );
    // Another client deletes an object in the status: the placement is due, and the object is created again.
    let due = world.delete(&first);
    assert_eq!(due.decide, AffectedDemands::Some(vec![key.clone()]));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["c0000", "c0001"]);
}

#[test]
fn steady_does_not_divide_a_selection_anew() {
    let mut world = many(3);
    world.edit(&Key::new(CLUSTERS, "", "c0000"), |value| {
        value["status"] = json!({"allocatable": {"cpu": "1"}, "capacity": {"cpu": "1"}});
    });
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({
        "prioritizerPolicy": {"configurations": [{"name": "ResourceAllocatableCPU", "weight": -1}, {"name": "Steady", "weight": 2}]},
        "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}},
    })));
    world.settle(&key);
    world.put(&cluster("a"));
    world.settle(&key);
    assert!(world.fleet.writes(&world.decide(&key)).is_empty());
}

#[test]
fn decisions_of_other_placements_are_never_touched() {
    let mut world = many(1);
    world.put(&foreign("p", &["c0000"]));
    world.put(&wants("p", &json!({"numberOfClusters": 0})));
    let key = placement("ns", "p");
    let decision = world.settle(&key);
    assert!(decision.current.is_empty());
    assert!(
        world
            .fleet
            .decisions
            .contains_key(&Key::new(DECISIONS, "other", "p"))
    );
}
