//! Times of the admission webhooks under load: 200 reviews a second for 20 seconds, over TLS with persistent
//! connections, as from a busy kube-apiserver. Prints p50 and p99, counted from the instant at which each
//! review was due.
//!
//! `cargo run --release -p berth-tests --example admission-load`, on a machine with nothing else to do;
//! `BERTH_PROGRAM` names an existing program to measure.

use std::path::Path;
use std::time::{Duration, Instant};

use berth_tests::{Server, raw};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// Reviews a second.
const RATE: u32 = 200;
/// Length of the run.
const TIME: Duration = Duration::from_secs(20);
/// Reviews before the measurement, which open connections and fill caches.
const WARM_UP: u32 = 200;
/// Bound on p99.
const WANTED: Duration = Duration::from_millis(20);

/// One review, and whether it has to be allowed.
struct Case {
    path: &'static str,
    review: Value,
    allowed: bool,
}

#[tokio::main]
async fn main() {
    let server = Server::start();
    server.load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gardener/fleet.yaml"));
    let client = raw::client(&server.kubeconfig()).await;
    let mix: &'static [Case] = Vec::leak(mix());
    let total = WARM_UP + RATE * u32::try_from(TIME.as_secs()).expect("a short run");
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    // Late ticks are made up for, so that a slow answer does not lower the load.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut running = JoinSet::new();
    for (number, case) in (0..total).zip(mix.iter().cycle()) {
        let due = ticks.tick().await;
        let client = client.clone();
        running.spawn(async move {
            let answer = raw::write(&client, Method::POST, case.path, &case.review).await;
            let took = Instant::now().duration_since(due.into_std());
            assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
            let answer = answer.json();
            assert_eq!(answer["response"]["allowed"], case.allowed, "{answer}");
            (number >= WARM_UP).then_some(took)
        });
    }
    let mut took: Vec<Duration> = running.join_all().await.into_iter().flatten().collect();
    took.sort();
    let percentile = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    println!(
        "{} reviews at {RATE} a second: p50 {:?}, p90 {:?}, p99 {:?}, worst {:?}; p99 below {WANTED:?}: {}",
        took.len(),
        percentile(50),
        percentile(90),
        percentile(99),
        percentile(100),
        percentile(99) < WANTED,
    );
}

/// Requests of a hub: a Shoot that gets its place, a validation of that Shoot, and a namespace and a
/// binding that are refused.
fn mix() -> Vec<Case> {
    let shoot = json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": "web", "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [
                {"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 2},
            ]},
            "networking": {"nodes": "10.250.0.0/16"}, "kubernetes": {"version": "1.34.1"},
        },
    });
    let namespace = |placement: &str| {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "app", "annotations": {"scheduling.kcp.dev/placement": placement}},
        })
    };
    let binding = |state: &str| {
        json!({
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
            "metadata": {"name": "web-east", "labels": {"kubernetes-fleet.io/parent-CRP": "web"}},
            "spec": {"state": state, "targetCluster": "east"},
        })
    };
    let shoots = ("core.gardener.cloud", "v1beta1", "shoots", "Shoot");
    let bindings = (
        "placement.kubernetes-fleet.io",
        "v1beta1",
        "clusterresourcebindings",
        "ClusterResourceBinding",
    );
    let bound = namespace(r#"{"root:compute+east+x":"Bound"}"#);
    vec![
        Case {
            path: "/admission/mutate",
            review: review(shoots, &shoot, &Value::Null),
            allowed: true,
        },
        Case {
            path: "/admission/validate",
            review: review(shoots, &shoot, &Value::Null),
            allowed: true,
        },
        Case {
            path: "/admission/mutate",
            review: review(("", "v1", "namespaces", "Namespace"), &namespace("{}"), &bound),
            allowed: false,
        },
        Case {
            path: "/admission/validate",
            review: review(bindings, &binding("Bound"), &binding("Scheduled")),
            allowed: false,
        },
    ]
}

fn review(of: (&str, &str, &str, &str), object: &Value, old: &Value) -> Value {
    let (group, version, resource, kind) = of;
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": resource},
            "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"],
            "operation": if old.is_null() { "CREATE" } else { "UPDATE" },
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false,
        },
    })
}
