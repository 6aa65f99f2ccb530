//! PlacementDecisions belong to a placement, by their label.

use berth_dialect_contract::{Guards, ReservedDecision};
use serde_json::{Value, json};

use super::world::World;
use crate::names::{DECISIONS, PLACEMENTS};

fn decision_of(placement: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {
            "namespace": "team", "name": "d",
            "labels": {"cluster.open-cluster-management.io/placement": placement},
        },
    })
}

fn placement(annotations: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"namespace": "team", "name": "p", "annotations": annotations},
        "spec": {},
    })
}

#[test]
fn a_decision_is_reserved_by_its_label_whether_or_not_its_placement_is_there() {
    let mut world = World::default();
    let reserved = |world: &World, is_known| {
        let found = world.fleet.reserved(DECISIONS, &decision_of("p"));
        let demand = "Placement \"p\"".to_owned();
        assert_eq!(found, Some(ReservedDecision { demand, is_known }));
    };
    reserved(&world, false);
    world.put(&placement(&json!({})));
    reserved(&world, true);
    let unlabelled = json!({"metadata": {"namespace": "team", "name": "d"}});
    assert_eq!(world.fleet.reserved(DECISIONS, &unlabelled), None);
    assert_eq!(world.fleet.reserved(PLACEMENTS, &decision_of("p")), None);
}

#[test]
fn decisions_of_a_placement_that_the_scheduler_leaves_alone_are_anyones() {
    let mut world = World::default();
    let disabled = json!({"cluster.open-cluster-management.io/experimental-scheduling-disable": "true"});
    world.put(&placement(&disabled));
    assert_eq!(world.fleet.reserved(DECISIONS, &decision_of("p")), None);
}
