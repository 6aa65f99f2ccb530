//! Kept outcomes of the filters: decisions are those on a new hub with the same objects.

use berth_apimachinery::Key;
use berth_scheduling::Random;
use serde_json::{Value, json};

use super::world::{World, cluster, columns, placement, wants};
use crate::names::{CLUSTERS, SETS};

/// Placements with equal specs, in pairs: the outcome of the one is kept for the other.
fn world() -> World {
    let names: Vec<String> = (0..12).map(|number| format!("c{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = columns(&names);
    let selects = json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "1"}}}}]);
    let steady = json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 60}]);
    for (pair, spec) in [
        json!({"numberOfClusters": 2}),
        json!({"numberOfClusters": 2, "predicates": selects}),
        json!({"tolerations": steady, "prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}}]}}),
        json!({"numberOfClusters": 1, "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": [
            "managedCluster.metadata.labels['env'] == '0'"]}}}]}),
    ]
    .iter()
    .enumerate()
    {
        for twin in ["one", "two"] {
            world.put(&wants(&format!("p{pair}-{twin}"), spec));
        }
    }
    world
}

/// One change of a random cluster.
fn change(random: &mut Random, value: &mut Value) {
    let choice = random.below(3).to_string();
    match random.below(6) {
        0 => value["metadata"]["labels"]["env"] = choice.into(),
        1 => {
            value["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] = match &*choice {
                "0" => "other".into(),
                _ => "fleet".into(),
            }
        }
        2 => {
            let effect = ["NoSelect", "NoSelectIfNew", "PreferNoSelect"][random.below(3) as usize];
            value["spec"]["taints"] =
                json!([{"key": "k", "effect": effect, "timeAdded": "2021-10-28T08:59:30Z"}]);
        }
        3 => value["spec"]["taints"] = json!([]),
        4 => {
            let amounts = json!({"cpu": (random.below(40) + 1).to_string()});
            value["status"] = json!({"allocatable": amounts, "capacity": {"cpu": "64"}});
        }
        _ => value["status"]["conditions"] = json!([]),
    }
}

#[test]
fn what_is_kept_is_what_a_new_hub_decides() {
    let (mut world, mut random) = (world(), Random::new(7));
    let demands: Vec<Key> = (0..4)
        .flat_map(|pair| ["one", "two"].map(|twin| placement("ns", &format!("p{pair}-{twin}"))))
        .collect();
    for round in 0..300 {
        let number = random.below(12);
        let key = Key::new(CLUSTERS, "", &format!("c{number:02}"));
        match random.below(12) {
            0 => drop(world.put(&cluster(&key.name))),
            1 => drop(world.edit(&Key::new(SETS, "", "fleet"), |value| {
                value["spec"]["clusterSelector"] = match round % 2 {
                    0 => json!({"selectorType": "LabelSelector", "labelSelector": {}}),
                    _ => json!({"selectorType": "ExclusiveClusterSetLabel"}),
                };
            })),
            _ => drop(world.edit(&key, |value| change(&mut random, value))),
        }
        let afresh = world.afresh();
        for demand in &demands {
            let (kept, new) = (world.decide(demand), afresh.decide(demand));
            assert_eq!(kept.solved, new.solved, "round {round}: {demand}");
            assert_eq!(
                (kept.due_at, kept.outcome),
                (new.due_at, new.outcome),
                "round {round}: {demand}"
            );
        }
        let chosen = &demands[random.below(8) as usize];
        world.settle(chosen);
    }
}
