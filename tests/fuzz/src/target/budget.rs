//! Budgets: work on any input ends within its budget, and the estimate of its cost is not too low.

use berth_apimachinery::patch::{self, Patch};
use berth_apimachinery::{Schema, strategic};
use berth_apiserver::memory;
use serde_json::{Value, json};

use super::Target;

/// JSON patches of an object with long lists.
pub(super) const JSON_PATCH: Target = Target {
    name: "budget of JSON patches",
    seeds: &[
        r#"[{"op":"add","path":"/list/0","value":1},{"op":"move","from":"/list/9","path":"/list/0"}]"#,
        r#"[{"op":"copy","from":"/list","path":"/list/-"},{"op":"copy","from":"/list","path":"/list/-"}]"#,
        r#"[{"op":"copy","from":"","path":"/again"},{"op":"copy","from":"","path":"/again"},{"op":"test","path":"","value":1}]"#,
        r#"[{"op":"remove","path":"/list/0"},{"op":"move","from":"/deep","path":"/list/0/a"}]"#,
    ],
    words: &[
        "{\"op\":\"copy\",\"from\":\"\",\"path\":\"/x\"},",
        "{\"op\":\"copy\",\"from\":\"/list\",\"path\":\"/list/-\"},",
        "{\"op\":\"move\",\"from\":\"/list/4999\",\"path\":\"/list/0\"},",
        "{\"op\":\"remove\",\"path\":\"/list/0\"},",
        "/deep/d/d/d",
        "/list/-",
    ],
    run: json_patch,
};

/// Strategic merge patches of an object with long lists.
pub(super) const STRATEGIC: Target = Target {
    name: "budget of strategic merge patches",
    seeds: &[
        r#"{"set":["a","b"],"$deleteFromPrimitiveList/set":["1"]}"#,
        r#"{"ports":[{"port":1,"hosts":["x"]},{"port":1,"$patch":"delete"},{"port":1}]}"#,
        r#"{"$setElementOrder/ports":[{"port":5},{"port":1}],"ports":[{"port":1,"$retainKeys":["hosts"]}]}"#,
        r#"{"ports":[{"$patch":"replace"}],"set":["$patch"]}"#,
    ],
    words: &[
        "{\"port\":1,\"hosts\":[\"y\"]},",
        "{\"port\":1,\"$patch\":\"delete\"},",
        "\"$setElementOrder/ports\":[{\"port\":2}],",
        "\"$retainKeys\":[\"hosts\"],",
        "\"$deleteFromPrimitiveList/hosts\":[\"1\"],",
    ],
    run: strategic_patch,
};

/// Bodies: the report of their unknown fields, and the memory of their trees.
pub(super) const BODY: Target = Target {
    name: "budget of bodies",
    seeds: &[
        r#"{"a":1,"b":[1,1,1,{"c":null}],"ports":[{"port":1,"x":1}],"set":[{}]}"#,
        "[[],[[]],{},{\"\":{}}]",
        "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
        r#""text""#,
    ],
    words: &[
        "[],",
        "{},",
        "1,",
        "\"x\":1,",
        "\"ports\":[{\"y\":1}],",
        "[[[[",
        "]]]]",
    ],
    run: body,
};

fn schema() -> Schema {
    Schema::from_value(json!({"properties": {
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        "ports": {
            "type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port",
            "items": {"type": "object", "properties": {
                "port": {"type": "integer"},
                "hosts": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            }},
        },
    }}))
}

fn json_patch(input: &[u8]) {
    let Ok(patch) = serde_json::from_slice::<Patch>(input) else {
        return;
    };
    let deep = (0..60).fold(json!(1), |inner, _| json!({"d": inner}));
    let mut value = json!({"list": vec![0; 5_000], "deep": deep});
    let before = value.to_string().len();
    let mut budget = patch::budget();
    let result = patch::apply(&patch, &mut value, &mut budget);
    // One operation, or one measurement of the nesting, may exceed the budget before it is noticed.
    assert!(
        budget.steps() < patch::STEP_LIMIT + 2_000_000,
        "{}",
        budget.steps()
    );
    if result.is_ok() {
        let most = before + input.len() * 2 + usize::try_from(patch::COPY_LIMIT).unwrap();
        assert!(
            value.to_string().len() <= most,
            "{} bytes",
            value.to_string().len()
        );
    }
}

fn strategic_patch(input: &[u8]) {
    let Ok(patch) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let texts: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
    let ports: Vec<Value> = (0..100).map(|n| json!({"port": n, "hosts": texts})).collect();
    let mut value = json!({"set": texts, "ports": ports});
    let mut budget = strategic::budget();
    drop(strategic::apply(&schema(), &mut value, &patch, &mut budget));
    assert!(budget.steps() < 4_000_000, "{}", budget.steps());
}

fn body(input: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    let found = schema().new_unknown_fields(&value, &Value::Null, 100);
    assert!(found.paths.len() <= 100);
    let values = values(&value);
    let estimate = memory::tree_size(input);
    assert!(
        estimate >= values * size_of::<Value>(),
        "{values} values, {estimate} bytes"
    );
}

/// Number of values in a value.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum::<usize>(),
        _ => 0,
    }
}
