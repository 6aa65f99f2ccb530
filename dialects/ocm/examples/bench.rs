//! How long one decision takes, by number of clusters: `cargo run --release -p dialect-ocm --example bench`.
//!
//! The placement wants 10 of the clusters a label predicate keeps (half of them), ranked by Balance, Steady and one
//! AddOn score, beside 1,000 other PlacementDecisions of 10 clusters each. "cold" is the first decision after a load;
//! "warm" one with nothing changed; "after a change" folds a new score, a decision or a label first, on a fork, as the
//! engine does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dialect_contract::{Ask, Inventory};
use meta::{Change, GroupResource, Key, Object, Revision, Timestamp};
use serde_json::{Value, json};

const GROUP: &str = "cluster.open-cluster-management.io";
const OTHERS: usize = 1_000;

fn main() {
    println!("one decision, {OTHERS} other PlacementDecisions, best of many runs");
    println!(
        "{:>9}  {:>11}  {:>11}  {:>11}  {:>13}  {:>13}",
        "clusters", "load", "cold", "warm", "after a score", "after a label"
    );
    for clusters in [100, 1_000, 5_000, 10_000, 50_000] {
        row(clusters);
    }
}

fn row(clusters: usize) {
    let begun = Instant::now();
    let mut hub = dialect_ocm::dialect().inventory();
    fill(editable(&mut hub), clusters);
    let load = begun.elapsed();
    let demand = Key::new(GroupResource::new(GROUP, "placements"), "ns", "p");
    let now: Timestamp = "2021-10-28T09:00:00Z".parse().expect("an instant");
    let decide = |hub: &dyn Inventory| {
        let begun = Instant::now();
        let ask = Ask {
            demand: &demand,
            now,
            seed: 0,
            chosen: None,
        };
        let decision = hub
            .decide(&ask)
            .expect("the placement is there")
            .expect("nothing was chosen");
        let elapsed = begun.elapsed();
        assert_eq!(decision.solved.picked.len(), 10);
        elapsed
    };
    let cold = decide(&*hub);
    let runs = 200;
    let warm = best(runs, || decide(&*hub));
    let mut changing = |make: &dyn Fn(usize) -> Value| {
        (0..runs)
            .map(|run| {
                let before = Arc::clone(&hub);
                let begun = Instant::now();
                let mut next = before.fork();
                put(editable(&mut next), &make(run));
                decide(&*next);
                let elapsed = begun.elapsed();
                hub = next;
                elapsed
            })
            .min()
            .unwrap_or_default()
    };
    let score = changing(&|run| score(run % clusters, run));
    let label = changing(&|run| cluster(run % clusters, run + 1));
    println!(
        "{clusters:>9}  {:>8.2} ms  {:>8.3} ms  {:>8.3} ms  {:>10.3} ms  {:>10.3} ms",
        millis(load),
        millis(cold),
        millis(warm),
        millis(score),
        millis(label)
    );
}

fn best(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    (0..runs).map(|_| run()).min().unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn editable(hub: &mut Arc<dyn Inventory>) -> &mut dyn Inventory {
    Arc::get_mut(hub).expect("nobody else holds it")
}

fn put(hub: &mut dyn Inventory, value: &Value) {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let plural: &'static str = match text("/kind") {
        "ManagedCluster" => "managedclusters",
        "ManagedClusterSet" => "managedclustersets",
        "ManagedClusterSetBinding" => "managedclustersetbindings",
        "Placement" => "placements",
        "PlacementDecision" => "placementdecisions",
        _ => "addonplacementscores",
    };
    let key = Key::new(
        GroupResource::new(GROUP, plural),
        text("/metadata/namespace"),
        text("/metadata/name"),
    );
    let object = Arc::new(Object::new(value, Revision(1)).expect("a well-formed object"));
    drop(hub.fold(&Change::added(key, object)));
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

fn fill(hub: &mut dyn Inventory, clusters: usize) {
    put(
        hub,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "fleet"},
        }),
    );
    put(
        hub,
        &json!({
            "apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "fleet", "namespace": "ns"}, "spec": {"clusterSet": "fleet"},
        }),
    );
    for index in 0..clusters {
        put(hub, &cluster(index, 0));
        put(hub, &score(index, 0));
    }
    for other in 0..OTHERS {
        let listed: Vec<Value> = (0..10)
            .map(|place| json!({"clusterName": format!("cluster-{:05}", (other * 10 + place * 3) % clusters), "reason": ""}))
            .collect();
        put(
            hub,
            &json!({
                "apiVersion": format!("{GROUP}/v1beta1"), "kind": "PlacementDecision",
                "metadata": {"name": format!("other-{other}"), "namespace": "others"}, "status": {"decisions": listed},
            }),
        );
    }
    put(
        hub,
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
}
