//! Changes that MutatingAdmissionPolicies make to objects.

use std::sync::Arc;

use berth_admission::Operation;
use serde_json::{Value, json};

use super::world::{Write, foo, mutating};
use crate::Enforcer;

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

/// Applies the mutations of one policy to a Foo with `spec`.
fn mutated(mutations: &[Value], spec: &Value) -> Result<Value, String> {
    let world = mutating(&[(
        "p",
        json!({"mutations": mutations, "reinvocationPolicy": "Never"}),
    )]);
    let (result, object) = Write::default().changed(&Enforcer::new(Arc::new(world)), foo(spec), |_| {});
    match result {
        Ok(()) => Ok(object),
        Err(status) => Err(status.message),
    }
}

#[test]
fn mutations_apply_configurations_and_patches_in_order() {
    let parts = json!([{"name": "a", "size": 1}]);
    for (mutations, spec, wanted) in [
        (
            vec![apply(
                "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
            )],
            json!({"replicas": 1, "color": "red"}),
            json!({"replicas": 2, "color": "red"}),
        ),
        (
            vec![
                apply("Object{spec: Object.spec{replicas: 7}}"),
                apply("Object{spec: Object.spec{color: string(object.spec.replicas)}}"),
            ],
            json!({}),
            json!({"replicas": 7, "color": "7"}),
        ),
        (
            vec![apply(
                "Object{spec: Object.spec{parts: [Object.spec.parts{name: 'a', size: 2}, Object.spec.parts{name: 'b'}]}}",
            )],
            json!({"parts": parts}),
            json!({"parts": [{"name": "a", "size": 2}, {"name": "b"}]}),
        ),
        (
            vec![patch(
                "[JSONPatch{op: 'add', path: '/spec/args', value: ['x']}, JSONPatch{op: 'remove', path: '/spec/color'}]",
            )],
            json!({"color": "red"}),
            json!({"args": ["x"]}),
        ),
        (
            vec![patch(
                "[JSONPatch{op: 'test', path: '/spec/color', value: 'blue'}, JSONPatch{op: 'remove', path: '/spec/color'}]",
            )],
            json!({"color": "red"}),
            json!({"color": "red"}),
        ),
        (
            vec![patch(
                "has(object.spec.color) ? [] : [JSONPatch{op: 'add', path: '/spec/color', value: 'x'}]",
            )],
            json!({"color": "y"}),
            json!({"color": "y"}),
        ),
    ] {
        assert_eq!(
            mutated(&mutations, &spec).unwrap()["spec"],
            wanted,
            "{mutations:?}"
        );
    }
    let labels = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: 'z'}]";
    let object = mutated(&[patch(labels)], &json!({})).unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"app": "web", "x/y": "z"}));
}

#[test]
fn what_cannot_be_carried_out_refuses_the_write_unless_it_is_to_be_ignored() {
    for (mutation, problem) in [
        (
            apply("Object{spec: Object.spec{args: ['x']}}"),
            "may not mutate atomic arrays, maps or structs: .spec.args",
        ),
        (
            apply("Object{spec: Object.spec{replicas: 'many'}}"),
            "failed to convert patch object to typed object",
        ),
        (
            apply("Object{spec: Object.spec{nothing: 1}}"),
            "failed to convert patch object to typed object",
        ),
        (
            apply("Object{spec: Object.wrong{replicas: 1}}"),
            "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\"",
        ),
        (
            apply("Object{metadata: Object.metadata{name: 'other'}}"),
            "must not change /metadata/name",
        ),
        (
            apply("Object{spec: Object.spec{replicas: object.spec.nothing}}"),
            "resulted in error: no such key: nothing",
        ),
        (apply("1"), "must evaluate to Object but got int"),
        (
            patch("[JSONPatch{op: 'remove', path: '/spec/nothing'}]"),
            "JSON Patch: operation 0",
        ),
        (
            patch("['x']"),
            "must evaluate to list(JSONPatch) but got list(string)",
        ),
        (
            patch("[JSONPatch{op: 'add', path: '/spec/color', value: quantity('1')}]"),
            "could not marshal to JSON",
        ),
    ] {
        let refused = mutated(std::slice::from_ref(&mutation), &json!({"color": "red"})).unwrap_err();
        assert!(
            refused.starts_with("policy 'p' with binding 'b' denied request: "),
            "{refused}"
        );
        assert!(refused.contains(problem), "{mutation}: {refused}");
        let world = mutating(&[("p", json!({"mutations": [mutation], "failurePolicy": "Ignore"}))]);
        let object = foo(&json!({"color": "red"}));
        let (result, after) =
            Write::default().changed(&Enforcer::new(Arc::new(world)), object.clone(), |_| {});
        result.unwrap();
        assert_eq!(after, object);
    }
}

#[test]
fn a_policy_is_asked_again_if_it_wants_to_be_and_something_changed_after_it() {
    let count = "Object{spec: Object.spec{replicas: object.spec.?replicas.orValue(0) + 1}}";
    let name = "Object{spec: Object.spec{color: 'blue'}}";
    for (again, other_changes, replicas) in
        [("Never", true, 1), ("IfNeeded", true, 2), ("IfNeeded", false, 1)]
    {
        let world = mutating(&[
            (
                "a",
                json!({"mutations": [apply(count)], "reinvocationPolicy": again}),
            ),
            (
                "b",
                json!({"mutations": [apply(name)], "matchConditions": [{"name": "c", "expression": other_changes.to_string()}]}),
            ),
        ]);
        let (result, object) =
            Write::default().changed(&Enforcer::new(Arc::new(world)), foo(&json!({})), |_| {});
        result.unwrap();
        assert_eq!(object["spec"]["replicas"], replicas, "{again} {other_changes}");
    }
    // Changes by plugins or webhooks between the rounds count as well.
    let world = mutating(&[(
        "a",
        json!({"mutations": [apply(count)], "reinvocationPolicy": "IfNeeded"}),
    )]);
    let (result, object) =
        Write::default().changed(&Enforcer::new(Arc::new(world)), foo(&json!({})), |object| {
            object["spec"]["color"] = json!("x")
        });
    result.unwrap();
    assert_eq!(object["spec"]["replicas"], 2);
}

#[test]
fn each_mutation_sees_the_rights_of_the_writer() {
    let expression = "authorizer.requestResource.check('paint').allowed() ? Object{spec: Object.spec{color: 'gold'}} : Object{}";
    for (verb, color) in [("paint", json!("gold")), ("other", json!(null))] {
        let mut world = mutating(&[("p", json!({"mutations": [apply(expression)]}))]);
        world.allowed.insert(verb.to_owned());
        let (result, object) =
            Write::default().changed(&Enforcer::new(Arc::new(world)), foo(&json!({})), |_| {});
        result.unwrap();
        assert_eq!(object["spec"]["color"], color);
    }
}

#[test]
fn a_deletion_is_not_mutated() {
    let world = mutating(&[(
        "p",
        json!({"mutations": [apply("Object{spec: Object.spec{nothing: 1}}")]}),
    )]);
    let write = Write {
        operation: Operation::Delete,
        old: Some(foo(&json!({}))),
        ..Write::default()
    };
    let (result, object) = write.changed(&Enforcer::new(Arc::new(world)), Value::Null, |_| {});
    result.unwrap();
    assert!(object.is_null());
}
