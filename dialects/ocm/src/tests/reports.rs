//! Details of reports beyond the verdict: values that do not count, expressions that fail, fields without
//! effect, and the nearest clusters.

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::report::reason_counts;
use berth_dialect_contract::{Outcome, Words};
use serde_json::{Value, json};

use super::conditions::condition;
use super::world::{World, binding, cluster, columns, now, placement, scores, wants};
use crate::names::{CLUSTERS, SETS};

fn by_score(weight: i32, name: &str) -> Value {
    json!({"numberOfClusters": 1, "prioritizerPolicy": {"mode": "Exact", "configurations": [{
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": name}}, "weight": weight,
    }]}})
}

fn selecting(sources: &[&str]) -> Value {
    let expressions = json!({"celSelector": {"celExpressions": sources}});
    wants(
        "p",
        &json!({"predicates": [{"requiredClusterSelector": expressions}]}),
    )
}

fn report(world: &World, at: Timestamp) -> Value {
    serde_json::to_value(world.report(&world.decide_at(&placement("ns", "p"), at))).unwrap()
}

/// The message of the one rejection of the cluster `name`.
fn rejected(report: &Value, name: &str) -> String {
    let candidates = report["candidates"].as_array().unwrap();
    let found = candidates
        .iter()
        .find(|candidate| candidate["clusterName"] == name)
        .unwrap();
    found["rejections"][0]["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_score_that_is_expired_missing_or_misnamed_says_so_and_does_not_win_unseen() {
    let mut world = columns(&["a", "b", "c", "d"]);
    let score = json!([{"name": "cpu", "value": 40}]);
    world.put(&scores("a", &score, &json!("2021-10-28T08:00:00Z")));
    world.put(&scores(
        "b",
        &json!([{"name": "memory", "value": 1}]),
        &Value::Null,
    ));
    world.put(&scores("d", &score, &Value::Null));
    world.put(&wants("p", &by_score(-1, "cpu")));
    let report = report(&world, now());
    assert_eq!(report["picked"][0]["clusterName"], "a", "{report}");
    let told = |name: &str| {
        let candidates = report["candidates"].as_array().unwrap();
        let found = candidates
            .iter()
            .find(|candidate| candidate["clusterName"] == name)
            .unwrap();
        found["scores"][0]["message"].as_str().map(str::to_owned)
    };
    assert_eq!(told("a").unwrap(), "expired at 2021-10-28T08:00:00Z");
    assert_eq!(told("b").unwrap(), "AddOnPlacementScore default has no score cpu");
    assert_eq!(told("c").unwrap(), "there is no AddOnPlacementScore default");
    assert_eq!(told("d"), None);
    assert_eq!(
        report["warnings"],
        json!([
            "AddOn/default/cpu counts as 0 for 3 of 4 feasible clusters: expired at 2021-10-28T08:00:00Z (a); there is no \
                AddOnPlacementScore default (c); AddOnPlacementScore default has no score cpu (b); with weight -1, 0 is better than \
                any higher score"
        ])
    );
}

#[test]
fn an_expression_that_fails_is_told_with_what_is_wrong_on_the_cluster() {
    let mut world = columns(&["a", "b"]);
    world.edit(&Key::new(CLUSTERS, "", "b"), |value| {
        value["metadata"]["labels"]["x"] = json!("1")
    });
    world.put(&selecting(&["managedCluster.metadata.labels['x'] == '1'"]));
    let found = report(&world, now());
    assert_eq!(found["picked"][0]["clusterName"], "b");
    assert_eq!(
        rejected(&found, "a"),
        "predicates[0] asks for managedCluster.metadata.labels['x'] == '1', which fails: no such key: x"
    );
    assert_eq!(
        found["warnings"],
        json!([
            "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: managedCluster.metadata.labels['x'] == '1' \
                fails on 1 cluster to choose from and does not match there; on a: no such key: x"
        ])
    );
    world.put(&selecting(&["managedCluster.metadata.labels.?x.orValue('0')"]));
    let found = report(&world, now());
    assert!(
        rejected(&found, "a").ends_with("which fails: its value is a string, not a bool"),
        "{found}"
    );
    world.put(&selecting(&[
        "managedCluster.metadata.labels.?x.orValue('0') == '1'",
    ]));
    let found = report(&world, now());
    assert_eq!(found["warnings"], Value::Null);
    assert!(!rejected(&found, "a").contains("fails"));
}

#[test]
fn a_filter_by_scores_selects_by_what_is_valid_and_follows_changes_and_expiry() {
    let mut world = columns(&["a", "b", "c"]);
    let score = |value: i32| json!([{"name": "cpu", "value": value}]);
    world.put(&scores("a", &score(5), &json!("2021-10-28T09:00:00Z")));
    world.put(&scores("b", &score(-5), &Value::Null));
    world.put(&selecting(&[
        "managedCluster.scores('default').exists(s, s.name == 'cpu' && s.value > 0)",
    ]));
    let key = placement("ns", "p");
    let decision = world.decide(&key);
    assert_eq!(world.picked(&decision), ["a"]);
    let end = decision.due_at.unwrap();
    assert!(
        end > now() && berth_apimachinery::time::rfc3339(end) == "2021-10-28T09:00:00Z",
        "{end}"
    );
    let found = report(&world, now());
    let asked =
        "predicates[0] asks for managedCluster.scores('default').exists(s, s.name == 'cpu' && s.value > 0)";
    assert_eq!(rejected(&found, "b"), asked);
    assert_eq!(
        rejected(&found, "c"),
        format!("{asked}, which fails: there is no AddOnPlacementScore default in namespace c")
    );
    assert_eq!(world.decide_at(&key, end).outcome, Outcome::Unschedulable);
    let later = report(&world, end);
    assert!(
        rejected(&later, "a")
            .ends_with("AddOnPlacementScore default in namespace a has expired at 2021-10-28T09:00:00Z"),
        "{later}"
    );
    let due = world.put(&scores("b", &score(7), &Value::Null));
    assert_eq!(
        due.decide,
        berth_dialect_contract::AffectedDemands::Some(vec![key.clone()])
    );
    assert_eq!(world.picked(&world.decide(&key)), ["a", "b"]);
    world.delete(&Key::new(crate::names::SCORES, "b", "default"));
    assert_eq!(world.picked(&world.decide(&key)), ["a"]);
    world.put(&selecting(&[
        "{'metadata': {'name': 'a'}}.scores('default').size() > 0",
    ]));
    assert!(world.picked(&world.decide(&key)).len() < 2);
}

#[test]
fn clusters_to_choose_from_come_first_and_others_are_one_count() {
    let mut world = columns(&["x", "y", "z"]);
    let taint = |key: &str| json!({"key": key, "effect": "NoSelect"});
    let put_taints = |world: &mut World, name: &str, keys: &[&str]| {
        let taints: Vec<Value> = keys.iter().map(|key| taint(key)).collect();
        world.edit(&Key::new(CLUSTERS, "", name), |value| {
            value["spec"]["taints"] = json!(taints)
        });
    };
    for name in ["a", "b"] {
        let mut other = cluster(name);
        other["metadata"]["labels"] = json!({"cluster.open-cluster-management.io/clusterset": "other"});
        world.put(&other);
        put_taints(&mut world, name, &["k"]);
    }
    put_taints(&mut world, "x", &["k"]);
    put_taints(&mut world, "y", &["k", "l"]);
    let predicates =
        json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}]);
    world.put(&wants("p", &json!({"predicates": predicates})));
    world.edit(&Key::new(CLUSTERS, "", "y"), |value| {
        value["metadata"]["labels"]["env"] = json!("prod")
    });
    let found = report(&world, now());
    let candidates = found["candidates"].as_array().unwrap();
    let order: Vec<&str> = candidates
        .iter()
        .map(|one| one["clusterName"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["y", "z", "x", "a", "b"]);
    let outside: Vec<bool> = candidates.iter().map(|one| one["outOfScope"] == true).collect();
    assert_eq!(outside, [false, false, false, true, true]);
    assert_eq!(
        rejected(&found, "y"),
        "the taints k:NoSelect, l:NoSelect are not tolerated"
    );
    let counts = reason_counts(&world.fleet, &world.decide(&placement("ns", "p")));
    let counts: Vec<(&str, i64)> = counts
        .iter()
        .map(|count| (&*count.reason, count.targets))
        .collect();
    assert_eq!(
        counts,
        [("NotInSet", 2), ("PredicateMismatch", 2), ("Untolerated", 2)]
    );
}

#[test]
fn a_tie_and_decision_groups_are_told() {
    let mut world = columns(&["a", "b", "c"]);
    let groups = json!({"groupStrategy": {"clustersPerDecisionGroup": 1}});
    world.put(&wants(
        "p",
        &json!({"numberOfClusters": 2, "decisionStrategy": groups}),
    ));
    let found = report(&world, now());
    assert_eq!(
        found["message"],
        "3 of 3 clusters in the bound sets feasible; picked a, b; decision groups 0 (1), 1 (1)"
    );
    assert_eq!(
        rejected(&found, "c"),
        "ranks 3 of 3, and 2 are selected; b has the same score, 100, and among equal scores the name decides"
    );
}

#[test]
fn a_refusal_by_many_predicates_describes_the_first_and_counts_the_rest() {
    let mut world = columns(&["a"]);
    let labels = |index: usize| json!({"labelSelector": {"matchLabels": {"number": format!("n{index}")}}});
    let predicates = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|index| json!({"requiredClusterSelector": labels(index)}))
            .collect()
    };
    for (count, end) in [
        (10, "; predicates[9] asks for labels number=n9"),
        (
            12,
            "; predicates[9] asks for labels number=n9; 2 more do not match",
        ),
    ] {
        world.put(&wants("p", &json!({"predicates": predicates(count)})));
        let told = rejected(&report(&world, now()), "a");
        assert!(told.ends_with(end), "{told}");
    }
}

#[test]
fn a_cluster_that_was_not_asked_for_is_told_which_ones_were() {
    let mut world = columns(&["a", "b", "c"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 2})));
    for (chosen, candidate, rank, expected) in [
        (vec!["b", "c"], 0, 1, "ranks 1 of 3, but b, c were asked for"),
        (vec!["a"], 1, 2, "ranks 2 of 3, but a was asked for"),
        (vec!["a", "b"], 2, 3, "ranks 3 of 3, and 2 are selected; b has"),
    ] {
        let names: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
        let decision = world.ask(&key, now(), Some(&names)).unwrap();
        let (token, told) = world.fleet.not_picked(&decision, candidate, Some(rank));
        assert_eq!(token, "LowerRank");
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn fields_without_effect_are_told() {
    let mut world = columns(&["a"]);
    world.put(&wants(
        "p",
        &json!({
            "spreadPolicy": {"spreadConstraints": [
                {"topologyKey": "zone", "topologyKeyType": "Label", "whenUnsatisfiable": "DoNotSchedule"},
            ]},
            "sortBy": "Score", "scoreRateLimit": "5m",
            "tolerations": [{"key": "k", "operator": "exists"}],
        }),
    ));
    assert_eq!(
        report(&world, now())["warnings"],
        json!([
            "spec.spreadPolicy has no effect, not even DoNotSchedule: OCM's scheduler does not read it",
            "spec.sortBy: Score has no effect: decisions are listed by the names of clusters",
            "spec.scoreRateLimit has no effect: decisions follow scores at once",
            "spec.tolerations[0] tolerates nothing: its operator is \"exists\", not Equal or Exists",
        ])
    );
    world.put(&wants(
        "p",
        &json!({"sortBy": "ClusterName", "scoreRateLimit": "1m"}),
    ));
    assert_eq!(report(&world, now())["warnings"], Value::Null);
}

#[test]
fn sets_that_do_not_exist_are_named() {
    let mut world = columns(&["a"]);
    world.put(&wants("p", &json!({"clusterSets": ["fleet", "more"]})));
    world.put(&binding("ns", "global"));
    let key = placement("ns", "p");
    assert_eq!(
        world.fleet.warnings(&world.decide(&key)),
        [
            "ManagedClusterSetBinding global has no effect: there is no ManagedClusterSet global",
            "spec.clusterSets names more, which is not bound to namespace ns",
        ]
    );
    world.delete(&Key::new(SETS, "", "fleet"));
    let (_, reason, message) = condition(&world, &key, "PlacementSatisfied");
    assert_eq!(reason, "NoManagedClusterSetBindings");
    assert!(
        message.ends_with(": there is no ManagedClusterSet fleet, global"),
        "{message}"
    );
    let found = report(&world, now());
    assert!(
        rejected(&found, "a").ends_with("names \"fleet\", and there is no such ManagedClusterSet"),
        "{found}"
    );
}
