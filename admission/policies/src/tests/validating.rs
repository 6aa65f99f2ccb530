//! Verdicts of ValidatingAdmissionPolicies on writes.

use std::sync::Arc;

use berth_admission::Operation;
use serde_json::{Value, json};

use super::world::{Toys, Write, binding, foo, policy, validating};
use crate::surroundings::Params;
use crate::{Enforcer, Policy, PolicyType, StoredSet};

/// Message for a write of a Foo with three replicas in namespace `team`; empty if it is allowed.
fn told(world: Toys) -> String {
    let write = Write::default();
    let (result, _) = write.judged(
        &Enforcer::new(Arc::new(world)),
        Some(&foo(&json!({"replicas": 3}))),
    );
    result.err().map(|status| status.message).unwrap_or_default()
}

const REFUSED: &str =
    "foos.g.example \"f\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ";

fn validation(expression: &str) -> Value {
    json!({"validations": [{"expression": expression}]})
}

fn with(mut one: Value, other: &Value) -> Value {
    for (field, value) in other.as_object().expect("fields") {
        one[field] = value.clone();
    }
    one
}

#[test]
fn a_refusal_has_the_message_reason_and_code_that_the_validation_says() {
    for (extra, message, reason, code) in [
        (
            json!({}),
            "failed expression: object.spec.replicas < 2",
            "Invalid",
            422,
        ),
        (json!({"message": " too many "}), "too many", "Invalid", 422),
        (
            json!({"message": "m", "messageExpression": "'at most ' + string(1)"}),
            "at most 1",
            "Invalid",
            422,
        ),
        // Text that cannot be displayed is omitted.
        (
            json!({"message": "m", "messageExpression": "'a\\nb'"}),
            "m",
            "Invalid",
            422,
        ),
        (
            json!({"message": "m", "messageExpression": "object.spec.nothing"}),
            "m",
            "Invalid",
            422,
        ),
        (
            json!({"message": "m", "messageExpression": "'  '"}),
            "m",
            "Invalid",
            422,
        ),
        (
            json!({"message": "m", "reason": "Forbidden"}),
            "m",
            "Forbidden",
            403,
        ),
        (
            json!({"message": "m", "reason": "Unauthorized"}),
            "m",
            "Unauthorized",
            401,
        ),
        (
            json!({"message": "m", "reason": "RequestEntityTooLarge"}),
            "m",
            "RequestEntityTooLarge",
            413,
        ),
    ] {
        let one = with(json!({"expression": "object.spec.replicas < 2"}), &extra);
        let world = validating(&json!({"validations": [one]}), &json!({}));
        let (result, _) = Write::default().judged(
            &Enforcer::new(Arc::new(world)),
            Some(&foo(&json!({"replicas": 3}))),
        );
        let status = result.unwrap_err();
        assert_eq!(status.message, format!("{REFUSED}{message}"), "{extra}");
        assert_eq!((status.reason.as_str(), status.code), (reason, code), "{extra}");
        let details = status.details.unwrap();
        assert_eq!((details.kind.as_str(), details.name.as_str()), ("foos", "f"));
        assert!(
            details.causes[0]
                .message
                .starts_with("ValidatingAdmissionPolicy 'p'")
        );
    }
}

#[test]
fn expressions_see_the_write_its_namespace_and_variables() {
    for (expression, holds) in [
        ("object.spec.replicas == 3 && oldObject == null", true),
        (
            "request.operation == 'CREATE' && request.userInfo.username == 'alice'",
            true,
        ),
        (
            "request.resource.resource == 'foos' && request.namespace == 'team' && request.name == 'f'",
            true,
        ),
        ("namespaceObject.metadata.labels.tier == 'gold'", true),
        ("variables.double == 6", true),
        ("variables.double == 7", false),
        ("object.metadata.name.startsWith('g')", false),
    ] {
        let spec = with(
            validation(expression),
            &json!({"variables": [{"name": "one", "expression": "object.spec.replicas"}, {"name": "double", "expression": "variables.one * 2"}]}),
        );
        assert_eq!(
            told(validating(&spec, &json!({}))).is_empty(),
            holds,
            "{expression}"
        );
    }
}

#[test]
fn what_cannot_be_evaluated_follows_the_failure_policy() {
    for (spec, problem) in [
        (
            validation("object.spec.nothing == 1"),
            "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing",
        ),
        (
            validation("object.spec =="),
            "compilation error: compilation failed: ",
        ),
        (
            validation("1 + 1"),
            "compilation error: must evaluate to bool but got int",
        ),
        (
            validation("params.x == 1"),
            "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'",
        ),
        (
            with(
                validation("variables.a == 1"),
                &json!({"variables": [{"name": "a", "expression": "object.nothing"}]}),
            ),
            "composited variable \"a\" fails to evaluate",
        ),
        (
            with(
                validation("true"),
                &json!({"matchConditions": [{"name": "c", "expression": "object.nothing == 1"}]}),
            ),
            "expression 'object.nothing == 1' resulted in error: no such key: nothing",
        ),
        (
            with(
                validation("true"),
                &json!({"auditAnnotations": [{"key": "k", "valueExpression": "string(object.nothing)"}]}),
            ),
            "expression 'string(object.nothing)' resulted in error: no such key: nothing",
        ),
    ] {
        let message = told(validating(&spec, &json!({})));
        assert!(
            message.starts_with(REFUSED) && message.contains(problem),
            "{spec}: {message}"
        );
        let open = with(spec.clone(), &json!({"failurePolicy": "Ignore"}));
        assert_eq!(told(validating(&open, &json!({}))), "", "{spec}");
    }
}

#[test]
fn one_expression_and_one_policy_may_cost_what_they_may_in_kubernetes() {
    // About 400,000 each.
    let dear = "lists.range(400).all(x, lists.range(330).all(y, true))";
    let many = |count: usize| json!({"validations": vec![json!({"expression": dear}); count]});
    assert_eq!(told(validating(&many(10), &json!({}))), "");
    let message = told(validating(&many(60), &json!({})));
    assert_eq!(
        message,
        format!(
            "{REFUSED}validation failed due to running out of cost budget, no further validation rules will be run"
        )
    );
    let too_dear = "lists.range(4000).all(x, lists.range(4000).all(y, true))";
    let message = told(validating(&validation(too_dear), &json!({})));
    assert!(message.contains("actual cost limit exceeded"), "{message}");
    // The first expression that uses the variable is charged for it.
    let lazy = json!({
        "variables": [{"name": "dear", "expression": dear}],
        "validations": vec![json!({"expression": "variables.dear"}); 60],
    });
    assert_eq!(told(validating(&lazy, &json!({}))), "");
}

#[test]
fn the_reason_why_match_conditions_cannot_be_evaluated_is_kept_when_it_is_ignored() {
    // About 400,000 each.
    let dear = "lists.range(400).all(x, lists.range(330).all(y, true))";
    let conditions = vec![json!({"name": "c", "expression": dear}); 8];
    let spec = with(
        validation("true"),
        &json!({"matchConditions": conditions, "failurePolicy": "Ignore"}),
    );
    let world = Arc::new(validating(&spec, &json!({})));
    let enforcer = Enforcer::new(Arc::clone(&world) as Arc<_>);
    let (result, _) = Write::default().judged(&enforcer, Some(&foo(&json!({}))));
    result.unwrap();
    assert_eq!(*world.checks.lock(), ["p/b out_of_budget allow"]);
}

#[test]
fn actions_deny_warn_and_audit_and_each_is_counted() {
    let spec = json!({"validations": [{"expression": "true"}, {"expression": "false", "message": "no"}]});
    for (actions, denied, warned, audited) in [
        (json!(["Deny"]), true, false, false),
        (json!(["Warn", "Audit"]), false, true, true),
        (json!(["Deny", "Audit"]), true, false, true),
    ] {
        let world = Arc::new(validating(&spec, &json!({"validationActions": actions})));
        let enforcer = Enforcer::new(Arc::clone(&world) as Arc<_>);
        let (result, recorded) = Write::default().judged(&enforcer, Some(&foo(&json!({}))));
        assert_eq!(result.is_err(), denied, "{actions}");
        let warnings = if warned {
            vec!["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no".to_owned()]
        } else {
            Vec::new()
        };
        assert_eq!(recorded.warnings, warnings, "{actions}");
        let failures: Vec<Value> = recorded
            .annotations
            .iter()
            .filter(|(key, _)| key == "validation.policy.admission.k8s.io/validation_failure")
            .map(|(_, value)| serde_json::from_str(value).unwrap())
            .collect();
        let wanted = json!([{"message": "no", "policy": "p", "binding": "b", "expressionIndex": 1, "validationActions": actions}]);
        assert_eq!(failures, if audited { vec![wanted] } else { Vec::new() });
        let mut counted: Vec<String> = Vec::new();
        for (did, label) in [(denied, "deny"), (audited, "audit"), (warned, "warn")] {
            counted.extend(did.then(|| format!("p/b no_error {label}")));
        }
        assert_eq!(*world.checks.lock(), counted);
    }
}

#[test]
fn audit_annotations_are_published_once_for_each_value() {
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "auditAnnotations": [
            {"key": "who", "valueExpression": "request.userInfo.username + '/' + params.data.x"},
            {"key": "none", "valueExpression": "null"},
            {"key": "empty", "valueExpression": "' '"},
        ],
    });
    let mut world = validating(
        &spec,
        &json!({"paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"}}),
    );
    world
        .params
        .insert("ConfigMap".to_owned(), maps(&["1", "2", "2"]));
    let (result, recorded) = Write::default().judged(&Enforcer::new(Arc::new(world)), Some(&foo(&json!({}))));
    result.unwrap();
    assert_eq!(
        recorded.annotations,
        [("p/who".to_owned(), "alice/1, alice/2".to_owned())]
    );
}

/// ConfigMaps of namespace `team`, with these values under `x`.
fn maps(values: &[&str]) -> Params {
    let map = |(index, value): (usize, &&str)| {
        Arc::new(
            json!({"metadata": {"name": format!("m{index}"), "namespace": "team", "labels": {"x": value}}, "data": {"x": value}}),
        )
    };
    Params {
        namespaced: true,
        objects: values.iter().enumerate().map(map).collect(),
    }
}

#[test]
fn parameters_are_found_by_name_or_selector_and_missing_ones_are_allowed_or_denied() {
    let spec = with(
        validation("params == null || string(object.spec.replicas) == params.data.x"),
        &json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
    );
    for (reference, namespace, wanted) in [
        (
            json!({"name": "m0", "parameterNotFoundAction": "Deny"}),
            "team",
            "",
        ),
        (
            json!({"name": "m1", "parameterNotFoundAction": "Deny"}),
            "team",
            "failed expression",
        ),
        (
            json!({"name": "m9", "parameterNotFoundAction": "Allow"}),
            "team",
            "",
        ),
        (
            json!({"name": "m9", "parameterNotFoundAction": "Deny"}),
            "team",
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        (
            json!({"name": "m0", "namespace": "team", "parameterNotFoundAction": "Deny"}),
            "",
            "",
        ),
        (
            json!({"name": "m0", "parameterNotFoundAction": "Deny"}),
            "",
            "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
        ),
        (
            json!({"selector": {"matchLabels": {"x": "3"}}, "parameterNotFoundAction": "Deny"}),
            "team",
            "",
        ),
        // Each selected parameter is evaluated.
        (
            json!({"selector": {}, "parameterNotFoundAction": "Deny"}),
            "team",
            "failed expression",
        ),
        (
            json!({"selector": {"matchLabels": {"x": "9"}}, "parameterNotFoundAction": "Deny"}),
            "team",
            "no params found",
        ),
        (Value::Null, "team", ""),
    ] {
        let mut world = validating(&spec, &json!({"paramRef": reference}));
        world.params.insert("ConfigMap".to_owned(), maps(&["3", "4"]));
        let write = Write {
            namespace,
            ..Write::default()
        };
        let (result, _) = write.judged(
            &Enforcer::new(Arc::new(world)),
            Some(&foo(&json!({"replicas": 3}))),
        );
        let message = result.err().map(|status| status.message).unwrap_or_default();
        assert_eq!(wanted.is_empty(), message.is_empty(), "{reference}: {message}");
        assert!(message.contains(wanted), "{reference}: {message}");
    }
    let message = told(validating(&spec, &json!({"paramRef": {"name": "m0"}})));
    assert!(
        message.ends_with(
            "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced \
             by paramKind: '/v1, Kind=ConfigMap'"
        ),
        "{message}"
    );
}

#[test]
fn constraints_of_policy_and_binding_choose_the_writes() {
    let rule = |extra: Value| {
        let rule = json!({"apiGroups": ["g.example"], "apiVersions": ["v1"], "resources": ["foos"], "operations": ["CREATE"]});
        json!([with(rule, &extra)])
    };
    for (policy, bound, concerned) in [
        (json!({"resourceRules": rule(json!({}))}), json!({}), true),
        (
            json!({"resourceRules": rule(json!({"resourceNames": ["f"]}))}),
            json!({}),
            true,
        ),
        (
            json!({"resourceRules": rule(json!({"resourceNames": ["g"]}))}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({"operations": ["UPDATE"]}))}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({})), "excludeResourceRules": rule(json!({}))}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({})), "excludeResourceRules": rule(json!({"resourceNames": ["g"]}))}),
            json!({}),
            true,
        ),
        (
            json!({"resourceRules": rule(json!({"apiVersions": ["v1beta1"]}))}),
            json!({}),
            true,
        ),
        (
            json!({"resourceRules": rule(json!({"apiVersions": ["v1beta1"]})), "matchPolicy": "Exact"}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({})), "namespaceSelector": {"matchLabels": {"tier": "gold"}}}),
            json!({}),
            true,
        ),
        (
            json!({"resourceRules": rule(json!({})), "namespaceSelector": {"matchLabels": {"tier": "iron"}}}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({})), "objectSelector": {"matchLabels": {"app": "web"}}}),
            json!({}),
            true,
        ),
        (
            json!({"resourceRules": rule(json!({})), "objectSelector": {"matchLabels": {"app": "db"}}}),
            json!({}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({}))}),
            json!({"matchResources": {"namespaceSelector": {"matchLabels": {"tier": "iron"}}}}),
            false,
        ),
        (
            json!({"resourceRules": rule(json!({}))}),
            json!({"matchResources": {"excludeResourceRules": rule(json!({}))}}),
            false,
        ),
    ] {
        let spec = with(validation("false"), &json!({"matchConstraints": policy}));
        assert_eq!(
            !told(validating(&spec, &bound)).is_empty(),
            concerned,
            "{policy} {bound}"
        );
    }
    let spec = with(
        validation("false"),
        &json!({"matchConditions": [{"name": "c", "expression": "object.spec.replicas > 3"}]}),
    );
    assert_eq!(told(validating(&spec, &json!({}))), "");
}

#[test]
fn another_version_is_shown_where_the_rules_name_it() {
    let rule = json!({"apiGroups": ["g.example"], "apiVersions": ["v1beta1"], "resources": ["foos"], "operations": ["*"]});
    let spec = with(
        validation(
            "object.apiVersion == 'g.example/v1beta1' && request.kind.version == 'v1beta1' && request.requestKind.version == 'v1'",
        ),
        &json!({"matchConstraints": {"resourceRules": [rule]}}),
    );
    assert_eq!(told(validating(&spec, &json!({}))), "");
}

#[test]
fn deletions_show_the_old_object_alone() {
    let world = validating(
        &validation("object == null && oldObject.spec.replicas == 1"),
        &json!({}),
    );
    let enforcer = Enforcer::new(Arc::new(world));
    for (replicas, refused) in [(1, false), (2, true)] {
        let write = Write {
            operation: Operation::Delete,
            old: Some(foo(&json!({"replicas": replicas}))),
            ..Write::default()
        };
        assert_eq!(write.judged(&enforcer, None).0.is_err(), refused);
    }
}

#[test]
fn authorizer_asks_real_reviews_and_each_once() {
    let spec = json!({
        "variables": [{"name": "may", "expression": "authorizer.requestResource.check('promote').allowed()"}],
        "matchConditions": [{"name": "c", "expression": "!authorizer.group('g.example').resource('foos').check('skip').allowed()"}],
        "validations": [
            {"expression": "variables.may || authorizer.path('/x').check('get').allowed()", "message": "may not"},
            {"expression": "!variables.may || object.spec.replicas == 3"},
        ],
    });
    for (allowed, refused, asked) in [
        (vec!["promote"], false, 2),
        (vec!["get"], false, 3),
        (vec![], true, 3),
        (vec!["skip"], false, 1),
    ] {
        let mut world = validating(&spec, &json!({}));
        world.allowed = allowed.iter().map(|verb| (*verb).to_owned()).collect();
        let world = Arc::new(world);
        let enforcer = Enforcer::new(Arc::clone(&world) as Arc<_>);
        let (result, _) = Write::default().judged(&enforcer, Some(&foo(&json!({"replicas": 3}))));
        assert_eq!(result.is_err(), refused, "{allowed:?}");
        let mut reviews = world.reviews.lock().clone();
        let before = reviews.len();
        reviews.sort();
        reviews.dedup();
        assert_eq!(reviews.len(), before, "{allowed:?}: one was made twice");
        // While one condition is still unknown, the others may be evaluated in parallel.
        assert!(before >= asked && before <= 3, "{allowed:?}: {reviews:?}");
        assert!(
            world.checks.lock().len() <= 1,
            "what was said before the answers were there is not counted"
        );
    }
}

#[test]
fn a_policy_without_a_binding_does_nothing_and_one_that_did_not_change_stays_compiled() {
    let mut stored = StoredSet {
        validating: vec![policy("p", &validation("false"))],
        ..StoredSet::default()
    };
    let before =
        crate::set::PoliciesInForce::new(Arc::new(stored.clone()), &crate::set::PoliciesInForce::default());
    assert!(before.validating.is_empty());
    stored.validating_bindings.push(binding("p", &json!({})));
    let first = crate::set::PoliciesInForce::new(Arc::new(stored.clone()), &before);
    stored.validating_bindings.push(binding("other", &json!({})));
    let second = crate::set::PoliciesInForce::new(Arc::new(stored.clone()), &first);
    assert!(Arc::ptr_eq(
        &first.validating[0].policy,
        &second.validating[0].policy
    ));
    stored.validating[0] = policy("p", &validation("true"));
    let third = crate::set::PoliciesInForce::new(Arc::new(stored), &second);
    assert!(!Arc::ptr_eq(
        &first.validating[0].policy,
        &third.validating[0].policy
    ));
}

#[test]
fn policies_in_force_that_do_not_compile_are_counted_before_a_write_meets_them() {
    let spec = json!({"validations": [{"expression": "nobody.knows()"}, {"expression": "true", "messageExpression": "1"}]});
    let enforcer = Enforcer::new(Arc::new(validating(&spec, &json!({}))));
    assert_eq!(
        enforcer.uncompiled(),
        [(PolicyType::Validating, "p".to_owned(), 2)]
    );
    let enforcer = Enforcer::new(Arc::new(validating(&validation("false"), &json!({}))));
    assert_eq!(enforcer.uncompiled(), []);
}

#[test]
fn everything_that_does_not_compile_is_told_with_its_place() {
    let spec = json!({
        "variables": [{"name": "a", "expression": "x"}],
        "matchConditions": [{"name": "c", "expression": "1"}],
        "validations": [{"expression": "true"}, {"expression": "'a'", "messageExpression": "1"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "1"}],
    });
    let problems = Policy::compile(PolicyType::Validating, &policy("p", &spec)).problems();
    let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "spec.variables[0].expression",
            "spec.matchConditions[0].expression",
            "spec.validations[1].expression",
            "spec.validations[1].messageExpression",
            "spec.auditAnnotations[0].valueExpression"
        ]
    );
    assert_eq!(
        problems[4].text,
        "must evaluate to one of [string null] but got int"
    );
}
