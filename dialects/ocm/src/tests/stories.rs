//! The seed's user stories, on its own YAML.

use berth_apimachinery::Key;
use berth_dialect_contract::{Inventory, Outcome};
use serde_json::json;

use super::world::{World, now, placement};
use crate::names::CLUSTERS;

const FLEET: &str = include_str!("../../../../examples/ocm/fleet.yaml");

#[test]
fn story_1_data_pushed_from_each_cluster_ranks_them() {
    let mut world = World::load(&[FLEET, include_str!("../../../../examples/ocm/story-1.yaml")]);
    let key = placement("story-1", "placement");
    let decision = world.settle(&key);
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Scheduled, "Picked")
    );
    assert_eq!(world.picked(&decision), ["cluster3", "cluster1", "cluster2"]);
    let report = serde_json::to_value(world.report(&decision)).unwrap();
    assert_eq!(
        report["picked"][0],
        json!({
            "clusterName": "cluster3", "target": "cluster3.ocm", "rank": 1, "score": 93, "reason": "Picked",
            "scores": [
                {"plugin": "Steady", "value": 0, "weight": 3, "weighted": 0},
                {"plugin": "AddOn/default/cpuratio", "value": 93, "weight": 1, "weighted": 93},
            ],
        })
    );
    assert_eq!(
        report["candidates"][4]["rejections"],
        json!([{
            "plugin": "TaintToleration", "reason": "Untolerated",
            "message": "the taint example.com/maintenance=true:NoSelect is not tolerated",
        }])
    );
    assert_eq!(report["candidates"][3]["rejections"][0]["reason"], "LowerRank");
    assert_eq!(
        report["message"],
        "4 of 5 clusters in the bound sets feasible; picked cluster3, cluster1, cluster2"
    );
    // Steady keeps the selection although the order of the scores changes.
    world.edit(&Key::new(crate::names::SCORES, "cluster4", "default"), |value| {
        value["status"]["scores"] = json!([{"name": "cpuratio", "value": 99}]);
    });
    let again = world.decide(&key);
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert_eq!(again.reason, "Kept");
    assert_eq!(world.picked(&again), ["cluster3", "cluster1", "cluster2"]);
}

#[test]
fn story_3_a_tainted_primary_gives_way_to_the_backup_and_comes_back() {
    let mut world = World::load(&[include_str!("../../../../examples/ocm/story-3.yaml")]);
    let key = placement("story-3", "placement");
    world.settle(&key);
    assert_eq!(world.bound(&key), ["primary"]);
    let primary = Key::new(CLUSTERS, "", "primary");
    let due = world.edit(&primary, |value| {
        value["spec"]["taints"] =
            json!([{"key": "cluster.open-cluster-management.io/unavailable", "effect": "NoSelect"}]);
    });
    assert_eq!(
        due.decide,
        berth_dialect_contract::AffectedDemands::Some(vec![key.clone()])
    );
    let decision = world.settle(&key);
    assert_eq!(world.bound(&key), ["backup"]);
    let report = serde_json::to_value(world.report(&decision)).unwrap();
    assert_eq!(
        report["changes"],
        json!([{"action": "Bind", "clusterName": "backup"}, {"action": "Unbind", "clusterName": "primary"}])
    );
    world.edit(&primary, |value| value["spec"]["taints"] = json!([]));
    world.settle(&key);
    assert_eq!(world.bound(&key), ["primary"]);
}

#[test]
fn a_whole_story_writes_what_open_cluster_management_writes() {
    let mut world = World::load(&[FLEET, include_str!("../../../../examples/ocm/story-1.yaml")]);
    let key = placement("story-1", "placement");
    let decision = world.decide(&key);
    let verbs: Vec<(&str, &str, String)> = world
        .fleet
        .writes(&decision)
        .iter()
        .map(|write| (write.verb.as_str(), write.subresource, write.key.name.to_string()))
        .collect();
    assert_eq!(
        verbs,
        [
            ("create", "", "placement-decision-1".to_owned()),
            ("update", "status", "placement-decision-1".to_owned()),
            ("update", "status", "placement".to_owned()),
        ]
    );
    world.settle(&key);
    let stored = world.get(&Key::new(
        crate::names::DECISIONS,
        "story-1",
        "placement-decision-1",
    ));
    assert_eq!(
        stored["metadata"]["labels"],
        json!({
            "cluster.open-cluster-management.io/placement": "placement",
            "cluster.open-cluster-management.io/decision-group-index": "0",
            "cluster.open-cluster-management.io/decision-group-name": "",
        })
    );
    assert_eq!(
        stored["metadata"]["ownerReferences"][0],
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "placement",
            "uid": format!("uid-{key}"), "controller": true, "blockOwnerDeletion": true,
        })
    );
    assert_eq!(
        stored["status"]["decisions"],
        json!([
            {"clusterName": "cluster1", "reason": ""},
            {"clusterName": "cluster2", "reason": ""},
            {"clusterName": "cluster3", "reason": ""},
        ])
    );
    let status = &world.get(&key)["status"];
    assert_eq!(status["numberOfSelectedClusters"], 3);
    assert_eq!(
        status["decisionGroups"],
        json!([{
            "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["placement-decision-1"], "clusterCount": 3,
        }])
    );
    assert_eq!(
        status["conditions"][0],
        json!({
            "type": "PlacementMisconfigured", "status": "False", "reason": "Succeedconfigured",
            "message": "the placement is understood", "lastTransitionTime": berth_apimachinery::time::rfc3339(now()),
        })
    );
    assert_eq!(status["conditions"][1]["reason"], "AllDecisionsScheduled");
    let again = world.decide(&key);
    assert_eq!(again.outcome, Outcome::Unchanged);
    assert!(world.fleet.writes(&again).is_empty());
}
