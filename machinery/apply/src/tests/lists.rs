//! Lists by key and sets: order, defaulted keys, duplicates.

use serde_json::{Value, json};

use super::World;

fn env(names: &str) -> Value {
    let items: Vec<Value> = names
        .chars()
        .map(|name| json!({"name": name.to_string()}))
        .collect();
    json!({"env": items})
}

fn order(world: &World) -> String {
    let items = world.at("/env");
    let names = items.as_array().into_iter().flatten();
    names.map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn applied_items_keep_their_order_and_the_others_their_place() {
    let mut world = World::new();
    world.update("u", env("ABC")).apply("a", env("CA"));
    assert_eq!(order(&world), "BCA");
    assert_eq!(order(world.apply("a", env("XCA"))), "BXCA");
    assert_eq!(order(world.apply("a", env("CYA"))), "BCYA");
}

#[test]
fn the_last_who_applies_decides_the_order_of_shared_items() {
    let mut world = World::new();
    world.apply("a", env("AC")).apply("b", env("B"));
    for (manager, names, outcome) in [("b", "BA", "CBA"), ("b", "AB", "CAB"), ("a", "CA", "CAB")] {
        assert_eq!(
            order(world.apply(manager, env(names))),
            outcome,
            "{manager} {names}"
        );
    }
}

#[test]
fn items_of_atomic_lists_are_looked_into_as_well() {
    let mut world = World::new();
    for (spec, told) in [
        (
            json!({"terms": [{"key": "a"}, {"kye": "b"}]}),
            ".spec.terms[1].kye: field not declared in schema",
        ),
        (
            json!({"terms": [{"parts": [{"off": "x"}]}]}),
            ".spec.terms[0].parts[0].off: field not declared in schema",
        ),
        (
            json!({"terms": [{"values": [1]}]}),
            ".spec.terms[0].values[0]: expected string, got 1",
        ),
        (
            json!({"args": ["a", {"b": "c"}]}),
            ".spec.args[1]: expected string, got map",
        ),
    ] {
        let refused = world.try_apply("a", spec).unwrap_err();
        assert!(refused.iter().any(|line| line.contains(told)), "{refused:?}");
    }
    let fine = json!({"terms": [{"key": "a", "values": ["b"]}, null], "bare": [{"x": [{"y": 1}]}, [[2]]], "any": [{"z": [[]]}]});
    world.apply("a", fine.clone());
    assert_eq!(world.at("/terms"), fine["terms"]);
}

#[test]
fn sets_keep_what_others_put_in() {
    let mut world = World::new();
    world.update("u", json!({"tags": ["c", "a", "b"]}));
    for (tags, outcome) in [
        (json!(["b", "x", "a"]), json!(["c", "b", "x", "a"])),
        (json!(["x"]), json!(["c", "b", "x", "a"])),
        (json!([]), json!(["c", "b", "a"])),
    ] {
        assert_eq!(world.apply("a", json!({"tags": tags})).at("/tags"), outcome);
    }
}

#[test]
fn a_key_that_is_left_out_has_its_default() {
    let mut world = World::new();
    world.apply("a", json!({"ports": [{"port": 80, "name": "x"}]}));
    let conflict = world.try_apply(
        "b",
        json!({"ports": [{"port": 80, "protocol": "TCP", "name": "y"}]}),
    );
    assert_eq!(
        conflict.unwrap_err(),
        [r#"a .spec.ports[port=80,protocol="TCP"].name"#]
    );
    world.apply(
        "b",
        json!({"ports": [{"port": 80, "protocol": "TCP", "weight": 3}]}),
    );
    world.apply("a", json!({"ports": []}));
    assert_eq!(
        world.at("/ports"),
        json!([{"port": 80, "protocol": "TCP", "weight": 3}])
    );
    world.apply("b", json!({"ports": [{"port": 80, "protocol": "UDP"}]}));
    assert_eq!(world.at("/ports"), json!([{"port": 80, "protocol": "UDP"}]));
}

#[test]
fn an_item_goes_with_its_last_owner_whatever_others_own_in_it() {
    let mut world = World::new();
    world.apply(
        "a",
        json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
    );
    world.update(
        "u",
        json!({"env": [{"name": "A", "value": "1", "from": {"key": "k"}}, {"name": "B", "value": "2"}]}),
    );
    world.apply("a", json!({"env": [{"name": "B", "value": "2"}]}));
    assert_eq!(world.at("/env"), json!([{"name": "B", "value": "2"}]));
    assert!(world.entries("u").is_empty());
}

#[test]
fn an_item_another_owns_stays_without_what_only_the_first_wrote() {
    let mut world = World::new();
    world.apply("a", json!({"env": [{"name": "A", "from": {"key": "k"}}]}));
    world.apply("b", json!({"env": [{"name": "A", "value": "v"}]}));
    world.apply("a", json!({"env": []}));
    assert_eq!(world.at("/env"), json!([{"name": "A", "value": "v"}]));
}

#[test]
fn duplicates_are_refused_in_a_configuration_and_left_alone_in_an_object() {
    let mut world = World::new();
    world.update("c", env("PPE"));
    assert_eq!(order(world.apply("a", env("N"))), "PPEN");
    assert_eq!(
        world.try_apply("a", env("P")).unwrap_err(),
        [r#"c .spec.env[name="P"]"#]
    );
    assert_eq!(order(world.force("a", env("P"))), "PE");
    let twice = world.try_apply("a", json!({"tags": ["a", "a"]})).unwrap_err();
    assert_eq!(twice, [r#".spec.tags: duplicate entries for key [="a"]"#]);
}

#[test]
fn an_item_without_keys_is_refused() {
    let refused = World::new()
        .try_apply("a", json!({"env": [{"value": "x"}]}))
        .unwrap_err();
    assert_eq!(
        refused,
        [
            ".spec.env: element 0: associative list with keys has an element that omits all key fields [\"name\"] (and doesn't have default values for any key fields)"
        ]
    );
}

#[test]
fn long_lists_are_merged_in_well_under_quadratic_time() {
    let many = |from: usize| -> Value {
        let items = (from..from + 20_000).map(|index| json!({"name": index.to_string()}));
        json!({"env": items.collect::<Vec<_>>()})
    };
    let mut world = World::new();
    world
        .apply("a", many(0))
        .apply("b", many(10_000))
        .apply("a", env(""));
    assert_eq!(world.live["spec"]["env"], many(10_000)["env"]);
}
