//! Predicates over labels, claims and expressions; tolerations in time.

use berth_apimachinery::Key;
use berth_dialect_contract::Targets;
use serde_json::{Value, json};

use super::world::{World, columns, now, placement, wants};
use crate::names::CLUSTERS;

fn world() -> World {
    let mut world = columns(&["a", "b", "c"]);
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["metadata"]["labels"]["env"] = json!("prod");
        value["status"] = json!({
            "clusterClaims": [{"name": "platform", "value": "AWS"}],
            "version": {"kubernetes": "v1.31.2"}, "allocatable": {"cpu": 8, "memory": "4Gi"},
        });
    });
    world.edit(&Key::new(CLUSTERS, "", "b"), |value| {
        value["metadata"]["labels"]["env"] = json!("dev");
        value["status"] = json!({"version": {"kubernetes": "v1.28.0"}});
    });
    world
}

fn matching(predicates: &Value) -> Vec<String> {
    let mut world = world();
    world.put(&wants("p", &json!({"predicates": predicates})));
    let decision = world.decide(&placement("ns", "p"));
    let twice = world.decide(&placement("ns", "p"));
    assert_eq!(decision.solved, twice.solved);
    let mut names = world.picked(&decision);
    names.sort();
    names
}

fn labels(expression: &Value) -> Value {
    json!({"requiredClusterSelector": {"labelSelector": {"matchExpressions": [expression]}}})
}

fn cel(source: &str) -> Value {
    json!({"requiredClusterSelector": {"celSelector": {"celExpressions": [source]}}})
}

#[test]
fn predicates_are_ored_and_their_parts_anded() {
    let prod = labels(&json!({"key": "env", "operator": "In", "values": ["prod"]}));
    let none = labels(&json!({"key": "env", "operator": "DoesNotExist"}));
    assert_eq!(matching(&json!([])), ["a", "b", "c"]);
    assert_eq!(matching(&json!([prod])), ["a"]);
    assert_eq!(matching(&json!([prod, none])), ["a", "c"]);
    assert_eq!(matching(&json!([{}])), ["a", "b", "c"]);
    let aws = json!({"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"env": "prod"}},
        "claimSelector": {"matchExpressions": [{"key": "platform", "operator": "In", "values": ["AWS"]}]},
    }});
    assert_eq!(matching(&json!([aws])), ["a"]);
    let not_aws = json!({"requiredClusterSelector": {
        "claimSelector": {"matchExpressions": [{"key": "platform", "operator": "NotIn", "values": ["AWS"]}]},
    }});
    assert_eq!(matching(&json!([not_aws])), ["b", "c"]);
}

#[test]
fn expressions_see_the_whole_cluster_and_errors_are_no_match() {
    for (source, names) in [
        ("managedCluster.metadata.labels['env'] == 'prod'", vec!["a"]),
        ("managedCluster.metadata.labels['env'] != 'prod'", vec!["b"]),
        ("managedCluster.metadata.name == 'c'", vec!["c"]),
        (
            "semver(managedCluster.status.version.kubernetes.substring(1)).isGreaterThan(semver('1.30.0'))",
            vec!["a"],
        ),
        (
            "managedCluster.status.clusterClaims.exists(c, c.name == 'platform' && c.value == 'AWS')",
            vec!["a"],
        ),
        ("managedCluster.status.allocatable.cpu == 8", vec!["a"]),
        (
            "quantity(managedCluster.status.allocatable.memory).isGreaterThan(quantity('1Gi'))",
            vec!["a"],
        ),
        (
            "managedCluster.metadata.labels[?'env'].orValue('none') == 'none'",
            vec!["c"],
        ),
        ("'{\"x\": [1, 2]}'.parseJSON().x.size() == 2", vec!["a", "b", "c"]),
        ("managedCluster.metadata.name", vec![]),
        ("1 / 0 == 1", vec![]),
    ] {
        assert_eq!(matching(&json!([cel(source)])), names, "{source}");
    }
}

#[test]
fn an_expression_follows_changes_of_the_cluster() {
    let mut world = world();
    world.put(&wants(
        "p",
        &json!({"predicates": [cel("managedCluster.metadata.annotations['x'] == 'y'")]}),
    ));
    let key = placement("ns", "p");
    assert!(world.picked(&world.decide(&key)).is_empty());
    let due = world.edit(&Key::new(CLUSTERS, "", "b"), |value| {
        value["metadata"]["annotations"] = json!({"x": "y"})
    });
    assert_eq!(
        due.decide,
        berth_dialect_contract::AffectedDemands::Some(vec![key.clone()])
    );
    assert_eq!(world.picked(&world.decide(&key)), ["b"]);
    // Candidates get new numbers: cached results must not be used for other clusters.
    world.delete(&Key::new(CLUSTERS, "", "a"));
    assert_eq!(world.picked(&world.decide(&key)), ["b"]);
    let report = serde_json::to_value(world.report(&world.decide(&key))).unwrap();
    assert_eq!(
        report["candidates"][1]["rejections"][0]["message"],
        "predicates[0] asks for managedCluster.metadata.annotations['x'] == 'y', which fails: no such key: annotations"
    );
}

#[test]
fn a_toleration_runs_out_at_its_end() {
    let mut world = columns(&["a"]);
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["spec"]["taints"] =
            json!([{"key": "k", "effect": "NoSelect", "timeAdded": "2021-10-28T08:59:00Z"}]);
    });
    let tolerations = json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 90}]);
    world.put(&wants("p", &json!({"tolerations": tolerations})));
    let key = placement("ns", "p");
    let decision = world.decide(&key);
    assert_eq!(world.picked(&decision), ["a"]);
    let end = now().checked_add(jiff::SignedDuration::from_secs(30)).unwrap();
    assert_eq!(decision.due_at, Some(end));
    assert!(world.picked(&world.decide_at(&key, end)).is_empty());
}

#[test]
fn no_select_if_new_keeps_what_is_selected() {
    let mut world = columns(&["a", "b"]);
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    let key = placement("ns", "p");
    world.settle(&key);
    for name in ["a", "b"] {
        world.edit(&Key::new(CLUSTERS, "", name), |value| {
            value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelectIfNew"}]);
        });
    }
    let decision = world.settle(&key);
    assert_eq!(world.picked(&decision), ["a"]);
    assert_eq!(decision.solved.feasible.len(), 1);
    assert_eq!(world.fleet.count(), 2);
}
