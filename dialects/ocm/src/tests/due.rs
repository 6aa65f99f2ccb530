//! Placements that are due after each change, and objects that cannot be parsed.

use berth_apimachinery::Key;
use berth_dialect_contract::{Action, AffectedDemands, Inventory, Outcome, Words};
use serde_json::json;

use super::world::{binding, cluster, columns, now, placement, scores, wants};
use crate::names::{BINDINGS, CLUSTERS, SETS};

#[test]
fn only_what_a_decision_can_tell_makes_placements_due() {
    let mut world = columns(&["a"]);
    let key = placement("ns", "p");
    let due = world.put(&wants("p", &json!({})));
    let this = AffectedDemands::Some(vec![key.clone()]);
    assert_eq!((&due.decide, &due.demands), (&this, &this));
    let cluster_key = Key::new(CLUSTERS, "", "a");
    let heartbeat = world.edit(&cluster_key, |value| {
        value["status"] =
            json!({"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}]});
    });
    assert_eq!(heartbeat.decide, AffectedDemands::None);
    assert_eq!(heartbeat.targets.unwrap().len(), 1);
    let labelled = world.edit(&cluster_key, |value| {
        value["metadata"]["labels"]["x"] = json!("y")
    });
    assert_eq!(labelled.decide, AffectedDemands::None);
    let moved = world.edit(&cluster_key, |value| {
        value["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] = json!("other");
    });
    assert_eq!(moved.decide, this);
    let elsewhere = world.edit(&cluster_key, |value| {
        value["metadata"]["labels"]["x"] = json!("z")
    });
    assert_eq!(elsewhere.decide, AffectedDemands::None);
    assert_eq!(world.put(&cluster("b")).decide, this);
    assert_eq!(world.delete(&Key::new(CLUSTERS, "", "b")).decide, this);
    assert_eq!(
        world.put(&scores("a", &json!([]), &json!(null))).decide,
        AffectedDemands::None
    );
    assert_eq!(
        world.put(&binding("elsewhere", "fleet")).decide,
        AffectedDemands::None
    );
    assert_eq!(world.delete(&Key::new(BINDINGS, "ns", "fleet")).decide, this);
    assert_eq!(world.put(&binding("ns", "fleet")).decide, this);
    assert_eq!(world.put(&binding("ns", "fleet")).decide, AffectedDemands::None);
    let set = Key::new(SETS, "", "fleet");
    let selecting = world.edit(&set, |value| {
        value["spec"]["clusterSelector"] = json!({"selectorType": "LabelSelector", "labelSelector": {}});
    });
    assert_eq!(selecting.decide, this);
    assert_eq!(world.picked(&world.decide(&key)), ["a"]);
    let nobody = world.edit(&set, |value| {
        value["spec"]["clusterSelector"] = json!({"selectorType": "LabelSelector"})
    });
    assert_eq!(nobody.decide, this);
    assert!(world.picked(&world.decide(&key)).is_empty());
    assert_eq!(world.delete(&set).decide, this);
    assert_eq!(world.decide(&key).reason, "NoManagedClusterSetBindings");
}

#[test]
fn a_label_makes_due_the_placements_that_select_by_it() {
    let mut world = columns(&["a"]);
    let selects = |key: &str| json!({"requiredClusterSelector": {"labelSelector": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}});
    let groups = json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": [
        {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"color": "red"}}}},
    ]}}});
    world.put(&wants("any", &json!({})));
    world.put(&wants("colored", &json!({"predicates": [selects("color")]})));
    world.put(&wants("grouped", &groups));
    world.put(&wants("sized", &json!({"predicates": [selects("size")]})));
    let a = Key::new(CLUSTERS, "", "a");
    let mut label = |name: &str, value: &str| {
        let due = world.edit(&a, |object| object["metadata"]["labels"][name] = json!(value));
        match due.decide {
            AffectedDemands::None => Vec::new(),
            AffectedDemands::Some(keys) => keys.iter().map(|key| key.name.to_string()).collect(),
            AffectedDemands::All => panic!("only some are concerned"),
        }
    };
    assert_eq!(label("unheard-of", "x"), [""; 0]);
    assert_eq!(label("color", "blue"), ["colored"]);
    assert_eq!(label("color", "red"), ["grouped"]);
    assert_eq!(label("size", "large"), ["sized"]);
    assert_eq!(label("size", "small"), [""; 0]);
}

#[test]
fn an_expression_makes_its_placement_due_when_its_result_changes() {
    let mut world = columns(&["a"]);
    let by = |source: &str| json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}}]});
    world.put(&wants(
        "large",
        &by("managedCluster.metadata.labels[?'size'] == optional.of('large')"),
    ));
    world.put(&wants(
        "failing",
        &by("managedCluster.metadata.labels['unheard-of'] == 'x'"),
    ));
    world.put(&wants(
        "scored",
        &by("managedCluster.scores('default').size() == 0"),
    ));
    let two = [
        "managedCluster.metadata.name == 'b'",
        "managedCluster.metadata.labels['x'] == 'y'",
    ];
    world.put(&wants(
        "two",
        &json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": two}}}]}),
    ));
    for name in ["large", "failing", "scored", "two"] {
        drop(world.decide(&placement("ns", name)));
    }
    let a = Key::new(CLUSTERS, "", "a");
    let mut due = |edit: fn(&mut serde_json::Value)| match world.edit(&a, edit).decide {
        AffectedDemands::Some(keys) => keys.iter().map(|key| key.name.to_string()).collect::<Vec<_>>(),
        other => panic!("only some are concerned: {other:?}"),
    };
    let always = ["failing", "scored"];
    assert_eq!(
        due(|object| object["metadata"]["annotations"] = json!({"x": "y"})),
        always
    );
    assert_eq!(
        due(|object| object["metadata"]["labels"]["size"] = json!("small")),
        always
    );
    let all = ["failing", "large", "scored"];
    assert_eq!(
        due(|object| object["metadata"]["labels"]["size"] = json!("large")),
        all
    );
    assert_eq!(
        due(|object| object["metadata"]["labels"]["x"] = json!("y")),
        always
    );
    assert_eq!(
        due(|object| object["metadata"]["labels"]["size"] = json!("small")),
        all
    );
}

#[test]
fn evaluations_for_one_change_have_a_cost_limit() {
    let mut world = columns(&["a"]);
    let long = "managedCluster.metadata.annotations['text'].matches('^(b*)*$')";
    world.edit(&Key::new(CLUSTERS, "", "a"), |object| {
        object["metadata"]["annotations"] = json!({"text": "a".repeat(10_000)});
    });
    for number in 0..100 {
        let source = format!("{long} && managedCluster.metadata.name == 'b{number}'");
        let spec = json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}}]});
        world.put(&wants(&format!("p{number:02}"), &spec));
        drop(world.decide(&placement("ns", &format!("p{number:02}"))));
    }
    let a = Key::new(CLUSTERS, "", "a");
    let changed = world.edit(&a, |object| object["metadata"]["labels"]["x"] = json!("y"));
    let AffectedDemands::Some(due) = changed.decide else {
        panic!("{changed:?}")
    };
    assert!((1..100).contains(&due.len()), "{}", due.len());
    // A Placement that is not decided yet is due.
    world.put(&wants(
        "new",
        &json!({"predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}}]}),
    ));
    let changed = world.edit(&a, |object| object["metadata"]["labels"]["x"] = json!("z"));
    assert!(
        matches!(changed.decide, AffectedDemands::Some(due) if due.iter().any(|key| &*key.name == "new"))
    );
}

#[test]
fn what_cannot_be_read_is_listed_and_left_out() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    world.edit(&Key::new(CLUSTERS, "", "b"), |value| {
        value["spec"]["taints"] = json!("none")
    });
    assert_eq!(world.picked(&world.decide(&key)), ["a"]);
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["status"] = json!({"allocatable": {"cpu": "many"}, "capacity": {"cpu": "4"}});
    });
    let list: Vec<String> = world
        .fleet
        .unusable()
        .into_iter()
        .map(|entry| entry.problem)
        .collect();
    assert_eq!(list.len(), 2);
    assert!(list[0].contains("status.allocatable[cpu]"), "{}", list[0]);
    assert!(list[1].contains("invalid type: string \"none\""), "{}", list[1]);
    assert!(world.picked(&world.decide(&key)).is_empty());
    world.put(&cluster("a"));
    world.put(&cluster("b"));
    assert!(world.fleet.unusable().is_empty());
    assert_eq!(world.picked(&world.decide(&key)), ["a", "b"]);
}

#[test]
fn a_cluster_that_cannot_be_read_stays_selected_and_is_not_selected_anew() {
    let mut world = columns(&["a", "b"]);
    let [one, all, new] = ["one", "all", "new"].map(|name| placement("ns", name));
    world.put(&wants("one", &json!({"numberOfClusters": 1})));
    world.put(&wants("all", &json!({})));
    world.settle(&one);
    world.settle(&all);
    let cluster_key = Key::new(CLUSTERS, "", "a");
    world.edit(&cluster_key, |value| value["spec"]["taints"] = json!("none"));
    for (key, selected) in [(&one, &["a"][..]), (&all, &["a", "b"][..])] {
        let decision = world.decide(key);
        assert_eq!(
            (decision.outcome, world.picked(&decision)),
            (Outcome::Unchanged, owned(selected))
        );
    }
    let chosen = owned(&["a"]);
    let decision = world.ask(&one, now(), Some(&chosen)).unwrap();
    assert_eq!(world.picked(&decision), chosen);
    world.put(&wants("new", &json!({})));
    let decision = world.decide(&new);
    assert_eq!(world.picked(&decision), ["b"]);
    let refusal = decision.solved.rejections[0];
    assert_eq!(world.fleet.token(refusal.plugin, refusal.reason), "Unreadable");
    world.put(&wants("one", &json!({"numberOfClusters": -1})));
    let misconfigured = world.decide(&one);
    assert_eq!(misconfigured.changes[0].action, Action::Keep);
    world.put(&wants("one", &json!({"numberOfClusters": 1})));
    world.delete(&cluster_key);
    assert_eq!(world.picked(&world.decide(&one)), ["b"]);
}

#[test]
fn what_is_left_beside_a_selected_cluster_that_cannot_be_read_is_outranked() {
    let mut world = columns(&["a", "b", "c"]);
    let two = placement("ns", "two");
    world.put(&wants("two", &json!({"numberOfClusters": 2})));
    world.settle(&two);
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["spec"]["taints"] = json!("none")
    });
    let decision = world.decide(&two);
    assert_eq!(world.picked(&decision), ["a", "b"]);
    let left = *decision.solved.ranked.last().unwrap();
    let (_, text) = crate::words::not_picked(&world.fleet, &decision, left, Some(2));
    assert!(text.starts_with("ranks 2 of 2, and 2 are selected"), "{text}");
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_fork_changes_on_its_own() {
    let mut world = columns(&["a"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({})));
    assert_eq!(world.fleet.columns().count(), 1);
    let before = world.clone();
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}])
    });
    world.put(&cluster("b"));
    assert_eq!(before.picked(&before.decide(&key)), ["a"]);
    assert_eq!(world.picked(&world.decide(&key)), ["b"]);
}
