//! Expressions that do not compile or cost too much, and decisions that continue in spite of errors.

use std::time::{Duration, Instant};

use berth_apimachinery::Key;
use berth_dialect_contract::{Advisor, Outcome, Words as _};
use berth_scheduling::Rejection;
use serde_json::{Value, json};

use super::conditions::condition;
use super::world::{World, columns, placement, wants};
use crate::code::{Code, Plugin};
use crate::names::CLUSTERS;

fn selecting(name: &str, source: &str) -> Value {
    wants(
        name,
        &json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}}]}),
    )
}

/// The message of PlacementMisconfigured for a placement with `source`. Another placement is decided as
/// usual.
fn misconfigured(world: &mut World, source: &str) -> String {
    world.put(&selecting("p", source));
    world.put(&selecting("other", "managedCluster.metadata.name == 'b'"));
    let key = placement("ns", "p");
    let decision = world.decide(&key);
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Invalid, "Misconfigured"),
        "{source}"
    );
    assert_eq!(world.picked(&world.decide(&placement("ns", "other"))), ["b"]);
    let (status, reason, message) = condition(world, &key, "PlacementMisconfigured");
    assert_eq!((&*status, &*reason), ("True", "Misconfigured"));
    message
}

#[test]
fn an_expression_that_does_not_compile_is_misconfigured_with_the_words_of_the_compiler() {
    let mut world = columns(&["a", "b"]);
    for (source, words) in [
        (
            "1 + 'a' == 2 || true",
            "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'",
        ),
        (
            "math.greatest(1, 12) > 2",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'math' (in container '')",
        ),
        ("managedCluster.x ==", "Syntax error: mismatched input <EOF>"),
        ("", "Syntax error"),
    ] {
        let message = misconfigured(&mut world, source);
        let start = "Predicate:spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: ";
        assert!(message.starts_with(start) && message.contains(words), "{message}");
    }
}

#[test]
fn an_expression_made_to_take_memory_or_time_is_no_match_and_its_cost_is_told() {
    let a = "a".repeat(100);
    let list = format!("[{}]", vec!["1"; 100].join(","));
    let mut world = columns(&["a", "b"]);
    for source in [
        format!("'{a}'{}.size() > 0", format!(".replace('a','{a}')").repeat(5)),
        format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, true))))"),
        format!("{list}.map(a, '{a}').join('{a}').split('').map(a, '{a}').join('{a}').split('').size() > 0"),
        format!(
            "{list}.all(a, {list}.all(b, ('{a}' + string(a)).matches('(a|aa){{1,90}}' + string(b) + '.{{900}}') || true))"
        ),
    ] {
        let started = Instant::now();
        let key = placement("ns", "p");
        world.put(&selecting("p", &source));
        let decision = world.decide(&key);
        assert_eq!(decision.outcome, Outcome::Unschedulable, "{source}");
        let cost = "operation cancelled: actual cost limit exceeded: it costs more than 1000000";
        let refusals = decision.solved.rejections_of(0);
        let codes: Vec<Code> = refusals
            .iter()
            .map(|refusal| Code::of_reason(refusal.reason))
            .collect();
        assert_eq!(codes, [Code::ExpressionTooCostly], "{source}");
        let told = crate::words::refusal(&world.fleet, &decision, 0, codes[0]);
        assert!(told.ends_with(cost), "{told}");
        let warnings = world.fleet.warnings(&decision);
        assert!(
            warnings[0].contains("fails on 2 clusters to choose from and does not match there; on a: ")
                && warnings[0].ends_with(cost),
            "{warnings:?}"
        );
        let notes = crate::notes::notes(&world.fleet, &decision, true);
        let note = notes.iter().find(|note| note.reason == "ExpressionTooCostly");
        assert!(note.is_some_and(|note| note.text.contains(cost)), "{notes:?}");
        // The limit is for a build without optimization.
        let first = started.elapsed();
        assert!(first < Duration::from_secs(20), "{source}");
        // Cached results are not evaluated again, which takes a hundredth of the time. The limit allows for
        // a busy machine.
        let started = Instant::now();
        world.decide(&placement("ns", "p"));
        assert!(started.elapsed() < first, "{source}");
    }
}

/// An expression that is true and costs about 110,000 on each cluster.
fn dear() -> String {
    let list = format!("[{}]", vec!["1"; 90].join(","));
    format!("{list}.all(a, {list}.all(b, ['x', 'y', 'z', 'v', 'w'].all(c, true)))")
}

#[test]
fn what_costs_much_on_many_clusters_is_decided_as_in_ocm() {
    let names: Vec<String> = (0..100).map(|number| format!("c{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = columns(&names);
    world.put(&selecting("p", &dear()));
    let decision = world.decide(&placement("ns", "p"));
    assert_eq!(world.picked(&decision).len(), 100);
}

#[test]
fn clusters_beyond_what_a_decision_may_cost_do_not_match_and_the_report_says_so() {
    let names: Vec<String> = (0..100).map(|number| format!("c{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = columns(&names);
    // The cost counts twice although the expression is evaluated once.
    let predicates: Vec<Value> = (0..12)
        .map(|_| json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [dear()]}}}))
        .collect();
    world.put(&wants("p", &json!({"predicates": predicates})));
    let decision = world.decide(&placement("ns", "p"));
    assert_eq!(decision.outcome, Outcome::Scheduled, "{}", decision.reason);
    assert_eq!(world.picked(&decision).len(), 100, "one predicate suffices");
    let warnings = world.fleet.warnings(&decision);
    let told = "it was not evaluated, since the expressions of the placement together cost more than 105000000, the limit of one decision";
    assert!(
        warnings.iter().any(|warning| warning.ends_with(told)),
        "{warnings:?}"
    );
    let (status, ..) = condition(&world, &placement("ns", "p"), "PlacementMisconfigured");
    assert_eq!(status, "False");
}

#[test]
fn expressions_of_one_predicate_that_cost_too_much_together_on_a_cluster_do_not_match_it() {
    let mut world = columns(&["a", "b"]);
    // Each expression costs just less than 1,000,000.
    let list = format!("[{}]", vec!["1"; 90].join(","));
    let each = format!(
        "{list}.all(a, {list}.all(b, [{}].all(c, true)))",
        vec!["1"; 30].join(",")
    );
    let on_a = format!("managedCluster.metadata.name == 'b' || {each}");
    let many = |count: usize| vec![on_a.clone(); count];
    let asking = |expressions: Vec<String>| {
        wants(
            "p",
            &json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": expressions}}}]}),
        )
    };
    world.put(&asking(many(10)));
    assert_eq!(world.picked(&world.decide(&placement("ns", "p"))), ["a", "b"]);
    world.put(&asking(many(16)));
    let decision = world.decide(&placement("ns", "p"));
    assert_eq!(world.picked(&decision), ["b"]);
    let warnings = world.fleet.warnings(&decision);
    assert!(
        warnings[0]
            .contains("the expressions of the predicate together cost more than 10000000 on the cluster"),
        "{warnings:?}"
    );
    let report = world.fleet.sentence(
        &decision,
        0,
        decision.solved.rejections[0].plugin,
        decision.solved.rejections[0].reason,
    );
    assert!(
        report.contains("has expressions that together exceed the cost limit"),
        "{report}"
    );
}

#[test]
fn a_refusal_for_the_cost_alone_has_no_remedy() {
    let mut world = columns(&["a"]);
    world.put(&selecting("p", "true"));
    let decision = world.decide(&placement("ns", "p"));
    // Each part of the predicate matches, as where its expressions cost too much together.
    let refusal = Rejection {
        candidate: 0,
        plugin: Plugin::Predicate.number(),
        reason: Code::ExpressionTooCostly.with(0),
    };
    let remedies = world.fleet.remedies(&decision, 0, Some(&refusal));
    assert!(remedies.is_empty(), "{remedies:?}");
}

#[test]
fn an_expression_that_costs_too_much_on_one_cluster_leaves_the_others_to_choose_from() {
    let mut world = columns(&["a", "b"]);
    let a = "a".repeat(100);
    let costly = format!("'{a}'{}.size() > 0", format!(".replace('a','{a}')").repeat(5));
    world.put(&selecting(
        "p",
        &format!("managedCluster.metadata.name == 'b' || {costly}"),
    ));
    let key = placement("ns", "p");
    let decision = world.decide(&key);
    assert_eq!(world.picked(&decision), ["b"]);
    assert!(world.fleet.warnings(&decision)[0].contains("fails on 1 cluster"));
    // A cluster that matches no other predicate is refused because of the cost; one that matches another is
    // not refused.
    let selector =
        |source: &str| json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}});
    let predicates = [selector(&costly), selector("managedCluster.metadata.name == 'a'")];
    world.put(&wants("p", &json!({"predicates": predicates})));
    let decision = world.decide(&key);
    assert_eq!(world.picked(&decision), ["a"]);
    let refused: Vec<(u32, String)> = decision
        .solved
        .rejections
        .iter()
        .map(|refusal| (refusal.candidate, Code::of_reason(refusal.reason).to_string()))
        .collect();
    assert_eq!(refused, [(1, "Predicate/ExpressionTooCostly".to_owned())]);
    world.put(&selecting("p", "true"));
    assert_eq!(world.picked(&world.decide(&key)), ["a", "b"]);
    world.delete(&key);
}

#[test]
fn an_error_in_one_element_does_not_decide_over_the_others() {
    let mut world = columns(&["a", "b"]);
    let taints = |order: [Value; 2]| move |value: &mut Value| value["spec"]["taints"] = json!(order);
    let without = json!({"key": "dedicated", "effect": "PreferNoSelect"});
    let with = json!({"key": "gpu", "effect": "PreferNoSelect", "value": "a"});
    world.edit(
        &Key::new(CLUSTERS, "", "a"),
        taints([without.clone(), with.clone()]),
    );
    world.edit(&Key::new(CLUSTERS, "", "b"), taints([with, without]));
    world.put(&selecting(
        "p",
        "managedCluster.spec.taints.exists(t, t.value == \"a\")",
    ));
    assert_eq!(world.picked(&world.decide(&placement("ns", "p"))), ["a", "b"]);
    world.put(&selecting(
        "p",
        "managedCluster.metadata.labels.?tier.orValue(\"0\") == \"0\"",
    ));
    assert_eq!(world.picked(&world.decide(&placement("ns", "p"))), ["a", "b"]);
}
