//! Outcomes, conditions, misconfiguration, deletion, and choices by name.

use berth_apimachinery::Key;
use berth_dialect_contract::{AffectedDemands, Inventory, Outcome, Phase, Targets, Words};
use serde_json::{Value, json};

use super::world::{LimitedList, World, binding, cluster, columns, limited_lists, now, placement, wants};
use crate::names::{BINDINGS, CLUSTERS, SETS};

pub(super) fn condition(world: &World, key: &Key, r#type: &str) -> (String, String, String) {
    let decision = world.decide(key);
    let list = world.fleet.conditions(&decision);
    let found = list.iter().find(|condition| condition["type"] == r#type).unwrap();
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    (text("status"), text("reason"), text("message"))
}

fn reason(world: &World, key: &Key) -> String {
    condition(world, key, "PlacementSatisfied").1
}

#[test]
fn the_first_rule_that_holds_gives_the_reason() {
    let mut world = World::default();
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 2})));
    assert_eq!(reason(&world, &key), "NoManagedClusterSetBindings");
    // A binding to a set that does not exist does not count.
    world.put(&binding("ns", "fleet"));
    assert_eq!(reason(&world, &key), "NoManagedClusterSetBindings");
    world.put(&json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": {"name": "fleet"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
    }));
    assert_eq!(reason(&world, &key), "AllManagedClusterSetsEmpty");
    world.edit(&key, |value| value["spec"]["clusterSets"] = json!(["other"]));
    let (status, reason_token, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(
        (status.as_str(), reason_token.as_str()),
        ("False", "NoIntersection")
    );
    assert!(
        message.contains("(other)") && message.contains("bound are fleet"),
        "{message}"
    );
    world.edit(&key, |value| value["spec"]["clusterSets"] = json!(["fleet"]));
    let mut leaving = cluster("a");
    leaving["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:59:00Z");
    leaving["metadata"]["finalizers"] = json!(["x/y"]);
    world.put(&leaving);
    assert_eq!(reason(&world, &key), "AllManagedClusterSetsEmpty");
    let mut tainted = cluster("b");
    tainted["spec"]["taints"] = json!([{"key": "a", "effect": "NoSelect"}]);
    world.put(&tainted);
    let (_, reason_token, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(reason_token, "NoManagedClusterMatched");
    assert_eq!(
        message,
        "No cluster fits. Nearest: b: the taint a:NoSelect is not tolerated"
    );
    world.put(&cluster("c"));
    let (status, reason_token, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(
        (status.as_str(), reason_token.as_str()),
        ("False", "NotAllDecisionsScheduled")
    );
    assert_eq!(
        message,
        "1 cluster decisions unscheduled. No other cluster fits. Nearest: b: the taint a:NoSelect is not tolerated"
    );
    assert_eq!(world.decide(&key).outcome, Outcome::Partial);
    world.put(&cluster("d"));
    assert_eq!(reason(&world, &key), "AllDecisionsScheduled");
    world.edit(&key, |value| value["spec"]["numberOfClusters"] = json!(0));
    assert_eq!(reason(&world, &key), "NoManagedClusterMatched");
    let decision = world.decide(&key);
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Unschedulable, "NoManagedClusterMatched")
    );
}

#[test]
fn a_misconfigured_placement_keeps_its_decisions() {
    let key = placement("ns", "p");
    for (spec, message) in [
        (
            json!({"prioritizerPolicy": {"mode": "Most"}}),
            ":spec.prioritizerPolicy.mode",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"name": "Spread"}]}}),
            ":there is no built-in",
        ),
        (json!({"numberOfClusters": -1}), ":numberOfClusters is -1"),
        (
            json!({"tolerations": [{"value": "x"}]}),
            "TaintToleration:spec.tolerations[0]",
        ),
        (
            json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["1 +"]}}}]}),
            "Predicate:spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: compilation failed: ERROR: <input>:1:4: Syntax error",
        ),
        (
            json!({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions":
                [{"key": "a", "operator": "Near"}]}}}]}),
            "Predicate:spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0]",
        ),
        (
            json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "0%"}}}),
            ":spec.decisionStrategy",
        ),
    ] {
        let mut world = columns(&["a", "b"]);
        world.put(&wants("p", &json!({"numberOfClusters": 1})));
        world.settle(&key);
        world.edit(&key, |value| value["spec"] = spec.clone());
        let decision = world.settle(&key);
        assert_eq!(
            (decision.outcome, decision.reason),
            (Outcome::Invalid, "Misconfigured"),
            "{spec}"
        );
        assert_eq!(world.bound(&key), ["a"], "{spec}");
        let (status, token, text) = condition(&world, &key, "PlacementMisconfigured");
        assert_eq!((status.as_str(), token.as_str()), ("True", "Misconfigured"));
        assert!(text.starts_with(message), "{text}");
        assert_eq!(reason(&world, &key), "NoManagedClusterMatched");
        assert_eq!(world.get(&key)["status"]["numberOfSelectedClusters"], 1);
        assert!(world.fleet.writes(&world.decide(&key)).is_empty());
        // Once corrected, the placement continues with its clusters.
        world.edit(&key, |value| value["spec"] = json!({"numberOfClusters": 1}));
        world.settle(&key);
        assert_eq!(
            condition(&world, &key, "PlacementMisconfigured").1,
            "Succeedconfigured"
        );
    }
}

#[test]
fn a_placement_with_a_list_longer_than_its_limit_is_misconfigured() {
    let key = placement("ns", "p");
    for LimitedList { path, max, spec } in limited_lists() {
        let mut world = columns(&["a"]);
        world.put(&wants("p", &spec(max)));
        assert_eq!(
            condition(&world, &key, "PlacementMisconfigured").0,
            "False",
            "{path}"
        );
        assert_eq!(world.picked(&world.decide(&key)), ["a"], "{path}");
        world.put(&wants("p", &spec(max + 1)));
        let (status, _, message) = condition(&world, &key, "PlacementMisconfigured");
        let expected = format!("{path}: Too many: {}: must have at most {max} items", max + 1);
        assert_eq!(status, "True", "{path}");
        assert!(message.ends_with(&expected), "{message}");
    }
}

#[test]
fn a_misconfigured_placement_is_not_bound_and_keeps_no_cluster_that_is_gone_or_being_deleted() {
    let mut world = columns(&["a", "b", "c"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    world.settle(&key);
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Bound);
    world.edit(&key, |value| {
        value["spec"] = json!({"prioritizerPolicy": {"mode": "Exactt"}})
    });
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Invalid);
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a", "b", "c"]);
    world.delete(&Key::new(CLUSTERS, "", "b"));
    world.edit(&Key::new(CLUSTERS, "", "c"), |value| {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:59:00Z");
        value["metadata"]["finalizers"] = json!(["x/y"]);
    });
    let decision = world.settle(&key);
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Invalid, "Misconfigured")
    );
    assert_eq!(
        world.fleet.message(&decision),
        ":spec.prioritizerPolicy.mode: \"Exactt\" is neither Additive nor Exact; until this is corrected, it keeps a; it releases \
         b, c: gone, or being deleted"
    );
    let known = world.fleet.known_difference(&decision).unwrap();
    assert!(known.starts_with("OCM empties the decisions"), "{known}");
    assert_eq!(world.bound(&key), ["a"]);
    let status = &world.get(&key)["status"];
    assert_eq!(status["numberOfSelectedClusters"], 1);
    assert_eq!(status["decisionGroups"][0]["clusterCount"], 1);
    assert!(world.fleet.writes(&world.decide(&key)).is_empty());
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Invalid);
}

/// Selectors of a set that cannot be read.
fn unreadable_selectors() -> [Value; 3] {
    let by_labels = |expression: Value| json!({"selectorType": "LabelSelector", "labelSelector": {"matchExpressions": [expression]}});
    [
        by_labels(json!({"key": "env", "operator": "in", "values": ["prod"]})),
        by_labels(json!({"key": "env", "operator": "In"})),
        json!({"selectorType": "Labels"}),
    ]
}

#[test]
fn a_set_that_cannot_be_read_moves_nothing_and_does_not_count_as_missing() {
    let mut world = columns(&["a", "b"]);
    let (key, set) = (placement("ns", "p"), Key::new(SETS, "", "fleet"));
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    world.settle(&key);
    let due = AffectedDemands::Some(vec![key.clone()]);
    for selector in unreadable_selectors() {
        let changed = world.edit(&set, |value| value["spec"]["clusterSelector"] = selector.clone());
        assert_eq!((&changed.decide, &changed.demands), (&due, &due), "{selector}");
        let decision = world.settle(&key);
        assert_eq!(
            (decision.outcome, decision.reason),
            (Outcome::Invalid, "Misconfigured"),
            "{selector}"
        );
        assert_eq!(world.bound(&key), ["a"], "{selector}");
        let (status, _, message) = condition(&world, &key, "PlacementMisconfigured");
        assert_eq!(status, "True", "{selector}");
        let beginning = "ClusterSet:ManagedClusterSet fleet cannot be read: ";
        assert!(message.starts_with(beginning), "{message}");
        assert_eq!(reason(&world, &key), "AllDecisionsScheduled", "{selector}");
        assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Invalid);
        assert!(world.fleet.writes(&world.decide(&key)).is_empty());
    }
    let known = world.fleet.known_difference(&world.decide(&key)).unwrap();
    assert!(known.starts_with("OCM decides nothing"), "{known}");
    assert_eq!(world.delete(&Key::new(CLUSTERS, "", "a")).decide, due);
    world.settle(&key);
    assert_eq!(world.bound(&key), [""; 0]);
    let (status, token, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(
        (&*status, &*token, &*message),
        ("False", "NoManagedClusterMatched", "no cluster could be judged")
    );
    let changed = world.edit(&set, |value| {
        value["spec"]["clusterSelector"] = json!({"selectorType": "ExclusiveClusterSetLabel"})
    });
    assert_eq!(changed.decide, due);
    world.settle(&key);
    assert_eq!(world.bound(&key), ["b"]);
    assert_eq!(
        condition(&world, &key, "PlacementMisconfigured").1,
        "Succeedconfigured"
    );
}

#[test]
fn clusters_that_stay_while_a_set_cannot_be_read_count_for_the_condition() {
    let mut world = columns(&["a", "b"]);
    let (key, set) = (placement("ns", "p"), Key::new(SETS, "", "fleet"));
    world.put(&wants("p", &json!({"numberOfClusters": 2})));
    world.settle(&key);
    let [unreadable, ..] = unreadable_selectors();
    world.edit(&set, |value| value["spec"]["clusterSelector"] = unreadable);
    world.settle(&key);
    assert_eq!(world.bound(&key), ["a", "b"]);
    assert_eq!(condition(&world, &key, "PlacementSatisfied").0, "True");
    world.delete(&Key::new(CLUSTERS, "", "a"));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["b"]);
    let (status, token, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(
        (&*status, &*token, &*message),
        (
            "False",
            "NotAllDecisionsScheduled",
            "1 cluster decisions unscheduled"
        )
    );
}

#[test]
fn a_set_that_cannot_be_read_concerns_only_placements_that_choose_from_it() {
    let mut world = columns(&["a"]);
    let [unreadable, ..] = unreadable_selectors();
    world.put(&json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": {"name": "other"}, "spec": {"clusterSelector": unreadable},
    }));
    world.put(&binding("ns", "other"));
    world.put(&wants("all", &json!({})));
    world.put(&wants("one", &json!({"clusterSets": ["fleet"]})));
    let all = world.decide(&placement("ns", "all"));
    assert_eq!(all.outcome, Outcome::Invalid);
    let one = world.decide(&placement("ns", "one"));
    assert_eq!(world.picked(&one), ["a"]);
    assert_eq!(world.fleet.warnings(&one), [""; 0]);
}

#[test]
fn filters_are_not_asked_about_their_configuration_without_a_cluster() {
    let mut world = columns(&[]);
    world.put(&wants("p", &json!({"tolerations": [{"value": "x"}]})));
    let key = placement("ns", "p");
    assert_eq!(condition(&world, &key, "PlacementMisconfigured").0, "False");
    assert_eq!(reason(&world, &key), "AllManagedClusterSetsEmpty");
}

#[test]
fn deleted_and_disabled_placements_are_left_alone() {
    let mut world = columns(&["a"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    world.settle(&key);
    world.edit(&key, |value| {
        value["metadata"]["annotations"] =
            json!({"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"});
    });
    world.put(&cluster("b"));
    let decision = world.decide(&key);
    assert_eq!(decision.outcome, Outcome::Ignored);
    assert!(world.fleet.writes(&decision).is_empty());
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Ignored);
    world.edit(&key, |value| {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:59:00Z");
        value["metadata"]["finalizers"] = json!(["x/y"]);
    });
    let decision = world.decide(&key);
    assert_eq!(decision.outcome, Outcome::Released);
    assert!(world.fleet.writes(&decision).is_empty());
    let report = serde_json::to_value(world.report(&decision)).unwrap();
    assert_eq!(
        report["changes"],
        json!([{"action": "Unbind", "clusterName": "a"}])
    );
    assert_eq!(report["message"], "the placement is being deleted and releases a");
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Releasing);
}

#[test]
fn chosen_targets_are_bound_or_refused_with_every_reason() {
    let mut world = columns(&["a", "b", "c"]);
    let key = placement("ns", "p");
    world.put(&wants(
        "p",
        &json!({"numberOfClusters": 2, "predicates": [
            {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}},
        ]}),
    ));
    for name in ["a", "b"] {
        world.edit(&Key::new(CLUSTERS, "", name), |value| {
            value["metadata"]["labels"]["env"] = json!("prod")
        });
    }
    world.edit(&Key::new(CLUSTERS, "", "c"), |value| {
        value["spec"]["taints"] = json!([{"key": "k", "value": "v", "effect": "NoSelect"}]);
    });
    let ask = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        world.ask(&key, now(), Some(&names))
    };
    let decision = ask(&["b"]).unwrap();
    assert_eq!(world.picked(&decision), ["b"]);
    assert_eq!(decision.outcome, Outcome::Partial);
    let lines = |refused: Result<_, berth_dialect_contract::ChoiceRefusal>| -> Vec<String> {
        refused
            .err()
            .unwrap()
            .errors
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(
        lines(ask(&["a", "x", "c"])),
        [
            "spec.targets[1]: Invalid value: \"x\": there is no ManagedCluster \"x\"",
            "spec.targets[2]: Invalid value: \"c\": Predicate/PredicateMismatch: predicates[0] asks for labels env=prod; \
             TaintToleration/Untolerated: the taint k=v:NoSelect is not tolerated",
            "spec.targets: Too many: 3: must have at most 2 items",
        ]
    );
    assert_eq!(
        lines(ask(&["a", "a"])),
        ["spec.targets[1]: Duplicate value: \"a\""]
    );
}

#[test]
fn demands_and_targets_are_shown_as_they_are() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 3})));
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Pending);
    world.settle(&key);
    let demand = world.fleet.demand(&key, now()).unwrap();
    assert_eq!((demand.phase, demand.wanted), (Phase::Partial, Some(3)));
    assert_eq!(
        demand
            .placed
            .iter()
            .map(|placed| &*placed.cluster_name)
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    world.edit(&key, |value| value["spec"]["numberOfClusters"] = Value::Null);
    assert_eq!(world.fleet.demand(&key, now()).unwrap().phase, Phase::Bound);
    world.edit(&Key::new(CLUSTERS, "", "b"), |value| {
        value["metadata"]["labels"]["region"] = json!("eu");
        value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
        value["status"] = json!({
            "conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True", "message": "fine"}],
            "clusterClaims": [{"name": "platform.open-cluster-management.io", "value": "AWS"}],
        });
    });
    let target = world.fleet.target(world.fleet.candidate("b").unwrap(), now());
    assert_eq!(
        (target.ready, target.ready_reason, target.ready_message.as_str()),
        ("True", "Available", "fine")
    );
    assert_eq!(
        (target.region.as_str(), target.provider.as_str(), target.cordoned),
        ("eu", "aws", true)
    );
    assert_eq!(
        (target.capacity[0].name, target.capacity[0].used),
        ("decisions", 1)
    );
    let other = world.fleet.target(world.fleet.candidate("a").unwrap(), now());
    assert_eq!((other.ready, other.ready_reason), ("Unknown", "ConditionMissing"));
    world.delete(&Key::new(BINDINGS, "ns", "fleet"));
    let decision = world.settle(&key);
    assert_eq!(decision.reason, "NoManagedClusterSetBindings");
    assert!(world.bound(&key).is_empty());
    let report = serde_json::to_value(world.report(&decision)).unwrap();
    assert_eq!(report["candidates"][0]["rejections"][0]["reason"], "NotInSet");
}

/// Rewrites every message of the placement in the words of another scheduler.
fn reword(world: &mut World, key: &Key) {
    world.edit(key, |value| {
        for condition in value["status"]["conditions"].as_array_mut().unwrap() {
            condition["message"] = json!("said in other words");
        }
    });
}

#[test]
fn what_another_scheduler_says_in_other_words_is_unchanged_and_not_written() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    world.settle(&key);
    reword(&mut world, &key);
    let decision = world.decide(&key);
    assert_eq!(decision.outcome, Outcome::Unchanged);
    assert!(world.fleet.writes(&decision).is_empty());
    // A condition that differs is written in Berth's own words, which are then updated.
    world.edit(&key, |value| value["spec"]["numberOfClusters"] = json!(4));
    world.settle(&key);
    let text = |world: &World| condition(world, &key, "PlacementSatisfied").2;
    assert_eq!(text(&world), "2 cluster decisions unscheduled");
    world.edit(&key, |value| value["spec"]["numberOfClusters"] = json!(5));
    assert!(!world.fleet.writes(&world.decide(&key)).is_empty());
}

#[test]
fn the_bare_count_of_another_scheduler_is_left_while_it_is_right() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    let mut tainted = cluster("c");
    tainted["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
    world.put(&tainted);
    world.put(&wants("p", &json!({"numberOfClusters": 4})));
    world.settle(&key);
    let ours = condition(&world, &key, "PlacementSatisfied").2;
    let count = "2 cluster decisions unscheduled";
    assert!(
        ours.starts_with(&format!("{count}. No other cluster fits. ")),
        "{ours}"
    );
    let stored = |world: &World| {
        let value = world.get(&key);
        let list = value["status"]["conditions"].as_array().unwrap();
        let found = list
            .iter()
            .position(|condition| condition["type"] == "PlacementSatisfied");
        found.unwrap()
    };
    let index = stored(&world);
    world.edit(&key, |value| {
        value["status"]["conditions"][index]["message"] = json!(count)
    });
    assert!(world.fleet.writes(&world.decide(&key)).is_empty());
    world.edit(&key, |value| {
        value["status"]["conditions"][index]["message"] = json!("3 cluster decisions unscheduled");
    });
    assert!(!world.fleet.writes(&world.decide(&key)).is_empty());
}

#[test]
fn a_sentence_of_ours_gives_way_to_any_other_that_holds_now() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 0})));
    world.settle(&key);
    let text = |world: &World, r#type| {
        let value = world.get(&key);
        let list = value["status"]["conditions"].as_array().unwrap();
        let found = list.iter().find(|condition| condition["type"] == r#type);
        found.unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(text(&world, "PlacementSatisfied"), "numberOfClusters is 0");
    let nowhere = json!({"requiredClusterSelector": {"labelSelector": {"matchLabels": {"is": "nowhere"}}}});
    world.edit(&key, |value| {
        value["spec"] = json!({"numberOfClusters": 1, "predicates": [nowhere]});
    });
    world.settle(&key);
    let satisfied = text(&world, "PlacementSatisfied");
    assert_eq!(satisfied, "No cluster fits: of 2 none has is=nowhere");
    let mode = json!({"mode": "Neither"});
    world.edit(&key, |value| value["spec"] = json!({"prioritizerPolicy": mode}));
    world.settle(&key);
    let before = text(&world, "PlacementMisconfigured");
    let bare = json!({"value": "x", "operator": "Equal"});
    world.edit(&key, |value| value["spec"] = json!({"tolerations": [bare]}));
    world.settle(&key);
    let after = text(&world, "PlacementMisconfigured");
    assert!(before.starts_with(":spec.prioritizerPolicy"), "{before}");
    assert!(
        after.starts_with("TaintToleration:spec.tolerations[0]"),
        "{after}"
    );
}

#[test]
fn a_number_that_is_absent_stays_absent_where_it_would_be_0() {
    let mut world = columns(&[]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    world.settle(&key);
    assert_eq!(world.get(&key)["status"].get("numberOfSelectedClusters"), None);
    world.edit(&key, |value| {
        value["status"]["numberOfSelectedClusters"] = json!(3)
    });
    world.settle(&key);
    assert_eq!(world.get(&key)["status"]["numberOfSelectedClusters"], 0);
    world.edit(&key, |value| {
        value["status"]
            .as_object_mut()
            .unwrap()
            .remove("numberOfSelectedClusters");
    });
    assert!(world.fleet.writes(&world.decide(&key)).is_empty());
}
