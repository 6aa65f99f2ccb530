//! Cost of policies: the limits of one write, the place of evaluation, and estimates.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use berth_admission::client::Policies;
use berth_apimachinery::GroupResource;
use serde_json::{Value, json};

use super::world::{Toys, Write, binding, foo, policy, validating};
use crate::surroundings::Params;
use crate::{Enforcer, StoredSet};

/// Between 100,000 and 200,000.
const DEAR: &str = "lists.range(200).all(x, lists.range(200).all(y, true))";
/// Limit for the cost of all policies together in these tests: ten of the expensive ones fit, fifty do not.
const MOST: u64 = 3_000_000;

fn enforcer(world: Toys) -> Arc<Enforcer> {
    Enforcer::with_limit(Arc::new(world), MOST)
}

/// `count` policies with `spec`, each with one binding.
fn many(count: usize, spec: &Value, bound: &Value) -> Toys {
    let names: Vec<String> = (0..count).map(|number| format!("p{number:02}")).collect();
    Toys {
        stored: Arc::new(StoredSet {
            validating: names.iter().map(|name| policy(name, spec)).collect(),
            validating_bindings: names.iter().map(|name| binding(name, bound)).collect(),
            ..StoredSet::default()
        }),
        ..Toys::default()
    }
}

/// `count` parameters in namespace `team`.
fn params(count: usize) -> Params {
    let one = |number| json!({"metadata": {"name": format!("l{number}"), "namespace": "team"}});
    Params {
        namespaced: true,
        objects: (0..count).map(|number| Arc::new(one(number))).collect(),
    }
}

/// A policy over every Limit, with `expression`.
fn over_all(expression: &str, count: usize) -> Toys {
    let spec = json!({
        "paramKind": {"apiVersion": "g.example/v1", "kind": "Limit"},
        "validations": [{"expression": expression}],
    });
    let mut world = validating(&spec, &json!({"paramRef": {"selector": {}}}));
    world.params.insert("Limit".to_owned(), params(count));
    world
}

fn judged(enforcer: &Enforcer) -> String {
    let (result, _) = Write::default().judged(enforcer, Some(&foo(&json!({"replicas": 3}))));
    result.err().map(|status| status.message).unwrap_or_default()
}

fn effort(enforcer: &Enforcer) -> usize {
    Write::default().with(|write| enforcer.effort(write))
}

#[test]
fn all_policies_that_a_write_meets_have_one_budget() {
    let dear = json!({"validations": [{"expression": DEAR}]});
    assert_eq!(judged(&enforcer(many(10, &dear, &json!({})))), "");
    let refused = judged(&enforcer(many(50, &dear, &json!({}))));
    assert!(refused.contains("running out of cost budget"), "{refused}");
    let open = json!({"validations": dear["validations"], "failurePolicy": "Ignore"});
    assert_eq!(judged(&enforcer(many(50, &open, &json!({})))), "");
}

#[test]
fn every_parameter_is_paid_for_out_of_it() {
    assert_eq!(judged(&enforcer(over_all(DEAR, 10))), "");
    let refused = judged(&enforcer(over_all(DEAR, 50)));
    assert!(refused.contains("running out of cost budget"), "{refused}");
    let cheap = "params.metadata.name != ''";
    assert_eq!(judged(&enforcer(over_all(cheap, 3_000))), "");
    let refused = judged(&enforcer(over_all(cheap, 10_000)));
    assert!(refused.contains("running out of cost budget"), "{refused}");
}

#[test]
fn what_costs_much_is_evaluated_aside() {
    for (expression, count) in [("true", 0), (DEAR, 1)] {
        let spec = json!({"validations": [{"expression": expression}]});
        let world = Arc::new(validating(&spec, &json!({})));
        let enforcer = Enforcer::new(world.clone());
        enforcer.compile_stored();
        let before = world.asides.load(Ordering::Relaxed);
        assert_eq!(judged(&enforcer), "");
        assert_eq!(
            world.asides.load(Ordering::Relaxed) - before,
            count,
            "{expression}"
        );
        let checks = world.checks.lock().len();
        assert_eq!(checks, 0, "what was thrown away is not noted");
    }
}

#[test]
fn what_a_write_will_cost_is_what_others_did_of_late() {
    let spec = json!({"validations": [{"expression": "true"}]});
    let enforcer = Enforcer::new(Arc::new(validating(&spec, &json!({}))));
    assert_eq!(effort(&enforcer), usize::MAX, "it is compiled first");
    enforcer.compile_stored();
    assert!(effort(&enforcer) > 1_000_000, "nobody knows");
    judged(&enforcer);
    assert!(effort(&enforcer) < 1_000);
    let dear = Enforcer::new(Arc::new(many(
        3,
        &json!({"validations": [{"expression": DEAR}]}),
        &json!({}),
    )));
    judged(&dear);
    assert!(effort(&dear) > 300_000);
    let all = Enforcer::new(Arc::new(over_all("true", 900)));
    judged(&all);
    assert!(effort(&all) > 200_000, "{}", effort(&all));
}

#[test]
fn what_no_policy_is_about_costs_nothing() {
    let spec = json!({"validations": [{"expression": DEAR}]});
    let elsewhere = json!({"matchResources": {"namespaceSelector": {"matchLabels": {"tier": "tin"}}}});
    let enforcer = Enforcer::new(Arc::new(validating(&spec, &elsewhere)));
    enforcer.compile_stored();
    assert_eq!(effort(&enforcer), 0, "the namespace has another tier");
    let enforcer = Enforcer::new(Arc::new(validating(&spec, &json!({}))));
    enforcer.compile_stored();
    let other = Write::default().with(|write| {
        let mut request = write.request.clone();
        request.resource = GroupResource::new("g.example", "bars");
        enforcer.effort(&berth_admission::client::VersionedWrite {
            request: &request,
            ..*write
        })
    });
    assert_eq!(other, 0);
}

#[test]
fn a_policy_that_selects_no_object_makes_no_write_heavy_after_the_first() {
    let selector = json!({"objectSelector": {"matchLabels": {"nobody": "has"}}});
    let rules = json!([{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}]);
    let mut constraints = selector.clone();
    constraints["resourceRules"] = rules;
    let of_policy = json!({"matchConstraints": constraints, "validations": [{"expression": DEAR}]});
    let of_binding = json!({"validations": [{"expression": DEAR}]});
    for (spec, bound) in [
        (of_policy, json!({})),
        (of_binding, json!({"matchResources": selector})),
    ] {
        let enforcer = Enforcer::new(Arc::new(validating(&spec, &bound)));
        enforcer.compile_stored();
        assert!(effort(&enforcer) > 1_000_000, "nobody knows");
        assert_eq!(judged(&enforcer), "");
        assert_eq!(effort(&enforcer), 0, "{spec} {bound}");
    }
}

#[test]
fn where_the_budget_ends_exactly_with_an_evaluation_the_rest_is_not_admitted_unseen() {
    let world = || over_all("params.metadata.name != 'l1'", 2);
    // The least budget that is enough for the first of two parameters.
    let enough = |budget: u64| {
        let mut one = world();
        one.params.insert("Limit".to_owned(), params(1));
        judged(&Enforcer::with_limit(Arc::new(one), budget)).is_empty()
    };
    let exactly = (1..1_000).find(|budget| enough(*budget)).unwrap();
    let refused = judged(&Enforcer::with_limit(Arc::new(world()), exactly));
    assert!(refused.contains("running out of cost budget"), "{refused}");
}

#[test]
fn policies_end_with_the_request_that_meets_them() {
    let enforcer = Enforcer::new(Arc::new(over_all(DEAR, 100)));
    let abandoned = berth_apimachinery::budget::AbandonedFlag::default();
    abandoned.set();
    let (result, _) = abandoned.scope(|| Write::default().judged(&enforcer, Some(&foo(&json!({})))));
    assert_eq!(result.unwrap_err().code, 504);
}
