//! OCM's Placements: the best N, into objects of their own.

use berth_apimachinery::{GroupResource, Key};
use berth_apiserver::Query;
use berth_storage::{Scope, Source};
use serde_json::{Value, json};

use super::{World, next, text};
use berth_scheduling_rest::projection::DECISIONS;

const FLEET: &str = include_str!("../../../../examples/ocm/fleet.yaml");
const STORY_1: &str = include_str!("../../../../examples/ocm/story-1.yaml");
pub(super) const GROUP: &str = "cluster.open-cluster-management.io";
pub(super) const PLACEMENTS: GroupResource = GroupResource::new(GROUP, "placements");
const PLACEMENT_DECISIONS: GroupResource = GroupResource::new(GROUP, "placementdecisions");
const CLUSTERS: GroupResource = GroupResource::new(GROUP, "managedclusters");

pub(super) fn world() -> World {
    let world = World::new(berth_dialect_registry::by_name("ocm").unwrap());
    world.load(FLEET);
    world.load(STORY_1);
    world
}

fn names(decision: &Value) -> Vec<&str> {
    let list = decision["status"]["decisions"].as_array().unwrap();
    list.iter()
        .map(|item| item["clusterName"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_placement_is_bound_into_placement_decisions_and_stays() {
    let world = world();
    let pending = world.get(DECISIONS, "story-1", "placement.ocm").await.unwrap();
    assert_eq!(text(pending.value(), "/status/phase"), "Pending");
    assert_eq!(pending.value()["status"]["wanted"], 3);
    let mut watch = world
        .api
        .projection()
        .watch(Scope::One(DECISIONS), pending.revision())
        .unwrap();

    let call = world.call("story-1", "placement.ocm");
    let bound = world.bind(&call, &[]).await.unwrap();
    assert_eq!(text(&bound, "/status/outcome"), "Scheduled");
    let stored = world.store.cached(PLACEMENT_DECISIONS);
    assert_eq!(stored.items.len(), 1);

    let mut event = next(&mut watch, "placement.ocm").await;
    while text(event.change.new.as_ref().unwrap().value(), "/status/phase") != "Bound" {
        event = next(&mut watch, "placement.ocm").await;
    }
    let decision = event.change.new.as_ref().unwrap();
    assert_eq!(names(decision.value()).len(), 3);

    let revision = world.store.revision();
    let report = world.scheduling("story-1", "placement.ocm").await;
    assert_eq!(text(&report, "/status/outcome"), "Unchanged");
    assert_eq!(report["status"]["writes"], json!([]));
    assert_eq!(report["status"]["current"].as_array().unwrap().len(), 3);
    let again = world.bind(&call, &[]).await.unwrap();
    assert_eq!(text(&again, "/status/outcome"), "Unchanged");
    assert_eq!(world.store.revision(), revision);
}

#[tokio::test]
async fn chosen_clusters_are_bound_and_too_many_are_refused() {
    let world = world();
    let call = world.call("story-1", "placement.ocm");
    let all: Vec<String> = (1..=5).map(|number| format!("cluster{number}.ocm")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(world.bind(&call, &all).await.unwrap_err().code, 422);
    let status = world
        .bind(&call, &["cluster1.ocm", "nowhere.ocm"])
        .await
        .unwrap_err();
    assert_eq!(status.details.unwrap().causes[0].field, "spec.targets[1]");
    world
        .bind(&call, &["cluster1", "cluster2.ocm", "cluster4.ocm"])
        .await
        .unwrap();
    let decision = world.decision("story-1", "placement.ocm").await;
    assert_eq!(names(&decision), ["cluster1", "cluster2", "cluster4"]);
}

#[tokio::test]
async fn time_alone_makes_a_placement_unschedulable() {
    let world = world();
    for number in 1..=5 {
        world.edit(&Key::new(CLUSTERS, "", &format!("cluster{number}")), |cluster| {
            cluster["spec"]["taints"] =
                json!([{"key": "gone", "effect": "NoSelect", "timeAdded": "2021-10-28T09:00:00Z"}]);
        });
    }
    world.edit(&Key::new(PLACEMENTS, "story-1", "placement"), |placement| {
        placement["spec"]["tolerations"] =
            json!([{"key": "gone", "operator": "Exists", "tolerationSeconds": 60}]);
    });
    let before = world.get(DECISIONS, "story-1", "placement.ocm").await.unwrap();
    assert_eq!(text(before.value(), "/status/phase"), "Pending");
    let mut watch = world
        .api
        .projection()
        .watch(Scope::One(DECISIONS), before.revision())
        .unwrap();
    world.step(61);
    let event = next(&mut watch, "placement.ocm").await;
    let after = event.change.new.as_ref().unwrap().value();
    assert_eq!(text(after, "/status/phase"), "Unschedulable");
    assert_eq!(after["status"]["rejections"][0]["reason"], "Untolerated");
}

#[tokio::test]
async fn a_placement_that_goes_takes_its_decision_with_it() {
    let world = world();
    assert!(world.get(DECISIONS, "story-1", "placement.ocm").await.is_some());
    world.remove(&Key::new(PLACEMENTS, "story-1", "placement"));
    assert!(world.get(DECISIONS, "story-1", "placement.ocm").await.is_none());
}

#[tokio::test]
async fn a_placement_that_is_left_alone_says_why() {
    let world = world();
    let key = Key::new(PLACEMENTS, "story-1", "placement");
    let disable = "cluster.open-cluster-management.io/experimental-scheduling-disable";
    world.edit(&key, |placement| {
        placement["metadata"]["annotations"] = json!({disable: "true"});
    });
    let decision = world.decision("story-1", "placement.ocm").await;
    assert_eq!(text(&decision, "/status/phase"), "Ignored");
    assert_eq!(text(&decision, "/status/reason"), "SchedulingDisabled");
    let report = world.scheduling("story-1", "placement.ocm").await;
    assert_eq!(
        text(&decision, "/status/message"),
        text(&report, "/status/message")
    );
    assert_ne!(text(&decision, "/status/message"), "");
}

#[tokio::test]
async fn a_report_may_be_asked_for_without_its_reasons_and_for_the_first_candidates() {
    let world = world();
    world.edit(&Key::new(CLUSTERS, "", "cluster5"), |cluster| {
        cluster["spec"]["taints"] = json!([{"key": "gone", "effect": "NoSelect"}]);
    });
    let ask = async |query: &str| {
        let mut call = world.call("story-1", "placement.ocm");
        call.query = Query::parse(query);
        let reply = world
            .sub(DECISIONS, "scheduling", &call, "get", Value::Null)
            .await;
        reply.map(super::value)
    };
    let whole = ask("").await.unwrap();
    let of = |report: &Value| report["status"]["candidates"].as_array().unwrap().clone();
    assert_eq!(of(&whole).len(), 5);
    assert_eq!(whole, ask("reasons=all&limit=0").await.unwrap());
    assert_eq!(of(&whole)[4]["rejections"][0]["reason"], "Untolerated");
    for field in ["remainingCandidates", "reasonCounts"] {
        assert!(whole["status"].get(field).is_none(), "{field}");
    }

    let first = ask("limit=2").await.unwrap();
    assert_eq!(of(&first), of(&whole)[..2]);
    assert_eq!(first["status"]["remainingCandidates"], 3);
    assert_eq!(first["status"]["picked"], whole["status"]["picked"]);

    let counted = ask("reasons=counts").await.unwrap();
    assert!(
        of(&counted)
            .iter()
            .all(|candidate| candidate["rejections"] == json!([]))
    );
    let count = &counted["status"]["reasonCounts"][0];
    assert_eq!(
        (&count["plugin"], &count["reason"], &count["targets"]),
        (&json!("TaintToleration"), &json!("Untolerated"), &json!(1))
    );
    assert!(text(count, "/message").contains("is not tolerated"), "{count}");
    let bare = ask("reasons=none").await.unwrap();
    assert_eq!(
        (of(&bare), bare["status"].get("reasonCounts")),
        (of(&counted), None)
    );
    for (query, word) in [
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("reasons=some", "none, counts, all"),
    ] {
        let status = ask(query).await.unwrap_err();
        assert_eq!(status.code, 400, "{query}");
        assert!(status.message.contains(word), "{query}: {}", status.message);
    }
}

#[tokio::test]
async fn owned_placements_carry_the_same_subresources() {
    let world = world();
    let call = world.call("story-1", "placement");
    let report = super::value(
        world
            .sub(PLACEMENTS, "scheduling", &call, "get", Value::Null)
            .await
            .unwrap(),
    );
    assert_eq!(report["metadata"]["name"], "placement.ocm");
    assert_eq!(text(&report, "/spec/sourceRef/kind"), "Placement");
    assert_eq!(report["status"]["candidates"].as_array().unwrap().len(), 5);
    let bound = world
        .sub(PLACEMENTS, "binding", &call, "create", json!({"spec": {}}))
        .await
        .unwrap();
    assert_eq!(
        super::value(bound)["status"]["decisions"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}
