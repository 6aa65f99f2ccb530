//! Time of one decision, by number of clusters: `cargo run --release -p berth-dialect-ocm --example
//! bench-ocm`.
//!
//! The placement requests 10 of the clusters that match a label predicate (half of all clusters), ranked by
//! Balance, Steady and one AddOn score. There are 1,000 other PlacementDecisions of 10 clusters each. "load"
//! folds all objects, and "cold" is the first decision after the load; both are measured once. "warm" is a
//! decision without a change before it. "all kept" decides a placement that has selected every cluster and
//! keeps them. "after a …" first folds a changed score, a changed label, or an added or deleted cluster on a
//! fork, as the engine does, and then decides. A second table has more and more other PlacementDecisions
//! beside 10,000 clusters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory};
use berth_dialect_testing::bench::{added, editable, middle, millis};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GROUP: &str = "cluster.open-cluster-management.io";
const OTHERS: usize = 1_000;
const RUNS: usize = 200;

fn main() {
    println!("one decision, {OTHERS} other PlacementDecisions, medians");
    println!(
        "{:>9}  {:>11}  {:>11}  {:>11}  {:>11}  {:>13}  {:>13}  {:>15}",
        "clusters", "load", "cold", "warm", "all kept", "after a score", "after a label", "after a cluster"
    );
    for clusters in [100, 1_000, 5_000, 10_000, 50_000] {
        row(clusters);
    }
    println!("\none decision, 10000 clusters, median");
    println!("{:>9}  {:>11}", "others", "warm");
    for others in [0, 1_000, 10_000, 50_000] {
        let mut fleet = berth_dialect_ocm::dialect().inventory();
        fill(editable(&mut fleet), 10_000, others);
        decide(&*fleet, "p", 10);
        let warm = median(RUNS, || decide(&*fleet, "p", 10));
        println!("{others:>9}  {:>8.3} ms", millis(warm));
    }
}

/// The time of deciding the placement `name`, which requests `wanted` clusters.
fn decide(fleet: &dyn Inventory, name: &str, wanted: usize) -> Duration {
    let demand = Key::new(GroupResource::new(GROUP, "placements"), "ns", name);
    let now: Timestamp = "2021-10-28T09:00:00Z".parse().expect("an instant");
    let begun = Instant::now();
    let ask = Ask {
        demand: &demand,
        now,
        seed: 0,
        chosen: None,
    };
    let decision = fleet
        .decide(&ask)
        .expect("the placement is there")
        .expect("nothing was chosen");
    let elapsed = begun.elapsed();
    assert_eq!(decision.solved.picked.len(), wanted);
    elapsed
}

fn row(clusters: usize) {
    let begun = Instant::now();
    let mut fleet = berth_dialect_ocm::dialect().inventory();
    fill(editable(&mut fleet), clusters, OTHERS);
    let load = begun.elapsed();
    let decide = |fleet: &dyn Inventory| decide(fleet, "p", 10);
    let cold = decide(&*fleet);
    let runs = RUNS;
    let warm = median(runs, || decide(&*fleet));
    let kept = median(20, || self::decide(&*fleet, "all", clusters));
    let mut changing = |make: &dyn Fn(usize) -> (Value, bool)| -> Vec<Duration> {
        (0..runs)
            .map(|run| {
                let before = Arc::clone(&fleet);
                let (value, is_present) = make(run);
                let begun = Instant::now();
                let mut next = before.fork();
                fold(editable(&mut next), &value, is_present);
                decide(&*next);
                let elapsed = begun.elapsed();
                fleet = next;
                elapsed
            })
            .collect()
    };
    let score = middle(changing(&|run| (score(run % clusters, run), true)));
    let label = middle(changing(&|run| (cluster(run % clusters, run + 1), true)));
    // Every second run removes the object that the previous run added between the others.
    let add_or_remove = |run: usize| {
        let mut value = cluster(run / 2 * 7 % clusters, 0);
        let name = format!("{}-new", value["metadata"]["name"].as_str().unwrap_or_default());
        value["metadata"]["name"] = name.into();
        (value, run.is_multiple_of(2))
    };
    let added_or_removed = middle(changing(&add_or_remove));
    println!(
        "{clusters:>9}  {:>8.2} ms  {:>8.3} ms  {:>8.3} ms  {:>8.3} ms  {:>10.3} ms  {:>10.3} ms  {:>12.3} ms",
        millis(load),
        millis(cold),
        millis(warm),
        millis(kept),
        millis(score),
        millis(label),
        millis(added_or_removed)
    );
}

fn median(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    middle((0..runs).map(|_| run()).collect())
}

fn put(fleet: &mut dyn Inventory, value: &Value) {
    fold(fleet, value, true);
}

/// Folds the creation or the deletion of `value`.
fn fold(fleet: &mut dyn Inventory, value: &Value, is_present: bool) {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let plural: &'static str = match text("/kind") {
        "ManagedCluster" => "managedclusters",
        "ManagedClusterSet" => "managedclustersets",
        "ManagedClusterSetBinding" => "managedclustersetbindings",
        "Placement" => "placements",
        "PlacementDecision" => "placementdecisions",
        _ => "addonplacementscores",
    };
    let resource = GroupResource::new(GROUP, plural);
    let mut change = added(
        resource,
        text("/metadata/namespace"),
        text("/metadata/name"),
        value,
    );
    if !is_present {
        change.old = change.new.take();
    }
    drop(fleet.fold(&change));
}

fn cluster(index: usize, round: usize) -> Value {
    let env = if index.is_multiple_of(2) { "prod" } else { "dev" };
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": format!("cluster-{index:05}"), "labels": {
            format!("{GROUP}/clusterset"): "fleet", "env": env, "region": format!("r{}", index % 7),
            "round": round.to_string(),
        }},
        "status": {
            "allocatable": {"cpu": (index % 64 + 1).to_string(), "memory": "64Gi"},
            "capacity": {"cpu": "64", "memory": "64Gi"},
        },
    })
}

fn score(index: usize, round: usize) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnPlacementScore",
        "metadata": {"name": "default", "namespace": format!("cluster-{index:05}")},
        "status": {"validUntil": "2021-10-29T18:31:39Z", "scores": [
            {"name": "cpuratio", "value": (index * 37 + round) % 201},
        ]},
    })
}

fn fill(fleet: &mut dyn Inventory, clusters: usize, others: usize) {
    put(
        fleet,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "fleet"},
        }),
    );
    put(
        fleet,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "fleet", "namespace": "ns"}, "spec": {"clusterSet": "fleet"},
        }),
    );
    for index in 0..clusters {
        put(fleet, &cluster(index, 0));
        put(fleet, &score(index, 0));
    }
    for other in 0..others {
        let listed: Vec<Value> = (0..10)
            .map(|place| json!({"clusterName": format!("cluster-{:05}", (other * 10 + place * 3) % clusters), "reason": ""}))
            .collect();
        put(
            fleet,
            &json!({
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
                "metadata": {"name": format!("other-{other}"), "namespace": "others"}, "status": {"decisions": listed},
            }),
        );
    }
    put(
        fleet,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement", "metadata": {"name": "p", "namespace": "ns"},
            "spec": {
                "numberOfClusters": 10,
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": "prod"}}}}],
                "prioritizerPolicy": {"configurations": [
                    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "cpuratio"}}},
                ]},
            },
        }),
    );
    let names: Vec<String> = (0..clusters).map(|index| format!("cluster-{index:05}")).collect();
    for (number, chunk) in (1..).zip(names.chunks(100)) {
        let listed: Vec<Value> = chunk
            .iter()
            .map(|name| json!({"clusterName": name, "reason": ""}))
            .collect();
        put(
            fleet,
            &json!({
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
                "metadata": {"name": format!("all-decision-{number}"), "namespace": "ns", "labels": {
                    format!("{GROUP}/placement"): "all", format!("{GROUP}/decision-group-index"): "0",
                    format!("{GROUP}/decision-group-name"): "",
                }},
                "status": {"decisions": listed},
            }),
        );
    }
    put(
        fleet,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement", "metadata": {"name": "all", "namespace": "ns"},
        }),
    );
}
