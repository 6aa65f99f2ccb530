//! Entries: their managers, their content, and updates of their time.

use serde_json::{Value, json};

use super::{VERSION, World};
use crate::{Identity, Managers, Operation};

fn spec(fields: Value) -> Value {
    json!({"spec": fields})
}

/// The seconds in the times of `manager`'s entries.
fn times(world: &World, manager: &str) -> Vec<Option<i64>> {
    let entries = world.entries(manager).into_iter();
    entries
        .map(|(_, entry)| entry.time.map(berth_apimachinery::Timestamp::as_second))
        .collect()
}

fn fields(world: &World, manager: &str) -> String {
    let entries = world.entries(manager);
    assert_eq!(entries.len(), 1, "{manager}");
    entries[0].1.set.encode()
}

#[test]
fn an_applier_owns_what_it_wrote_and_a_creator_the_defaults_too() {
    let object = json!({"apiVersion": VERSION, "kind": "Widget",
        "metadata": {"name": "w", "labels": {"l": "1"}, "finalizers": ["f/x"]},
        "spec": {"image": "i", "ports": [{"port": 80}], "env": [{"name": "X", "value": "1"}]}});
    let mut world = World::new();
    world.live = json!({"apiVersion": VERSION, "kind": "Widget"});
    world.apply_all("a", &object, false).unwrap();
    assert_eq!(
        fields(&world, "a"),
        r#"{"f:metadata":{"f:finalizers":{"v:\"f/x\"":{}},"f:labels":{"f:l":{}}},"f:spec":{"f:env":{"k:{\"name\":\"X\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#
    );
    let mut world = World::new();
    world.live = json!({"apiVersion": VERSION, "kind": "Widget"});
    world.write(("c", ""), object);
    assert_eq!(
        fields(&world, "c"),
        r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"f/x\"":{}},"f:labels":{".":{},"f:l":{}}},"f:spec":{".":{},"f:env":{".":{},"k:{\"name\":\"X\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{}}},"f:replicas":{}}}"#
    );
}

#[test]
fn a_time_moves_only_when_its_manager_changes_the_object() {
    let mut world = World::new();
    world.apply("a", json!({"image": "i", "note": "n"}));
    assert!(
        !world
            .apply_to(("a", ""), &spec(json!({"image": "i", "note": "n"})), false)
            .unwrap()
    );
    assert_eq!(times(&world, "a"), [Some(1)]);
    world.apply("b", json!({"image": "i"}));
    assert_eq!(times(&world, "b"), [None]);
    world.update("u", json!({"image": "i"}));
    assert_eq!((times(&world, "a"), times(&world, "u")), (vec![Some(1)], vec![]));
    assert_eq!(world.owned("a"), json!({"f:image": {}}));
    world.update("u", json!({"image": "j"}));
    assert_eq!(times(&world, "u"), [Some(5)]);
}

#[test]
fn integers_that_are_equal_only_as_doubles_are_a_conflict() {
    let mut world = World::new();
    world.apply("a", json!({"replicas": 9_007_199_254_740_992_i64}));
    let other = json!({"replicas": 9_007_199_254_740_993_i64});
    let refused = world.try_apply("b", other.clone()).unwrap_err();
    assert_eq!(refused, ["a .spec.replicas"]);
    world.force("b", other);
    assert_eq!(fields(&world, "b"), r#"{"f:spec":{"f:replicas":{}}}"#);
    assert!(world.entries("a").is_empty());
}

#[test]
fn the_same_name_is_two_owners_by_apply_and_by_update() {
    let mut world = World::new();
    world
        .apply("m", json!({"image": "i"}))
        .update("m", json!({"image": "j"}));
    let refused = world
        .apply_to(("m", ""), &spec(json!({"image": "i"})), false)
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"Apply failed with 1 conflict: conflict with "m" using example.dev/v1: .spec.image"#
    );
}

#[test]
fn managers_survive_their_encoding() {
    let mut world = World::new();
    world
        .apply("a", json!({"image": "i"}))
        .update("u", json!({"image": "i", "tags": ["<x>"]}));
    let text = world.managers.encode();
    assert_eq!(Managers::decode(text.as_bytes()).unwrap(), world.managers);
    assert_eq!(
        Managers::decode_value(&world.managers.to_value().unwrap()).unwrap(),
        world.managers
    );
    let me = Identity {
        manager: "u".to_owned(),
        operation: Operation::Update,
        api_version: VERSION.to_owned(),
        subresource: String::new(),
    };
    assert!(world.managers.get(&me).is_some());
}
