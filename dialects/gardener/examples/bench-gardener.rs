//! Time of one decision, by number of seeds: `cargo run --release -p berth-dialect-gardener --example
//! bench-gardener`.
//!
//! The fleet is like a large installation: 40 regions of three providers, five labels a seed, one seed in ten
//! tainted, capacities, two shoots on each seed. Times are medians; "fold" is the time of folding one binding
//! after a fork.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory, config};
use berth_dialect_gardener::names::{CLOUD_PROFILES, SEEDS, SHOOTS};
use berth_dialect_testing::bench::{fold, median};
use serde_json::{Value, json};

/// The allocator, as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [u32; 6] = [100, 1_000, 5_000, 10_000, 20_000, 50_000];
const STRATEGIES: [&str; 2] = ["SameRegion", "MinimalDistance"];

fn main() {
    println!("one decision, median in microseconds");
    println!(
        "{:>8} {:>12} {:>16} {:>10} {:>10}",
        "seeds", "SameRegion", "MinimalDistance", "testing", "fold"
    );
    for count in SIZES {
        let mut inventory = fleet(count);
        let mut cells = Vec::new();
        for strategy in STRATEGIES {
            fold(
                &mut inventory,
                config::RESOURCE,
                "",
                "gardener",
                &configuration(strategy),
            );
            cells.push(decide(&*inventory, "wanted"));
        }
        cells.push(decide(&*inventory, "tested"));
        let fold_time = fold_after_fork(&mut inventory);
        let micros: Vec<f64> = cells.iter().map(|time| time.as_secs_f64() * 1e6).collect();
        let fold = fold_time.as_secs_f64() * 1e6;
        println!(
            "{count:>8} {:>12.1} {:>16.1} {:>10.1} {fold:>10.1}",
            micros[0], micros[1], micros[2]
        );
    }
}

/// The median time of a decision on the shoot `name`.
fn decide(inventory: &dyn Inventory, name: &str) -> Duration {
    let demand = Key::new(SHOOTS, "bench", name);
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: None,
    };
    median(|| {
        let decision = inventory
            .decide(&ask)
            .expect("the shoot is there")
            .expect("nothing was chosen");
        assert_eq!(decision.solved.picked.len(), 1);
    })
}

/// The median time of folding one binding while a reader holds the previous snapshot.
fn fold_after_fork(inventory: &mut Arc<dyn Inventory>) -> Duration {
    let mut turn = 0;
    median(|| {
        let mut next = inventory.fork();
        turn += 1;
        let seat = format!("seed-{:05}", turn % 100);
        fold(
            &mut next,
            SHOOTS,
            "bench",
            "moving",
            &shoot("moving", Some(&seat), "evaluation"),
        );
        *inventory = next;
    })
}

fn fleet(count: u32) -> Arc<dyn Inventory> {
    let mut inventory = berth_dialect_gardener::dialect().inventory();
    fold(&mut inventory, CLOUD_PROFILES, "", "aws", &profile());
    for number in 0..count {
        let name = format!("seed-{number:05}");
        fold(&mut inventory, SEEDS, "", &name, &seed(number, &name));
        for resident in 0..2 {
            let resident = format!("resident-{number}-{resident}");
            fold(
                &mut inventory,
                SHOOTS,
                "bench",
                &resident,
                &shoot(&resident, Some(&name), "evaluation"),
            );
        }
    }
    fold(
        &mut inventory,
        SHOOTS,
        "bench",
        "wanted",
        &shoot("wanted", None, "production"),
    );
    fold(
        &mut inventory,
        SHOOTS,
        "bench",
        "tested",
        &shoot("tested", None, "testing"),
    );
    inventory
}

fn seed(number: u32, name: &str) -> Value {
    const AREAS: [&str; 5] = ["eu", "us", "ap", "sa", "af"];
    const SIDES: [&str; 4] = ["west", "east", "central", "north"];
    let region = format!(
        "{}-{}-{}",
        AREAS[number as usize % 5],
        SIDES[number as usize / 5 % 4],
        number / 20 % 2
    );
    let provider = ["aws", "aws", "gcp", "openstack"][number as usize / 40 % 4];
    let taints = if number % 10 == 9 {
        json!([{"key": "seed.gardener.cloud/protected"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed",
        "metadata": {"name": name, "labels": {
            "environment": "live", "tier": format!("t{}", number % 3), "team": format!("team-{}", number % 50),
        }},
        "spec": {
            "provider": {"type": provider, "region": region},
            "taints": taints,
            "networks": {
                "nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16",
                "shootDefaults": {"pods": "100.96.0.0/11", "services": "100.64.0.0/13"},
            },
        },
        "status": {
            "conditions": [{"type": "GardenletReady", "status": "True"}],
            "allocatable": {"shoots": "200"},
        },
    })
}

fn shoot(name: &str, seed: Option<&str>, purpose: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": name, "namespace": "bench"},
        "spec": {
            "cloudProfileName": "aws", "region": "eu-west-1", "provider": {"type": "aws"}, "purpose": purpose,
            "networking": {"nodes": "10.250.0.0/16"}, "seedName": seed,
            "seedSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["t0", "t1", "t2"]}]},
        },
    })
}

fn profile() -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": "aws"},
        "spec": {"type": "aws", "seedSelector": {"matchLabels": {"environment": "live"}}},
    })
}

fn configuration(strategy: &str) -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "gardener"},
        "spec": {"gardener": {"schedulers": {"shoot": {"candidateDeterminationStrategy": strategy}}}},
    })
}
