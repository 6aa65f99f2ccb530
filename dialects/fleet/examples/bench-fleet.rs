//! Time of one decision, by number of clusters: `cargo run --release -p berth-dialect-fleet --example
//! bench-fleet`.
//!
//! "PickN": 10 picks among the clusters that match a label term (half of all clusters), ranked by a label and
//! by a property, none bound yet. "spread": 100 picks under one DoNotSchedule constraint over 7 regions;
//! "racks": the same over half as many domains as clusters. "PickAll": nine tenths of the fleet, all of them
//! bound already. All views are warm. Each time is the median of many runs, and the fastest run; only "load"
//! is one run, which fills the inventory and decides once. "after a heartbeat" folds a heartbeat first, on a
//! fork, as the engine does. The second table adds bindings of other placements to 10,000 clusters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Ask, Decision, Inventory};
use berth_dialect_testing::bench::{added, editable};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLUSTERS: &str = "cluster.kubernetes-fleet.io";
const PLACEMENTS: &str = "placement.kubernetes-fleet.io";
const RUNS: usize = 51;

fn main() {
    println!(
        "{:>9}  {:>9}  {:>11}  {:>17}  {:>11}  {:>13}  {:>13}   (ms, median/fastest)",
        "clusters", "load", "PickN", "after a heartbeat", "spread", "racks", "PickAll"
    );
    for clusters in [1_000, 10_000, 50_000] {
        row(clusters);
    }
    println!(
        "\n{:>14}  {:>9}   (PickN, 10,000 clusters)",
        "other bindings", "PickN"
    );
    for others in [0, 10_000, 100_000] {
        let mut fleet = filled(10_000);
        for number in 0..others {
            put(
                editable(&mut fleet),
                &binding(
                    &format!("other-{}", number / 10),
                    number,
                    number * 7 % 10_000,
                    "x-0",
                ),
            );
        }
        println!("{others:>14}  {}", measure(&*fleet, "pick-n", 10));
    }
}

fn row(clusters: usize) {
    let start = Instant::now();
    let mut fleet = filled(clusters);
    decide(&*fleet, "pick-n");
    let load = start.elapsed();
    let pick_n = measure(&*fleet, "pick-n", 10);
    let times: Vec<Duration> = (0..RUNS)
        .map(|run| {
            let before = Arc::clone(&fleet);
            let start = Instant::now();
            let mut next = before.fork();
            put(editable(&mut next), &cluster(run % clusters, run + 1));
            decide(&*next, "pick-n");
            let elapsed = start.elapsed();
            fleet = next;
            elapsed
        })
        .collect();
    println!(
        "{clusters:>9}  {:>9.0}  {pick_n:>11}  {:>17}  {:>11}  {:>13}  {:>13}",
        load.as_secs_f64() * 1_000.0,
        median_and_fastest(times),
        measure(&*fleet, "spread", 100),
        measure(&*fleet, "racks", 100),
        measure(&*fleet, "pick-all", clusters - clusters / 10)
    );
}

fn decide(fleet: &dyn Inventory, name: &str) -> Decision {
    let demand = Key::new(
        GroupResource::new(PLACEMENTS, "clusterresourceplacements"),
        "",
        name,
    );
    let now: Timestamp = "2021-10-28T09:00:00Z".parse().expect("an instant");
    let ask = Ask {
        demand: &demand,
        now,
        seed: 0,
        chosen: None,
    };
    fleet
        .decide(&ask)
        .expect("the placement is there")
        .expect("nothing was chosen")
}

fn measure(fleet: &dyn Inventory, name: &str, picks: usize) -> String {
    let times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let decision = decide(fleet, name);
            let elapsed = start.elapsed();
            assert_eq!(decision.solved.picked.len(), picks);
            elapsed
        })
        .collect();
    median_and_fastest(times)
}

/// The median, and after a slash the fastest time, which other load on the machine hardly changes.
fn median_and_fastest(mut times: Vec<Duration>) -> String {
    times.sort();
    let millis = |duration: Duration| duration.as_secs_f64() * 1_000.0;
    format!("{:.2}/{:.2}", millis(times[RUNS / 2]), millis(times[0]))
}

fn put(fleet: &mut dyn Inventory, value: &Value) {
    let (group, plural) = match value["kind"].as_str().unwrap_or_default() {
        "MemberCluster" => (CLUSTERS, "memberclusters"),
        "ClusterResourcePlacement" => (PLACEMENTS, "clusterresourceplacements"),
        _ => (PLACEMENTS, "clusterresourcebindings"),
    };
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    drop(fleet.fold(&added(GroupResource::new(group, plural), "", name, value)));
}

fn cluster(index: usize, round: usize) -> Value {
    let joined = if index.is_multiple_of(10) { "False" } else { "True" };
    let mut value = json!({
        "apiVersion": format!("{CLUSTERS}/v1beta1"), "kind": "MemberCluster",
        "metadata": {"name": format!("cluster-{index:05}"), "labels": {
            "env": if index.is_multiple_of(2) { "dev" } else { "prod" }, "region": format!("r{}", index % 7),
            "rack": format!("k{}", index / 2), "tier": format!("t{}", index % 3),
        }},
        "status": {
            "properties": {"kubernetes-fleet.io/node-count": {"value": (index * 37 % 101).to_string()}},
            "resourceUsage": {"available": {"cpu": (index + round).to_string(), "memory": "64Gi"}},
            "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": format!("2021-10-28T08:59:{:02}Z", round % 60),
                "conditions": [{"type": "Joined", "status": joined}, {"type": "Healthy", "status": "True"}]}],
        },
    });
    if index.is_multiple_of(5) {
        value["spec"]["taints"] =
            json!([{"key": "gpu", "value": format!("g{}", index % 4), "effect": "NoSchedule"}]);
    }
    value
}

fn binding(placement: &str, number: usize, cluster: usize, snapshot: &str) -> Value {
    let cluster = format!("cluster-{cluster:05}");
    json!({
        "apiVersion": format!("{PLACEMENTS}/v1beta1"), "kind": "ClusterResourceBinding",
        "metadata": {"name": format!("{placement}-{number:06}"), "labels": {"kubernetes-fleet.io/parent-CRP": placement}},
        "spec": {"state": "Bound", "targetCluster": cluster, "schedulingPolicySnapshotName": snapshot,
            "clusterDecision": {"clusterName": cluster, "selected": true, "reason": "picked"}},
    })
}

fn filled(clusters: usize) -> Arc<dyn Inventory> {
    let mut fleet = berth_dialect_fleet::dialect().inventory();
    let fleet_mut = editable(&mut fleet);
    for index in 0..clusters {
        put(fleet_mut, &cluster(index, 0));
    }
    let tolerations = json!([{"key": "gpu", "operator": "Exists"}]);
    let mut placement = |name: &str, mut policy: Value| {
        policy["tolerations"] = tolerations.clone();
        put(
            fleet_mut,
            &json!({
                "apiVersion": format!("{PLACEMENTS}/v1beta1"), "kind": "ClusterResourcePlacement",
                "metadata": {"name": name, "uid": name, "generation": 1}, "spec": {"policy": policy},
            }),
        );
    };
    placement(
        "pick-n",
        json!({"placementType": "PickN", "numberOfClusters": 10, "affinity": {"clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [
                {"labelSelector": {"matchLabels": {"env": "prod"}}}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 20, "preference": {"labelSelector": {"matchLabels": {"tier": "t1"}}}},
                {"weight": 80, "preference": {"propertySorter": {
                    "name": "kubernetes-fleet.io/node-count", "sortOrder": "Ascending"}}},
            ],
        }}}),
    );
    for (name, key) in [("spread", "region"), ("racks", "rack")] {
        placement(
            name,
            json!({"placementType": "PickN", "numberOfClusters": 100, "topologySpreadConstraints": [
            {"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}),
        );
    }
    placement("pick-all", json!({"placementType": "PickAll"}));
    for index in (0..clusters).filter(|index| !index.is_multiple_of(10)) {
        put(
            editable(&mut fleet),
            &binding("pick-all", index, index, "pick-all-0"),
        );
    }
    fleet
}
