//! Many added and removed clusters: moved columns are equal to newly built ones.

use std::collections::BTreeSet;

use berth_apimachinery::Key;
use berth_dialect_contract::Targets;
use berth_scheduling::Random;
use serde_json::{Value, json};

use super::world::{World, cluster, columns, foreign, placement, scores, wants};
use crate::names::CLUSTERS;

fn name(number: u64) -> String {
    format!("c{number:03}")
}

/// A cluster whose labels, claims, resources, taints and deletion depend on its number.
fn member(number: u64) -> Value {
    let mut value = cluster(&name(number));
    value["metadata"]["labels"]["id"] = json!(name(number));
    value["metadata"]["labels"]["env"] = json!((number % 3).to_string());
    value["status"] = json!({
        "clusterClaims": [{"name": "zone", "value": format!("z{}", number % 4)}],
        "allocatable": {"cpu": (number % 40 + 1).to_string()}, "capacity": {"cpu": "64"},
    });
    if number.is_multiple_of(11) {
        value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
    }
    if number.is_multiple_of(13) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:59:00Z");
        value["metadata"]["finalizers"] = json!(["x/y"]);
    }
    value
}

fn same_as_afresh(world: &World, key: &Key, members: &BTreeSet<u64>) {
    let mut afresh = empty();
    for &number in members {
        afresh.put(&member(number));
    }
    let (one, two) = (world.decide(key), afresh.decide(key));
    assert_eq!(one.solved, two.solved);
    assert_eq!(world.fleet.count(), afresh.fleet.count());
    for candidate in 0..world.fleet.count() {
        let name = world.fleet.cluster_name(candidate);
        assert_eq!(name, afresh.fleet.cluster_name(candidate));
        assert_eq!(world.fleet.candidate(&name), Some(candidate));
    }
}

/// A hub in which scores and decisions exist before their clusters, and stay after them.
fn empty() -> World {
    let mut world = columns(&[]);
    for number in (0..400).filter(|number| number % 5 < 2) {
        let value = i64::try_from(number % 201).unwrap() - 100;
        world.put(&scores(
            &name(number),
            &json!([{"name": "s", "value": value}]),
            &Value::Null,
        ));
        world.put(&foreign(
            &format!("f{number}"),
            &[&name(number), &name(number / 2)],
        ));
    }
    world.put(&wants("p", &json!({
        "predicates": [{"requiredClusterSelector": {
            "labelSelector": {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["1"]}]},
            "claimSelector": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
        }}],
        "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}},
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "s"}}},
        ]},
    })));
    world
}

#[test]
fn clusters_come_and_go_in_batches_of_any_size() {
    let key = placement("ns", "p");
    let mut world = empty();
    let mut members = BTreeSet::new();
    let mut random = Random::new(3);
    for batch in [150, 1, 2, 1, 40, 1, 300, 7, 1, 200, 3] {
        for _ in 0..batch {
            let number = random.below(400);
            if members.remove(&number) {
                world.delete(&Key::new(CLUSTERS, "", &name(number)));
            } else {
                members.insert(number);
                world.put(&member(number));
            }
            // Other changes occur while candidates wait for their numbers.
            if let Some(&other) = members.range(number..).next() {
                world.edit(&Key::new(CLUSTERS, "", &name(other)), |value| {
                    value["metadata"]["labels"]["env"] = json!("1");
                });
                world.put(&member(other));
            }
        }
        same_as_afresh(&world, &key, &members);
    }
    for number in std::mem::take(&mut members) {
        world.delete(&Key::new(CLUSTERS, "", &name(number)));
    }
    same_as_afresh(&world, &key, &members);
}

#[test]
fn a_snapshot_keeps_its_numbers_while_others_come_and_go() {
    let key = placement("ns", "p");
    let mut world = empty();
    for number in 0..100 {
        world.put(&member(number));
    }
    let before = world.decide(&key);
    let snapshot = world.clone();
    for number in 50..150 {
        world.put(&member(number));
        drop(world.decide(&key));
    }
    world.delete(&Key::new(CLUSTERS, "", &name(0)));
    drop(world.decide(&key));
    assert_eq!(snapshot.decide(&key).solved, before.solved);
}
