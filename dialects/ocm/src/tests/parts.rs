//! A fleet in parts chooses the same clusters as the whole fleet.

use berth_dialect_contract::Ask;
use berth_scheduling::Random;
use serde_json::{Value, json};

use super::world::{cluster, columns, now, placement, wants};
use crate::parts::{self, Outline};

/// A random cluster: a tenth is tainted, some report no resources, and many have equal amounts.
fn random_cluster(number: u64, random: &mut Random) -> Value {
    let mut value = cluster(&format!("c{}", number * 7919 % 1000));
    value["metadata"]["labels"]["color"] = json!(["red", "blue", "green"][random.below(3) as usize]);
    if random.below(10) == 0 {
        value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
    }
    if random.below(5) > 0 {
        let (cpu, memory) = (1 + random.below(9), 1 + random.below(30));
        value["status"] = json!({
            "capacity": {"cpu": "64", "memory": "256Gi"},
            "allocatable": {"cpu": cpu.to_string(), "memory": format!("{memory}Gi")},
        });
    }
    value
}

fn random_placement(random: &mut Random) -> Value {
    let mut spec = json!({"prioritizerPolicy": {"configurations": [
        {"scoreCoordinate": {"builtIn": "ResourceAllocatableMemory"}, "weight": random.below(4)},
        {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": random.below(4)},
    ]}});
    if random.below(2) == 0 {
        spec["predicates"] =
            json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"color": "red"}}}}]);
    }
    if random.below(4) > 0 {
        spec["numberOfClusters"] = json!(random.below(12));
    }
    wants("p", &spec)
}

#[test]
fn parts_of_a_fleet_choose_together_what_the_whole_does() {
    let mut random = Random::new(11);
    for round in 0..200 {
        let count = 1 + random.below(60);
        let clusters: Vec<Value> = (0..count)
            .map(|number| random_cluster(number, &mut random))
            .collect();
        let mut rest = vec![random_placement(&mut random)];
        let chosen = clusters.iter().filter(|_| random.below(6) == 0);
        let listed: Vec<Value> = chosen
            .map(|cluster| json!({"clusterName": cluster["metadata"]["name"], "reason": ""}))
            .collect();
        // Some clusters are chosen already, by this placement or by another one.
        let owner = ["p", "other"][random.below(2) as usize];
        rest.push(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {"name": format!("{owner}-decision-1"), "namespace": "ns", "labels": {
                "cluster.open-cluster-management.io/placement": owner,
            }},
            "status": {"decisions": listed},
        }));
        let mut whole = columns(&[]);
        clusters
            .iter()
            .chain(&rest)
            .for_each(|object| drop(whole.put(object)));
        let count = 1 + random.below(4) as usize;
        let mut parts = vec![columns(&[]); count];
        for cluster in &clusters {
            let part = random.below(count as u64) as usize;
            parts[part].put(cluster);
        }
        for part in &mut parts {
            rest.iter().for_each(|object| drop(part.put(object)));
        }
        let demand = placement("ns", "p");
        let ask = Ask {
            demand: &demand,
            now: now(),
            seed: 0,
            chosen: None,
        };
        let expected = whole.picked(&whole.decide(&demand));
        let outlines = parts
            .iter()
            .map(|part| parts::outline(&part.fleet, &ask).unwrap());
        let outline = outlines.fold(Outline::NONE, Outline::merge);
        let best = parts
            .iter()
            .map(|part| parts::best(&part.fleet, &ask, &outline).unwrap());
        let wanted = whole.get(&demand)["spec"]["numberOfClusters"].as_u64();
        let merged = parts::merge(best, wanted.map(|wanted| usize::try_from(wanted).unwrap()));
        let merged: Vec<String> = merged.iter().map(|one| one.cluster.to_string()).collect();
        assert_eq!(merged, expected, "round {round}");
    }
}
