//! Time of one decision, by number of Clusters: `cargo run --release -p berth-dialect-openmcp --example
//! bench-openmcp`.
//!
//! Five of eight Clusters have the purpose `workload`, one `mcp`, one `platform` and one `onboarding`. They
//! are in up to 200 namespaces, with three labels each; one in ten is Exclusive, one in twenty is being
//! deleted, and two requests use each. Times are medians; "fold" is the time of a fork and of folding one
//! changed Cluster.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory, config};
use berth_dialect_openmcp::names::{API_VERSION, CLUSTERS, REQUESTS};
use berth_dialect_testing::bench::{fold, median};
use serde_json::{Value, json};

/// The allocator of the program `berth`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [u32; 6] = [100, 1_000, 5_000, 10_000, 20_000, 50_000];
const STRATEGIES: [&str; 3] = ["Balanced", "Random", "Simple"];
const PURPOSES: [&str; 4] = ["workload", "mcp", "platform", "onboarding"];

fn main() {
    println!("one decision, median in microseconds");
    println!(
        "{:>9} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "clusters", "Balanced", "Random", "Simple", "Exclusive", "fold"
    );
    for count in SIZES {
        let mut inventory = fleet(count);
        let mut cells = Vec::new();
        for strategy in STRATEGIES {
            let settings = configuration(strategy);
            fold(&mut inventory, config::RESOURCE, "", "openmcp", &settings);
            cells.push(decide(&*inventory, "wanted"));
        }
        cells.push(decide(&*inventory, "alone"));
        cells.push(fold_after_fork(&mut inventory));
        let cells = cells
            .iter()
            .map(|time| format!(" {:>10.1}", time.as_secs_f64() * 1e6));
        println!("{count:>9}{}", cells.collect::<String>());
    }
    println!("\none decision (Balanced) over 10,000 clusters, by number of other granted requests");
    let mut inventory = fleet(10_000);
    fold(
        &mut inventory,
        config::RESOURCE,
        "",
        "openmcp",
        &configuration("Balanced"),
    );
    let mut placed = 0;
    for others in [0, 1_000, 10_000, 50_000] {
        for number in placed..others {
            let name = format!("other-{number:05}");
            fold(&mut inventory, REQUESTS, "bench", &name, &granted(number, &name));
        }
        placed = others;
        let time = decide(&*inventory, "wanted");
        println!("{others:>9} {:>10.1}", time.as_secs_f64() * 1e6);
    }
}

fn decide(inventory: &dyn Inventory, name: &str) -> Duration {
    let demand = Key::new(REQUESTS, "bench", name);
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: None,
    };
    median(|| {
        let decision = inventory
            .decide(&ask)
            .expect("the request is there")
            .expect("nothing was chosen");
        assert_eq!(decision.changes.len(), 1);
    })
}

/// The median time of a fork, and of folding one changed Cluster while the previous snapshot is alive.
fn fold_after_fork(inventory: &mut Arc<dyn Inventory>) -> Duration {
    let mut turn = 0;
    median(|| {
        let mut next = inventory.fork();
        turn += 1;
        let (namespace, name, mut object) = cluster(turn % 100);
        object["metadata"]["finalizers"] = json!([format!("request.clusters.openmcp.cloud/turn-{turn}")]);
        fold(&mut next, CLUSTERS, &namespace, &name, &object);
        *inventory = next;
    })
}

fn fleet(count: u32) -> Arc<dyn Inventory> {
    let mut inventory = berth_dialect_openmcp::dialect().inventory();
    for number in 0..count {
        let (namespace, name, object) = cluster(number);
        fold(&mut inventory, CLUSTERS, &namespace, &name, &object);
    }
    for (name, purpose) in [("wanted", "workload"), ("alone", "mcp")] {
        fold(&mut inventory, REQUESTS, "bench", name, &request(name, purpose));
    }
    inventory
}

fn cluster(number: u32) -> (String, String, Value) {
    let (namespace, name) = (
        format!("project-{:03}", number % 200),
        format!("cluster-{number:05}"),
    );
    let finalizers = [0, 1].map(|user| format!("request.clusters.openmcp.cloud/user-{number}-{user}"));
    let mut object = json!({
        "apiVersion": API_VERSION, "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace, "finalizers": finalizers, "labels": {
            "environment": "live", "tier": format!("t{}", number % 3), "team": format!("team-{}", number % 50),
        }},
        "spec": {
            "profile": "gcp-small",
            "tenancy": if number % 10 == 9 { "Exclusive" } else { "Shared" },
            "purposes": [if number.is_multiple_of(2) { "workload" } else { PURPOSES[number as usize / 2 % 4] }],
        },
    });
    if number % 20 == 19 {
        object["metadata"]["deletionTimestamp"] = json!("2021-10-28T09:00:00Z");
    }
    (namespace, name, object)
}

fn request(name: &str, purpose: &str) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "ClusterRequest", "metadata": {"name": name, "namespace": "bench"},
        "spec": {"purpose": purpose},
    })
}

fn granted(number: u32, name: &str) -> Value {
    let (namespace, cluster, _) = cluster(number % 10_000);
    let mut object = request(name, "workload");
    object["status"] = json!({
        "phase": "Granted", "observedGeneration": 1, "cluster": {"namespace": namespace, "name": cluster},
    });
    object
}

fn configuration(strategy: &str) -> Value {
    let template = |tenancy: &str| {
        json!({
            "metadata": {"labels": {"environment": "live", "tier": "t0"}},
            "spec": {"profile": "gcp-small", "tenancy": tenancy},
        })
    };
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "openmcp"},
        "spec": {"openmcp": {"scheduler": {
            "scope": "Cluster", "strategy": strategy,
            "selectors": {"clusters": {"matchLabels": {"environment": "live"}}},
            "purposeMappings": {
                "workload": {
                    "tenancyCount": 20, "template": template("Shared"),
                    "selector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["t0", "t1"]}]},
                },
                "mcp": {"template": template("Exclusive")},
            },
        }}},
    })
}
