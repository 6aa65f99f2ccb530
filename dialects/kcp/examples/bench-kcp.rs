//! Time of one decision, by number of workload clusters: `cargo run --release -p berth-dialect-kcp --example
//! bench-kcp`.
//!
//! Twenty locations by region and tier; one cluster in ten is cordoned, one in ten has a stale heartbeat, one
//! in twenty belongs to no location. "place" decides a namespace without a place, "evict" a namespace that
//! must leave its cluster, and "keep" a namespace that stays. "heartbeat" folds one heartbeat after a fork,
//! as the engine does, and "load" folds the whole fleet once. All times except "load" are medians. The second
//! table has more and more other placed namespaces: the times of decisions must not grow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory};
use berth_dialect_kcp::names::{LOCATIONS, NAMESPACES, PLACEMENT, WORKLOAD_CLUSTERS};
use berth_dialect_testing::bench::{self, median};
use serde_json::{Value, json};

/// The allocator of the program `berth`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const NOW: i64 = 1_635_411_600;
const REGIONS: usize = 10;

fn main() {
    println!("one decision, median in microseconds, 1,000 other namespaces");
    println!("{:>9} {HEADING}", "clusters");
    for clusters in [1_000, 10_000, 50_000] {
        row(clusters, clusters, 1_000);
    }
    println!("\n10,000 clusters, beside other placed namespaces");
    println!("{:>9} {HEADING}", "others");
    for others in [0, 10_000, 100_000] {
        row(others, 10_000, others);
    }
}

const HEADING: &str = "     place      evict       keep  heartbeat     load (ms)";

fn row(label: usize, clusters: usize, others: usize) {
    let start = Instant::now();
    let mut inventory = fleet(clusters, others);
    let load = start.elapsed();
    let times = ["place", "evict", "keep"].map(|name| micros(decide(&*inventory, name)));
    let heartbeat = micros(beat_after_fork(&mut inventory, clusters));
    let [place, evict, keep] = times;
    let load = load.as_secs_f64() * 1e3;
    println!("{label:>9} {place:>10.1} {evict:>10.1} {keep:>10.1} {heartbeat:>10.1} {load:>13.1}");
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).expect("an instant of our time")
}

fn decide(inventory: &dyn Inventory, name: &str) -> Duration {
    let demand = Key::new(NAMESPACES, "", name);
    let mut seed = 0;
    median(|| {
        seed += 1;
        let ask = Ask {
            demand: &demand,
            now: instant(0),
            seed,
            chosen: None,
        };
        let decision = inventory
            .decide(&ask)
            .expect("the namespace is there")
            .expect("nothing was chosen");
        assert_eq!(decision.solved.picked.len(), 1);
    })
}

/// The median time of folding one heartbeat while a reader holds the previous snapshot.
fn beat_after_fork(inventory: &mut Arc<dyn Inventory>, clusters: usize) -> Duration {
    let mut turn = 0;
    median(|| {
        let mut next = inventory.fork();
        turn += 1;
        let (name, value) = cluster(turn * 7 % clusters, turn as i64 % 30);
        fold(&mut next, WORKLOAD_CLUSTERS, &name, &value);
        *inventory = next;
    })
}

fn fleet(clusters: usize, others: usize) -> Arc<dyn Inventory> {
    let mut inventory = berth_dialect_kcp::dialect().inventory();
    for number in 0..2 * REGIONS {
        let (region, tier) = (number % REGIONS, number / REGIONS);
        let name = format!("r{region}-t{tier}");
        fold(&mut inventory, LOCATIONS, &name, &location(&name, region, tier));
    }
    for number in 0..clusters {
        let (name, value) = cluster(number, -10);
        fold(&mut inventory, WORKLOAD_CLUSTERS, &name, &value);
    }
    // A cluster in location r1-t0 that evicts, and one that does not.
    let leaving = json!({"evictAfter": berth_apimachinery::time::rfc3339(instant(-60))});
    for (name, spec) in [("leaving", leaving), ("staying", json!({}))] {
        let value = json!({
            "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
            "metadata": {"name": name, "labels": {"region": "r1", "tier": "t0"}}, "spec": spec,
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        fold(&mut inventory, WORKLOAD_CLUSTERS, name, &value);
    }
    for number in 0..others {
        let entry = format!("root:compute+r1-t0+cluster-{:05}", number % clusters);
        let name = format!("other-{number:06}");
        fold(&mut inventory, NAMESPACES, &name, &namespace(&name, Some(&entry)));
    }
    for (name, entry) in [
        ("place", None),
        ("evict", Some("root:compute+r1-t0+leaving")),
        ("keep", Some("root:compute+r1-t0+staying")),
    ] {
        fold(&mut inventory, NAMESPACES, name, &namespace(name, entry));
    }
    inventory
}

fn fold(inventory: &mut Arc<dyn Inventory>, resource: GroupResource, name: &str, value: &Value) {
    bench::fold(inventory, resource, "", name, value);
}

fn location(name: &str, region: usize, tier: usize) -> Value {
    json!({
        "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location", "metadata": {"name": name},
        "spec": {
            "resource": {"group": "workloads.kcp.dev", "version": "v1alpha1", "resource": "workloadclusters"},
            "instanceSelector": {
                "matchLabels": {"region": format!("r{region}")},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": [format!("t{tier}")]}],
            },
        },
    })
}

fn cluster(number: usize, beat: i64) -> (String, Value) {
    let name = format!("cluster-{number:05}");
    let region = if number % 20 == 19 {
        REGIONS
    } else {
        number % REGIONS
    };
    let beat = if number % 10 == 3 { -3_600 } else { beat };
    let value = json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": name, "labels": {
            "region": format!("r{region}"), "tier": format!("t{}", number / REGIONS % 2),
            "cloud": format!("c{}", number % 4), "owner": format!("team-{}", number % 50),
        }},
        "spec": {"unschedulable": number % 10 == 7},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "lastSyncerHeartbeatTime": berth_apimachinery::time::rfc3339(instant(beat)),
        },
    });
    (name, value)
}

fn namespace(name: &str, entry: Option<&str>) -> Value {
    let mut value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if let Some(entry) = entry {
        let placement = json!({entry: "Bound"}).to_string();
        value["metadata"]["annotations"] = json!({PLACEMENT: placement});
    }
    value
}
