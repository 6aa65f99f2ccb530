//! Content of a store: ConfigMaps in twenty namespaces, ManagedClusters in eight regions, and a few
//! Placements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use berth_tests::bench::http::{Call, Connection, Target};
use berth_tests::bench::usage;
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Number of parallel requests.
const CLIENTS: usize = 4;
const NAMESPACES: usize = 20;
const REGIONS: usize = 8;
/// Number of permanent Placements.
pub(crate) const PLACEMENTS: usize = 20;
/// Bytes of padding of a ConfigMap, which is then about as large as a ManagedCluster of the other benchmarks.
const PADDING: usize = 2_000;

const OCM: &str = "/apis/cluster.open-cluster-management.io";
/// The path of ManagedClusters.
pub(crate) const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
/// The path of Placements.
pub(crate) const PLACEMENTS_PATH: &str =
    "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/bench/placements";

/// Size of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of ConfigMaps.
    pub(crate) objects: usize,
    /// Number of ManagedClusters.
    pub(crate) targets: usize,
}

/// Fills an empty server.
pub(crate) async fn fill(target: &Target, size: Size) -> Result<()> {
    let mut one = Connection::several(target, 1).await?;
    let namespaces = (0..NAMESPACES).map(|number| format!("room-{number}"));
    for name in namespaces.chain(["bench".to_owned()]) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        one[0].drained(&post("/api/v1/namespaces", &namespace)).await?;
    }
    let version = "cluster.open-cluster-management.io/v1beta2";
    let set = json!({"apiVersion": version, "kind": "ManagedClusterSet", "metadata": {"name": "fleet"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}});
    one[0]
        .drained(&post(&format!("{OCM}/v1beta2/managedclustersets"), &set))
        .await?;
    let binding = json!({"apiVersion": version, "kind": "ManagedClusterSetBinding",
        "metadata": {"namespace": "bench", "name": "fleet"}, "spec": {"clusterSet": "fleet"}});
    let bindings = format!("{OCM}/v1beta2/namespaces/bench/managedclustersetbindings");
    one[0].drained(&post(&bindings, &binding)).await?;
    repeat(target, Until::Count(size.targets), |number| {
        post(CLUSTERS, &cluster(number))
    })
    .await?;
    repeat(target, Until::Count(size.targets), |number| {
        let path = format!("{CLUSTERS}/cluster{number}/status");
        Call::new(Method::PATCH, path, status().to_string())
    })
    .await?;
    repeat(target, Until::Count(size.objects), |number| {
        create("standing", number)
    })
    .await?;
    repeat(target, Until::Count(PLACEMENTS), |number| {
        post(PLACEMENTS_PATH, &placement(&format!("standing{number}"), number))
    })
    .await
    .map(drop)
}

/// End of the repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// After a time.
    Time(Duration),
    /// After a number of calls.
    Count(usize),
}

/// Sends the calls of `call` for 0, 1, 2 and so on, a few in parallel, and returns their number.
pub(crate) async fn repeat(
    target: &Target,
    until: Until,
    call: impl Fn(usize) -> Call + Send + Sync + 'static,
) -> Result<usize> {
    let (call, next, begun) = (Arc::new(call), Arc::new(AtomicUsize::new(0)), Instant::now());
    let mut clients = JoinSet::new();
    for mut connection in Connection::several(target, CLIENTS).await? {
        let (call, next) = (Arc::clone(&call), Arc::clone(&next));
        clients.spawn(async move {
            let mut count = 0;
            loop {
                // Checked before a number is taken, so that every number below the count of calls is
                // used.
                if matches!(until, Until::Time(time) if begun.elapsed() >= time) {
                    return anyhow::Ok(count);
                }
                let number = next.fetch_add(1, Ordering::Relaxed);
                if matches!(until, Until::Count(count) if number >= count) {
                    return anyhow::Ok(count);
                }
                connection.drained(&call(number)).await?;
                count += 1;
            }
        });
    }
    let mut count = 0;
    while let Some(client) = clients.join_next().await {
        count += client??;
    }
    Ok(count)
}

/// The server's processor time of one call in milliseconds, including work after the answer.
#[expect(clippy::cast_precision_loss, reason = "a count of calls")]
pub(crate) async fn cost(
    process: u32,
    target: &Target,
    until: Until,
    call: impl Fn(usize) -> Call + Send + Sync + 'static,
) -> Result<(f64, usize)> {
    let before = usage::processor_time(process);
    let count = repeat(target, until, call).await?;
    let used = usage::quiet_since(process, before);
    Ok((used.as_secs_f64() * 1_000.0 / count as f64, count))
}

fn post(path: &str, object: &Value) -> Call {
    Call::new(Method::POST, path, object.to_string())
}

/// The path of the collection of ConfigMap number `number`.
pub(crate) fn path(number: usize) -> String {
    format!("/api/v1/namespaces/room-{}/configmaps", number % NAMESPACES)
}

/// Creates ConfigMap number `number`.
pub(crate) fn create(name: &str, number: usize) -> Call {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{name}-{number:06}"), "labels": {"app": format!("app-{}", number % 50)}},
        "data": {"round": "0", "padding": "x".repeat(PADDING)},
    });
    post(&path(number), &object)
}

/// Creates another Placement.
pub(crate) fn create_placement(number: usize) -> Call {
    post(PLACEMENTS_PATH, &placement(&format!("new{number}"), 0))
}

fn cluster(number: usize) -> Value {
    let set = "cluster.open-cluster-management.io/clusterset";
    json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": format!("cluster{number}"), "labels": {set: "fleet", "region": region(number)}},
        "spec": {"hubAcceptsClient": true}})
}

fn status() -> Value {
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "True", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    json!({"status": {
        "conditions": [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
        "allocatable": {"cpu": "16", "memory": "64Gi"}, "capacity": {"cpu": "16", "memory": "64Gi"},
    }})
}

fn region(number: usize) -> String {
    format!("region-{}", number % REGIONS)
}

/// A Placement for the three best clusters of a region.
fn placement(name: &str, number: usize) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
    "metadata": {"namespace": "bench", "name": name},
    "spec": {
        "numberOfClusters": 3,
        "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": region(number)}}}}],
    }})
}
