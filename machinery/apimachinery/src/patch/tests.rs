//! Patches have a cost, and expensive ones are refused.

use serde_json::json;

use super::*;

fn applied(patch: Value, value: &mut Value) -> (Result<(), Problem>, Budget) {
    let patch: Patch = serde_json::from_value(patch).unwrap();
    let mut budget = budget();
    let result = apply(&patch, value, &mut budget);
    (result, budget)
}

#[test]
fn a_patch_that_moves_a_long_list_again_and_again_is_refused_after_counted_steps() {
    for operation in [
        json!({"op": "add", "path": "/list/0", "value": 1}),
        json!({"op": "move", "from": "/list/5", "path": "/list/0"}),
        json!({"op": "remove", "path": "/list/0"}),
    ] {
        let mut value = json!({"list": vec![0; 300_000]});
        let (result, budget) = applied(json!(vec![operation; 10_000]), &mut value);
        let Err(Problem::Exceeded(exceeded)) = result else {
            panic!("{result:?}")
        };
        assert!(exceeded.to_string().contains("2000000 steps"), "{exceeded}");
        assert!(budget.steps() < STEP_LIMIT + 50_000, "{}", budget.steps());
    }
}

#[test]
fn a_patch_that_doubles_a_value_is_refused_after_counted_bytes() {
    let mut value = json!({"a": ["x".repeat(1000)]});
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let (result, budget) = applied(json!(vec![copy; 40]), &mut value);
    assert!(
        matches!(result, Err(Problem::Exceeded(BudgetExceeded::Bytes { .. }))),
        "{result:?}"
    );
    assert!(budget.bytes() < 2 * COPY_LIMIT, "{}", budget.bytes());
}

#[test]
fn measuring_the_nesting_again_and_again_is_paid_for() {
    // Each copy could nest the object too deeply, so each one measures it; none fails.
    let deep = (0..60).fold(json!(1), |inner, _| json!({"d": inner}));
    let mut value = json!({"list": vec![0; 100_000], "deep": deep, "scalar": 1});
    let copy = json!({"op": "copy", "from": "/scalar", "path": format!("/deep{}", "/d".repeat(60))});
    let (result, budget) = applied(json!(vec![copy; 10_000]), &mut value);
    assert!(
        matches!(result, Err(Problem::Exceeded(BudgetExceeded::Steps { .. }))),
        "{result:?}"
    );
    assert!(budget.steps() < STEP_LIMIT + 200_000, "{}", budget.steps());
}

#[test]
fn ordinary_patches_cost_a_few_steps() {
    let mut value = json!({"spec": {"taints": [{"key": "a"}, {"key": "b"}]}});
    let (result, budget) = applied(
        json!([
            {"op": "test", "path": "/spec/taints/0/key", "value": "a"},
            {"op": "remove", "path": "/spec/taints/0"},
            {"op": "add", "path": "/spec/taints/-", "value": {"key": "c"}},
        ]),
        &mut value,
    );
    result.unwrap();
    assert!(budget.steps() < 20, "{}", budget.steps());
    assert_eq!(value, json!({"spec": {"taints": [{"key": "b"}, {"key": "c"}]}}));
}

#[test]
fn a_replacement_of_a_field_that_is_not_there_adds_it_where_its_map_is() {
    let mut value = json!({"labels": {}, "list": []});
    let replace = |path: &str| json!([{"op": "replace", "path": path, "value": "b"}]);
    applied(replace("/labels/a"), &mut value).0.unwrap();
    assert_eq!(value, json!({"labels": {"a": "b"}, "list": []}));
    for path in ["/annotations/a", "/list/0"] {
        assert!(applied(replace(path), &mut value).0.is_err(), "{path}");
    }
}

#[test]
fn a_test_takes_a_field_that_is_not_there_for_null_and_one_of_another_value_fails_as_a_test() {
    let value = json!({"labels": {"a": "b"}, "list": []});
    let test = |path: &str, expected: Value| {
        let patch = json!([{"op": "test", "path": path, "value": expected}]);
        applied(patch, &mut value.clone()).0
    };
    test("/annotations", Value::Null).unwrap();
    for (path, expected) in [
        ("/annotations", json!({})),
        ("/labels/c", json!("d")),
        ("/labels/a", json!("c")),
    ] {
        let result = test(path, expected);
        assert!(
            matches!(result, Err(Problem::TestFailed(_))),
            "{path}: {result:?}"
        );
    }
    for path in ["/annotations/a", "/list/0"] {
        let result = test(path, Value::Null);
        assert!(matches!(result, Err(Problem::Failed(_))), "{path}: {result:?}");
    }
}
