//! Time that one decision takes, by number of clusters: `cargo run --release -p berth-dialect-karmada
//! --example bench-karmada`.
//!
//! The fleet is like a large installation: clusters of three providers in 40 regions, each with nine models
//! of nodes, and one in ten with a taint. "dynamic" divides by room, "regions" spreads over three regions
//! first, "groups" tries twelve groups of clusters of which the last has room, "report" writes the report of
//! "groups" with every reason, "fold" applies a change of the clusters of one binding after a fork, and
//! "figures" applies a change of the resource summary of one cluster after a fork. Times are medians.

use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Ask, Inventory, report};
use berth_dialect_testing::bench::{fold, median};
use serde_json::{Value, json};

/// The allocator of the program `berth`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [u32; 5] = [100, 1_000, 5_000, 10_000, 20_000];
const QUESTIONS: [&str; 3] = ["dynamic", "regions", "groups"];
/// Number of groups of clusters that are tried.
const GROUPS: u32 = 12;
const CLUSTERS: GroupResource = GroupResource::new("cluster.karmada.io", "clusters");
const BINDINGS: GroupResource = GroupResource::new("work.karmada.io", "resourcebindings");

fn main() {
    println!("one decision, median in microseconds");
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "clusters", "dynamic", "regions", "groups", "report", "fold", "figures"
    );
    for count in SIZES {
        let mut inventory = fleet(count);
        let mut times: Vec<Duration> = QUESTIONS.map(|name| decide(&*inventory, name)).into();
        times.push(report_time(&*inventory));
        times.push(fold_after_fork(&mut inventory));
        times.push(figures_after_fork(&mut inventory));
        let cells: Vec<String> = times
            .iter()
            .map(|time| format!("{:>10.1}", time.as_secs_f64() * 1e6))
            .collect();
        println!("{count:>8} {}", cells.join(" "));
    }
}

fn key(name: &str) -> Key {
    Key::new(BINDINGS, "bench", name)
}

fn ask(demand: &Key) -> Ask<'_> {
    Ask {
        demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: None,
    }
}

/// The median time of deciding the binding `name`.
fn decide(inventory: &dyn Inventory, name: &str) -> Duration {
    let demand = key(name);
    median(|| {
        let decision = inventory.decide(&ask(&demand));
        let decision = decision
            .expect("the binding is there")
            .expect("nothing was chosen");
        assert!(!decision.solved.picked.is_empty(), "{name}");
    })
}

/// The median time of writing the report of a decision, which has the reasons of every cluster.
fn report_time(inventory: &dyn Inventory) -> Duration {
    let demand = key("groups");
    let decision = inventory.decide(&ask(&demand));
    let decision = decision
        .expect("the binding is there")
        .expect("nothing was chosen");
    median(|| {
        let report = report::report("karmada", inventory, 1, &decision);
        assert!(!serde_json::to_vec(&report).expect("a report is JSON").is_empty());
    })
}

/// The median time of folding one binding while a reader holds the previous snapshot.
fn fold_after_fork(inventory: &mut Arc<dyn Inventory>) -> Duration {
    let mut turn: u32 = 0;
    median(|| {
        let mut next = inventory.fork();
        turn += 1;
        let mut moving = binding("moving", dynamic());
        moving["spec"]["clusters"] = json!([{"name": format!("cluster-{:05}", turn % 100), "replicas": 40}]);
        fold(&mut next, BINDINGS, "bench", "moving", &moving);
        *inventory = next;
    })
}

/// The median time of folding one status of a cluster while a reader holds the previous snapshot.
fn figures_after_fork(inventory: &mut Arc<dyn Inventory>) -> Duration {
    let mut turn: u32 = 0;
    median(|| {
        let mut next = inventory.fork();
        turn += 1;
        let name = format!("cluster-{:05}", turn % 100);
        let mut reporting = cluster(turn % 100, &name);
        reporting["status"]["resourceSummary"]["allocated"] = json!({"pods": (turn % 7).to_string()});
        fold(&mut next, CLUSTERS, "", &name, &reporting);
        *inventory = next;
    })
}

fn fleet(count: u32) -> Arc<dyn Inventory> {
    let mut inventory = berth_dialect_karmada::dialect().inventory();
    for number in 0..count {
        let name = format!("cluster-{number:05}");
        fold(&mut inventory, CLUSTERS, "", &name, &cluster(number, &name));
    }
    let mut regions = dynamic();
    regions["spreadConstraints"] = json!([
        {"spreadByField": "region", "minGroups": 3, "maxGroups": 3},
        {"spreadByField": "cluster", "minGroups": 3, "maxGroups": 20},
    ]);
    let mut groups = dynamic();
    let terms = (0..GROUPS).map(|group| {
        let tier = format!("t{group}");
        json!({"affinityName": tier, "labelSelector": {"matchLabels": {"tier": tier}}})
    });
    groups["clusterAffinities"] = terms.collect();
    for (name, placement) in QUESTIONS.into_iter().zip([dynamic(), regions, groups]) {
        fold(&mut inventory, BINDINGS, "bench", name, &binding(name, placement));
    }
    inventory
}

fn dynamic() -> Value {
    json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }})
}

fn binding(name: &str, placement: Value) -> Value {
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "bench", "labels": {"propagationpolicy.karmada.io/permanent-id": "p"}},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "bench", "name": name},
            "replicas": 40, "replicaRequirements": {"resourceRequest": {"cpu": "500m", "memory": "1Gi"}},
            "placement": placement,
        },
    })
}

/// The cluster with this number. Clusters of all groups except the last are full.
fn cluster(number: u32, name: &str) -> Value {
    let region = format!("region-{}", number % 40);
    let provider = ["aws", "gcp", "azure"][number as usize % 3];
    let group = number % GROUPS;
    let nodes = if group == GROUPS - 1 { 200 } else { 0 };
    let cpu = [0, 1, 2, 4, 8, 16, 32, 64, 128];
    let model = |grade: usize| {
        let range = |name: &str, unit: u64, suffix: &str| {
            let max = match cpu.get(grade + 1) {
                Some(next) => format!("{}{suffix}", next * unit),
                None => i64::MAX.to_string(),
            };
            json!({"name": name, "min": format!("{}{suffix}", cpu[grade] * unit), "max": max})
        };
        json!({"grade": grade, "ranges": [range("cpu", 1, ""), range("memory", 4, "Gi")]})
    };
    let models: Vec<Value> = (0..cpu.len()).map(model).collect();
    let taints = match number % 10 {
        9 => json!([{"key": "bench", "effect": "NoSchedule"}]),
        _ => json!([]),
    };
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"tier": format!("t{group}"), "team": format!("team-{}", number % 50)}},
        "spec": {"syncMode": "Push", "provider": provider, "region": region, "taints": taints, "resourceModels": models},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
            "resourceSummary": {
                "allocatable": {"cpu": "800", "memory": "3200Gi", "pods": "2000"},
                "allocatableModelings": [{"grade": 3, "count": nodes}],
            },
        },
    })
}
