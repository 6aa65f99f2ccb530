//! Tables of cases: target, patch, result.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{apply, budget};
use crate::patch::Problem;
use crate::schema::Schema;

fn schema() -> Schema {
    Schema::from_value(json!({
        "properties": {
            "data": {"type": "object", "additionalProperties": {"type": "string"}},
            "plain": {"type": "array", "items": {"type": "string"}},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "ports": {
                "type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port",
                "items": {"type": "object", "properties": {
                    "port": {"type": "integer"},
                    "name": {"type": "string"},
                    "hosts": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
                }},
            },
            "whole": {"type": "object", "x-kubernetes-patch-strategy": "replace", "properties": {}},
            "strategy": {"type": "object", "x-kubernetes-patch-strategy": "retainKeys", "properties": {}},
        },
    }))
}

fn patched(mut target: Value, patch: &Value) -> Result<Value, String> {
    let applied = apply(&schema(), &mut target, patch, &mut budget());
    applied.map(|()| target).map_err(|problem| problem.to_string())
}

#[test]
fn patches_merge_as_the_schema_says() {
    let cases = [
        // Maps merge, null deletes, scalars replace.
        (
            json!({"data": {"a": "1", "b": "2"}}),
            json!({"data": {"a": null, "c": "3"}}),
            json!({"data": {"b": "2", "c": "3"}}),
        ),
        (
            json!({}),
            json!({"data": {"a": "1", "b": null}}),
            json!({"data": {"a": "1"}}),
        ),
        (
            json!({"x": [1], "y": 1}),
            json!({"x": {"a": 1}, "y": null}),
            json!({"x": {"a": 1}}),
        ),
        // Lists are replaced without a strategy, and united or merged with one.
        (
            json!({"plain": ["a"]}),
            json!({"plain": ["b"]}),
            json!({"plain": ["b"]}),
        ),
        (
            json!({"set": ["a", "b"]}),
            json!({"set": ["b", "c"]}),
            json!({"set": ["a", "b", "c"]}),
        ),
        (
            json!({"ports": [{"port": 1, "name": "a"}, {"port": 2}]}),
            json!({"ports": [{"port": 2, "name": "b"}, {"port": 3, "name": null}]}),
            json!({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}, {"port": 3}]}),
        ),
        (
            json!({"ports": [{"port": 1, "hosts": ["x"]}]}),
            json!({"ports": [{"port": 1, "hosts": ["y"]}]}),
            json!({"ports": [{"port": 1, "hosts": ["y", "x"]}]}),
        ),
        // metadata has strategies too.
        (
            json!({"metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "1", "name": "n"}]}}),
            json!({"metadata": {"finalizers": ["b"], "ownerReferences": [{"$patch": "delete", "uid": "1"}]}}),
            json!({"metadata": {"finalizers": ["b", "a"], "ownerReferences": []}}),
        ),
        // $patch.
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"$patch": "replace", "b": "2"}}),
            json!({"data": {"b": "2"}}),
        ),
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"$patch": "delete"}}),
            json!({"data": {}}),
        ),
        (json!({}), json!({"data": {"$patch": "delete"}}), json!({})),
        (
            json!({"data": {"a": "1"}}),
            json!({"data": {"$patch": "merge", "b": "2"}}),
            json!({"data": {"a": "1", "b": "2"}}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"$patch": "delete", "port": 1}]}),
            json!({"ports": [{"port": 2}]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            json!({"ports": [{"$patch": "replace"}, {"port": 3}]}),
            json!({"ports": [{"port": 3}]}),
        ),
        (
            json!({"whole": {"a": 1}}),
            json!({"whole": {"b": 1}}),
            json!({"whole": {"b": 1}}),
        ),
        // $retainKeys.
        (
            json!({"strategy": {"type": "Rolling", "rolling": {"max": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
        // $deleteFromPrimitiveList.
        (
            json!({"set": ["a", "b", "c"]}),
            json!({"$deleteFromPrimitiveList/set": ["b", "x"], "set": ["d"]}),
            json!({"set": ["d", "a", "c"]}),
        ),
        // $setElementOrder.
        (
            json!({"set": ["a", "b", "c"]}),
            json!({"$setElementOrder/set": ["c", "d", "a"], "set": ["d"]}),
            json!({"set": ["b", "c", "d", "a"]}),
        ),
        (
            json!({"ports": [{"port": 1}, {"port": 2}, {"port": 3}]}),
            json!({"$setElementOrder/ports": [{"port": 3}, {"port": 1}]}),
            json!({"ports": [{"port": 2}, {"port": 3}, {"port": 1}]}),
        ),
        (
            json!({"ports": [{"port": 1}]}),
            json!({"$setElementOrder/ports": [{"port": 9}, {"port": 1}], "ports": [{"port": 9}]}),
            json!({"ports": [{"port": 9}, {"port": 1}]}),
        ),
    ];
    for (target, patch, result) in cases {
        assert_eq!(patched(target, &patch), Ok(result), "{patch}");
    }
}

#[test]
fn what_kubectl_apply_sends_for_an_unchanged_object_changes_nothing() {
    let object = json!({"ports": [{"port": 1, "name": "a"}, {"port": 2}], "data": {"a": "1"}});
    let patch = json!({"$setElementOrder/ports": [{"port": 1}, {"port": 2}]});
    assert_eq!(patched(object.clone(), &patch), Ok(object));
}

#[test]
fn a_new_list_takes_elements_without_the_merge_key_for_others_to_judge() {
    let patch = json!({"ports": [{"name": "x", "gone": null}]});
    assert_eq!(patched(json!({}), &patch), Ok(json!({"ports": [{"name": "x"}]})));
    assert!(patched(json!({"ports": [{"port": 1}]}), &patch).is_err());
}

#[test]
fn a_new_list_takes_several_elements_of_one_key_and_a_list_that_is_there_merges_them() {
    let two = json!([{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]);
    let marked = json!([{"port": 1, "name": "a"}, {"port": 1, "name": "b"}, {"port": 1, "$patch": "delete"}]);
    for patch in [&two, &marked] {
        let patch = json!({"ports": patch});
        assert_eq!(patched(json!({}), &patch), Ok(json!({"ports": two})));
    }
    let merged = patched(json!({"ports": [{"port": 2}]}), &json!({"ports": two}));
    assert_eq!(
        merged,
        Ok(json!({"ports": [{"port": 1, "name": "b"}, {"port": 2}]}))
    );
}

#[test]
fn malformed_patches_say_what_and_where() {
    let cases = [
        (json!([]), "a strategic merge patch must be a JSON object"),
        (
            json!({"data": {"$patch": "rename"}}),
            "data.$patch: unknown patch type \"rename\": must be \"replace\", \"delete\" or \"merge\"",
        ),
        (
            json!({"ports": [{"name": "x"}]}),
            "ports[0]: does not contain the declared merge key: port",
        ),
        (json!({"ports": ["x"]}), "ports[0]: must be an object"),
        (
            json!({"set": [{}]}),
            "set: must contain only scalars, since the schema has no merge key for this list",
        ),
        (
            json!({"$setElementOrder/set": "a", "set": []}),
            "$setElementOrder/set: must be a list",
        ),
        (
            json!({"strategy": {"$retainKeys": ["type"], "rolling": 1}}),
            "strategy.$retainKeys: must contain \"rolling\", since the patch sets this field",
        ),
    ];
    for (patch, words) in cases {
        assert_eq!(
            patched(json!({"set": ["a"], "ports": []}), &patch).unwrap_err(),
            words,
            "{patch}"
        );
    }
}

/// Cost of `patch` on `target`.
fn cost(mut target: Value, patch: &Value) -> (Result<(), Problem>, u64) {
    let mut budget = budget();
    let result = apply(&schema(), &mut target, patch, &mut budget);
    (result, budget.steps())
}

#[test]
fn long_lists_merge_in_steps_that_grow_with_their_length_only() {
    let texts = |from: usize| (from..from + 100_000).map(|n| n.to_string()).collect::<Vec<_>>();
    let ports = |from: usize| {
        (from..from + 20_000)
            .map(|n| json!({"port": n}))
            .collect::<Vec<_>>()
    };
    let order: Vec<usize> = (0..20_000).rev().collect();
    let cases = [
        (json!({"set": texts(0)}), json!({"set": texts(50_000)})),
        (
            json!({"set": texts(0)}),
            json!({"$deleteFromPrimitiveList/set": texts(50_000)}),
        ),
        (json!({"ports": ports(0)}), json!({"ports": ports(10_000)})),
        (
            json!({"ports": ports(0)}),
            json!({"$setElementOrder/ports": order.iter().map(|n| json!({"port": n})).collect::<Vec<_>>()}),
        ),
        (
            json!({"strategy": {}}),
            json!({"strategy": {"$retainKeys": texts(0)}}),
        ),
    ];
    for (target, patch) in cases {
        let (result, steps) = cost(target, &patch);
        result.unwrap();
        assert!(steps < 500_000, "{steps}");
    }
}

#[test]
fn a_patch_that_merges_a_long_list_again_and_again_is_refused_after_counted_steps() {
    let hosts: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
    let target = json!({"ports": [{"port": 1, "hosts": hosts}]});
    let patch = json!({"ports": vec![json!({"port": 1, "hosts": ["x"]}); 10_000]});
    let (result, steps) = cost(target, &patch);
    let Err(Problem::Exceeded(exceeded)) = result else {
        panic!("{result:?}")
    };
    assert!(exceeded.to_string().contains("2000000 steps"), "{exceeded}");
    assert!(steps < 2_100_000, "{steps}");
}

#[test]
fn elements_that_share_a_key_or_lose_it_merge_as_found_one_by_one() {
    let target = json!({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}, {"name": "keyless"}]});
    // The patch is merged into the first of two duplicates; once that one has lost its key, the second
    // matches.
    let patch = json!({"ports": [
        {"$retainKeys": ["name", "port"], "port": 1, "name": "c"},
        {"port": 1, "name": "d"},
        {"port": 2, "name": "e"},
        {"port": 2, "name": "f"},
    ]});
    assert_eq!(
        patched(target.clone(), &patch).unwrap()["ports"],
        json!([{"port": 1, "name": "d"}, {"port": 1, "name": "b"}, {"port": 2, "name": "f"}, {"name": "keyless"}])
    );
    let delete = json!({"ports": [{"$patch": "delete", "port": 1}, {"port": 1}]});
    assert_eq!(
        patched(target, &delete).unwrap()["ports"],
        json!([{"port": 1}, {"name": "keyless"}])
    );
}

#[test]
fn new_elements_stand_first_and_known_ones_where_they_stood() {
    let target = json!({"ports": [{"port": 1}, {"port": 2}, {"port": 3}]});
    let new = json!({"ports": [{"port": 9}]});
    let ports = |patch| patched(target.clone(), patch).unwrap()["ports"].clone();
    assert_eq!(
        ports(&new),
        json!([{"port": 9}, {"port": 1}, {"port": 2}, {"port": 3}])
    );
    let both = json!({"ports": [{"port": 2, "name": "b"}, {"port": 9}]});
    assert_eq!(
        ports(&both),
        json!([{"port": 1}, {"port": 2, "name": "b"}, {"port": 9}, {"port": 3}])
    );
}

/// Random patches of the relevant words.
fn any_patch() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("$patch"),
        Just("$retainKeys"),
        Just("$setElementOrder/ports"),
        Just("$setElementOrder/set"),
        Just("$deleteFromPrimitiveList/set"),
        Just("ports"),
        Just("port"),
        Just("set"),
        Just("data"),
        Just("strategy"),
        Just("replace"),
        Just("delete")
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..3i64).prop_map(Value::from),
        word.clone().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        let map = proptest::collection::btree_map(word.clone().prop_map(str::to_owned), inner.clone(), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            map.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_patches_never_panic(target in any_patch(), patch in any_patch()) {
        drop(patched(target, &patch));
    }

    #[test]
    fn a_plain_object_patched_onto_itself_stays(ports in proptest::collection::btree_set(0..9i64, 0..4)) {
        let ports: Vec<Value> = ports.into_iter().map(|port| json!({"port": port})).collect();
        let object = json!({"ports": ports, "set": ["a"], "data": {"a": "1"}});
        prop_assert_eq!(patched(object.clone(), &object), Ok(object));
    }
}
