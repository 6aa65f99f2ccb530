//! Decisions of a system that another scheduler decides: whether Berth agrees.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_apimachinery::{GroupResource, Key};
use berth_engine::Mandate;
use berth_scheduling_rest::projection::DECISIONS;
use berth_storage::{At, Source};
use serde_json::{Value, json};

use super::{World, text};

const GROUP: &str = "cluster.open-cluster-management.io";
const CLUSTERS: GroupResource = GroupResource::new(GROUP, "managedclusters");

/// Whether systems are decided, switched by hand.
struct Switch(AtomicBool);

impl Mandate for Switch {
    fn decides(&self, _: &str) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn guards(&self, dialect: &str) -> bool {
        self.decides(dialect)
    }
}

fn observed() -> (World, Arc<Switch>) {
    let world = World::new(berth_dialect_registry::by_name("ocm").unwrap());
    let switch = Arc::new(Switch(AtomicBool::new(false)));
    world.engine.set_mandate(Arc::clone(&switch) as Arc<_>).unwrap();
    world.put(json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "all"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}));
    world.put(
        json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "all", "namespace": "team"}, "spec": {"clusterSet": "all"}}),
    );
    (world, switch)
}

fn cluster(world: &World, name: &str) -> Key {
    world.put(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": "all"}},
        "spec": {"hubAcceptsClient": true, "taints": []},
    }))
}

fn taint(world: &World, cluster: &Key) {
    world.edit(cluster, |value| {
        value["spec"]["taints"] =
            json!([{"key": "drain", "effect": "NoSelect", "timeAdded": "2021-10-28T08:00:00Z"}]);
    });
}

/// A Placement for one cluster, which another scheduler has decided to be `on`.
fn placement(world: &World, name: &str, on: &str) {
    world.put(
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": name, "namespace": "team"}, "spec": {"numberOfClusters": 1}}),
    );
    decide(world, name, on);
}

/// The PlacementDecision that another scheduler writes.
fn decide(world: &World, name: &str, on: &str) {
    world.put(
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
        "metadata": {"name": format!("{name}-decision-1"), "namespace": "team",
            "labels": {"cluster.open-cluster-management.io/placement": name,
                       "cluster.open-cluster-management.io/decision-group-index": "0"}},
        "status": {"decisions": [{"clusterName": on, "reason": ""}]}}),
    );
}

/// Status, reason and message of the condition Agrees; `None` where there is none.
fn agrees(decision: &Value) -> Option<(String, String, String)> {
    let conditions = decision["status"]["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == "Agrees")?;
    let of = |field: &str| text(condition, &format!("/{field}")).to_owned();
    Some((of("status"), of("reason"), of("message")))
}

/// Waits until the Decision about the Placement `name` has a condition of this status and reason, or none.
async fn becomes(world: &World, name: &str, expected: Option<(&str, &str)>) -> Arc<Value> {
    let name = format!("{name}.ocm");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let decision = world.decision("team", &name).await;
        let is = agrees(&decision);
        if is
            .as_ref()
            .map(|(status, reason, _)| (status.as_str(), reason.as_str()))
            == expected
        {
            return decision;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "{expected:?}, but {decision}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_another_scheduler_placed_says_whether_berth_agrees_and_what_it_would_change() {
    let (world, _) = observed();
    let bad = cluster(&world, "bad");
    cluster(&world, "good");
    taint(&world, &bad);
    placement(&world, "right", "good");
    placement(&world, "wrong", "bad");
    let right = becomes(&world, "right", Some(("True", "Same"))).await;
    assert_eq!(right["status"]["wouldChange"], Value::Null);
    let wrong = becomes(&world, "wrong", Some(("False", "Moved"))).await;
    let sentence = "Berth would leave bad (TaintToleration/Untolerated: the taint drain:NoSelect is not tolerated) and take \
                    good (rank 1, score -100)";
    assert_eq!(agrees(&wrong).unwrap().2, sentence);
    let change = &wrong["status"]["wouldChange"];
    assert_eq!(change["verdict"], "Moved");
    assert_eq!(change["message"], sentence);
    assert_eq!(
        (&change["lossCount"], &change["gainCount"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(change["losses"][0]["clusterName"], "bad");
    assert_eq!(change["gains"][0]["rank"], 1);
    assert_eq!(wrong["status"]["phase"], "Bound", "it says where it is");

    let kind = &world.resource("scheduling.berth.dev", "decisions").kind;
    let selector = kind
        .selectable()
        .iter()
        .find(|field| field.path == "status.agrees");
    assert_eq!(selector.unwrap().read(&wrong), "False");
    let shown = kind
        .columns()
        .iter()
        .position(|column| column.name == "Agrees")
        .unwrap();
    let object = world.get(DECISIONS, "team", "right.ocm").await.unwrap();
    assert_eq!(kind.row(&object)[shown], "True".into());
    let problems = kind.schema("v1alpha1").validate(&wrong);
    assert!(problems.is_empty(), "{problems:?}");
}

#[tokio::test]
async fn the_other_scheduler_has_time_before_they_differ() {
    let (world, _) = observed();
    let first = cluster(&world, "first");
    cluster(&world, "second");
    placement(&world, "p", "first");
    becomes(&world, "p", Some(("True", "Same"))).await;
    taint(&world, &first);
    let early = becomes(&world, "p", Some(("Unknown", "GracePeriod"))).await;
    assert_eq!(
        early["status"]["wouldChange"]["gains"][0]["clusterName"],
        "second"
    );
    world.step(29);
    becomes(&world, "p", Some(("Unknown", "GracePeriod"))).await;
    world.step(2);
    let late = becomes(&world, "p", Some(("False", "Moved"))).await;
    let since = text(&late, "/status/conditions/1/lastTransitionTime").to_owned();
    assert_eq!(since, "2021-10-28T09:00:31Z");
    decide(&world, "p", "second");
    becomes(&world, "p", Some(("True", "Same"))).await;
}

#[tokio::test]
async fn what_cannot_be_compared_says_why() {
    let (world, _) = observed();
    cluster(&world, "one");
    placement(&world, "typo", "one");
    world.put(
        json!({"apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "typo", "namespace": "team"},
        "spec": {"prioritizerPolicy": {"mode": "Most"}}}),
    );
    let typo = becomes(&world, "typo", Some(("Unknown", "Invalid"))).await;
    let message = agrees(&typo).unwrap().2;
    assert!(
        message.starts_with("the request cannot be understood: "),
        "{message}"
    );
    assert!(
        message.contains("a known difference: OCM empties the decisions of a misconfigured Placement"),
        "{message}"
    );
    assert_eq!(typo["status"]["wouldChange"], Value::Null);
}

#[tokio::test]
async fn on_half_of_the_objects_nothing_is_compared() {
    let (world, _) = observed();
    world
        .engine
        .hold("ocm", Some("managedclusters are copied".to_owned()));
    placement(&world, "p", "one");
    becomes(&world, "p", Some(("Unknown", "NotCompared"))).await;
    cluster(&world, "one");
    becomes(&world, "p", Some(("Unknown", "NotCompared"))).await;
    world.engine.hold("ocm", None);
    becomes(&world, "p", Some(("True", "Same"))).await;
}

#[tokio::test]
async fn only_what_is_observed_says_it_and_a_switch_of_the_mode_is_noticed() {
    let (world, switch) = observed();
    switch.0.store(true, Ordering::SeqCst);
    cluster(&world, "one");
    placement(&world, "p", "one");
    becomes(&world, "p", None).await;
    for (decides, expected) in [(false, Some(("True", "Same"))), (true, None)] {
        switch.0.store(decides, Ordering::SeqCst);
        world.api.projection().look_at_the_clock();
        becomes(&world, "p", expected).await;
    }
}

/// Number of Decisions with each reason of the condition Agrees.
async fn reasons(world: &World) -> BTreeMap<String, usize> {
    let list = world.api.projection().list(DECISIONS, At::Latest).await.unwrap();
    let mut counts = BTreeMap::new();
    for (_, object) in list.iter(None, None) {
        let (_, reason, _) = agrees(object.value()).unwrap();
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

/// Number of Decisions that are counted with each status of the condition.
fn counted(world: &World) -> Vec<(&'static str, &'static str, isize)> {
    let tallies = world.api.projection().tallies();
    let there = tallies.iter().filter(|(.., count)| *count > 0);
    there
        .map(|(_, tally, count)| (tally.phase, tally.agrees, count))
        .collect()
}

#[tokio::test]
async fn of_very_many_that_are_due_at_once_all_are_compared_and_counted_while_reads_are_answered() {
    let (world, _) = observed();
    let first = cluster(&world, "c000");
    for number in 1..400 {
        cluster(&world, &format!("c{number:03}"));
    }
    for number in 0..300 {
        placement(&world, &format!("p{number:03}"), "c000");
    }
    // Balance has most of them go elsewhere.
    taint(&world, &first);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let reasons = reasons(&world).await;
        if reasons
            .keys()
            .all(|reason| ["Moved", "GracePeriod"].contains(&reason.as_str()))
        {
            assert_eq!(reasons.values().sum::<usize>(), 300);
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{reasons:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.step(60);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while counted(&world) != [("Bound", "False", 300)] {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", counted(&world));
        reasons(&world).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.remove(&Key::new(GroupResource::new(GROUP, "placements"), "team", "p000"));
    reasons(&world).await;
    assert_eq!(counted(&world), [("Bound", "False", 299)]);
}

#[tokio::test]
async fn a_binding_of_what_is_observed_is_refused_and_says_how_to_take_over() {
    let (world, _) = observed();
    cluster(&world, "one");
    placement(&world, "p", "one");
    let call = world.call("team", "p.ocm");
    let refused = world.bind(&call, &[]).await.unwrap_err();
    assert_eq!(refused.code, 403);
    for word in [
        "Berth observes ocm",
        "spec.mode: Decide",
        "stop the other scheduler",
    ] {
        assert!(refused.message.contains(word), "{}", refused.message);
    }
    assert!(world.stored(&Key::new(CLUSTERS, "", "one")).is_some());
}
