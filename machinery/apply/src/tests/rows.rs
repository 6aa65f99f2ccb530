//! Structs, maps, atomic and untyped values with several managers.

use serde_json::{Value, json};

use super::World;

#[test]
fn equal_values_are_shared_and_different_ones_conflict() {
    let mut world = World::new();
    world
        .apply("a", json!({"image": "i"}))
        .apply("b", json!({"image": "i"}));
    let before = world.live.clone();
    assert_eq!(
        world.try_apply("b", json!({"image": "j"})).unwrap_err(),
        ["a .spec.image"]
    );
    assert_eq!(world.live, before);
    world.force("b", json!({"image": "j"}));
    assert_eq!((world.at("/image"), world.owned("a")), (json!("j"), Value::Null));
    world
        .apply("a", json!({"replicas": 1.0}))
        .apply("b", json!({"replicas": 1, "image": "j"}));
}

#[test]
fn what_nobody_names_any_more_goes_and_its_default_comes_back() {
    let mut world = World::new();
    world.apply("a", json!({"image": "i", "note": "n", "replicas": 3}));
    world
        .apply("b", json!({"note": "n"}))
        .apply("a", json!({"image": "i"}));
    assert_eq!((world.at("/note"), world.at("/replicas")), (json!("n"), json!(1)));
    world.apply("b", json!({}));
    assert_eq!((world.at("/note"), world.owned("b")), (Value::Null, json!({})));
}

#[test]
fn what_an_update_owns_is_not_pruned() {
    let mut world = World::new();
    world.update("u", json!({"image": "i", "note": "n"}));
    world.apply("a", json!({"image": "i"})).apply("a", json!({}));
    assert_eq!((world.at("/image"), world.at("/note")), (json!("i"), json!("n")));
}

#[test]
fn giving_up_everything_leaves_what_was_applied_empty() {
    let mut world = World::new();
    world.apply("a", json!({"image": "i"})).apply("a", json!({}));
    assert!(world.live["spec"].is_object());
}

#[test]
fn atomic_lists_and_maps_are_one_leaf() {
    let mut world = World::new();
    world.apply(
        "a",
        json!({"args": ["1", "2"], "selector": {"matchLabels": {"x": "1"}}}),
    );
    let refused = world.try_apply("b", json!({"args": ["2", "1"]})).unwrap_err();
    assert_eq!(refused, ["a .spec.args"]);
    world.force("b", json!({"selector": {"matchLabels": {"y": "2"}}}));
    assert_eq!(world.at("/selector"), json!({"matchLabels": {"y": "2"}}));
    assert_eq!(world.owned("b"), json!({"f:selector": {}}));
}

#[test]
fn a_struct_goes_with_its_defaults_when_nobody_owns_anything_in_it() {
    let mut world = World::new();
    world
        .apply("a", json!({"template": {"a": "1"}}))
        .apply("a", json!({}));
    assert_eq!(world.at("/template"), Value::Null);
    world.apply("a", json!({"template": {"a": "1", "inner": {"x": 1}}}));
    world
        .apply("b", json!({"template": {"inner": {"x": 1}}}))
        .apply("a", json!({}));
    assert_eq!(world.at("/template"), json!({"b": "bb", "inner": {"x": 1}}));
}

#[test]
fn an_applied_empty_struct_is_owned() {
    let mut world = World::new();
    world.apply("a", json!({"template": {}}));
    assert_eq!(world.at("/template"), json!({"b": "bb"}));
    assert_eq!(world.owned("a"), json!({"f:template": {}}));
    world
        .apply("b", json!({"template": {"a": "1"}}))
        .apply("a", json!({}));
    assert_eq!(world.at("/template"), json!({"a": "1", "b": "bb"}));
    assert_eq!(
        world.apply("b", json!({"template": {}})).at("/template"),
        json!({"b": "bb"})
    );
    assert_eq!(world.apply("b", json!({})).at("/template"), Value::Null);
}

#[test]
fn maps_are_owned_by_their_entries() {
    let mut world = World::new();
    world.apply("a", json!({"data": {"k1": "v"}, "pools": {"p": {"min": 1}}}));
    assert_eq!(
        world.owned("a"),
        json!({"f:data": {"f:k1": {}}, "f:pools": {"f:p": {".": {}, "f:min": {}}}})
    );
    world
        .apply("b", json!({"data": {"k2": "v"}, "pools": {"p": {"max": 2}}}))
        .apply("a", json!({}));
    assert_eq!(world.at("/data"), json!({"k2": "v"}));
    assert_eq!(world.at("/pools"), json!({"p": {"max": 2}}));
    assert_eq!(world.apply("b", json!({})).at("/pools"), Value::Null);
}

#[test]
fn untyped_values_merge_by_what_they_are() {
    let mut world = World::new();
    world.apply(
        "a",
        json!({"open": {"x": {"y": 1, "l": [{"name": "q"}]}}, "any": 5}),
    );
    world.apply("b", json!({"open": {"x": {"z": 1}}}));
    let refused = world
        .try_apply("b", json!({"open": {"x": {"l": [{"name": "r"}]}}}))
        .unwrap_err();
    assert_eq!(refused, ["a .spec.open.x.l"]);
    world.force("b", json!({"any": {"x": 1}}));
    assert_eq!(
        world.apply("c", json!({"any": {"y": 1}})).at("/any"),
        json!({"x": 1, "y": 1})
    );
    assert_eq!(world.force("c", json!({"any": [1]})).at("/any"), json!([1]));
    assert_eq!(world.owned("b"), Value::Null);
}

#[test]
fn embedded_objects_have_metadata_of_their_own() {
    let mut world = World::new();
    let pod = |label: &str, finalizer: &str| json!({"pod": {"metadata": {"labels": {label: "1"}, "finalizers": [finalizer]}}});
    world.apply("a", pod("x", "q")).apply("b", pod("y", "r"));
    assert_eq!(world.at("/pod/metadata/labels"), json!({"x": "1", "y": "1"}));
    assert_eq!(world.at("/pod/metadata/finalizers"), json!(["q", "r"]));
}

#[test]
fn null_over_a_filled_struct_changes_nothing_and_is_owned() {
    let mut world = World::new();
    world
        .apply("a", json!({"template": {"a": "1"}}))
        .apply("b", json!({"template": null}));
    assert_eq!(world.at("/template/a"), json!("1"));
    assert_eq!(world.owned("b"), json!({"f:template": {}}));
}

#[test]
fn owner_references_are_whole_items() {
    let owners = |uid: &str, name: &str| json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]}});
    let mut world = World::new();
    world.apply_all("a", &owners("1", "n"), false).unwrap();
    world.apply_all("b", &owners("2", "n"), false).unwrap();
    let refused = world.apply_all("b", &owners("1", "other"), false).unwrap_err();
    assert_eq!(refused, [r#"a .metadata.ownerReferences[uid="1"]"#]);
}

#[test]
fn fields_and_types_the_schema_has_not_are_refused_with_their_path() {
    let mut world = World::new();
    for (spec, message) in [
        (json!({"nope": 1}), ".spec.nope: field not declared in schema"),
        (json!({"image": 1}), ".spec.image: expected string, got 1"),
        (json!({"tags": {"a": 1}}), ".spec.tags: expected list, got map"),
    ] {
        assert_eq!(world.try_apply("a", spec).unwrap_err(), [message]);
    }
}
