//! With any number of parallel requests, no cluster is overcommitted, and no more clusters are created than
//! are needed.
//!
//! Clients create objects, which are bound at creation or by the controllers, and other clients create
//! bindings, all at the same time. Optimized builds do it with 1,000 objects, others with fewer, by default
//! or from `BERTH_SPEED_COUNT`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use berth_tests::{Server, raw};
use futures::StreamExt as _;
use futures::stream;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

/// Number of parallel clients that create, and of those that bind.
const CLIENTS: usize = 16;
const BINDERS: usize = 4;
/// The deadline of the wait.
const LIMIT: Duration = Duration::from_secs(300);
/// Number of requests that share a cluster.
const TENANTS: usize = 20;

fn count() -> usize {
    let value = std::env::var("BERTH_SPEED_COUNT").ok();
    let usual = if cfg!(debug_assertions) { 200 } else { 1000 };
    value.map_or(usual, |text| text.parse().unwrap())
}

async fn create(client: &Client, path: &str, object: Value) {
    let answer = raw::write(client, Method::POST, path, &object).await;
    assert_eq!(answer.code, 201, "{}", String::from_utf8_lossy(&answer.body));
}

async fn list(client: &Client, path: &str) -> Vec<Value> {
    let answer = raw::get(client, path).await;
    assert_eq!(answer.code, 200, "{path}");
    answer.json()["items"].as_array().unwrap().clone()
}

/// Creates all of `objects` at `path`, and also binds each, while the controllers do the same: one of them is
/// first.
async fn create_and_bind(client: &Client, path: &str, namespace: &str, dialect: &str, objects: Vec<Value>) {
    let names: Vec<String> = objects
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let creates = stream::iter(objects)
        .map(|object| create(client, path, object))
        .buffer_unordered(CLIENTS)
        .collect::<Vec<()>>();
    let binds = stream::iter(names)
        .map(|name| async move {
            let name = format!("{name}.{dialect}");
            let binding = json!({
                "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
                "metadata": {"name": name, "namespace": namespace},
            });
            let path = format!(
                "/apis/scheduling.berth.dev/v1alpha1/namespaces/{namespace}/decisions/{name}/binding"
            );
            let answer = raw::write(client, Method::POST, &path, &binding).await;
            // It does not exist yet, it lost a race, or no target has room for it.
            assert!(
                [201, 404, 409, 422].contains(&answer.code),
                "{}: {}",
                answer.code,
                String::from_utf8_lossy(&answer.body)
            );
            usize::from(answer.code == 201)
        })
        .buffer_unordered(BINDERS)
        .collect::<Vec<usize>>();
    let ((), bound) = futures::join!(async { drop(creates.await) }, binds);
    println!("{dialect}: {} bound by hand", bound.iter().sum::<usize>());
}

async fn configure(client: &Client, dialect: &str, auto_bind: &str, own: Value) {
    let path = "/apis/config.berth.dev/v1alpha1/schedulerconfigurations";
    let mut spec = own;
    spec["autoBind"] = auto_bind.into();
    let object = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
        "metadata": {"name": dialect}, "spec": spec,
    });
    create(client, path, object).await;
}

async fn namespace(client: &Client, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    create(client, "/api/v1/namespaces", object).await;
}

/// Number of `objects` that name each place, by `place_of`.
fn tally(objects: &[Value], place_of: impl Fn(&Value) -> Option<String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for place in objects.iter().filter_map(place_of) {
        *counts.entry(place).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cluster_gets_more_requests_than_it_takes_and_none_is_made_in_vain() {
    share_clusters("Controller").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cluster_gets_more_requests_than_it_takes_where_they_are_granted_as_they_are_made() {
    share_clusters("OnCreate").await;
}

async fn share_clusters(auto_bind: &str) {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    namespace(&client, "ns").await;
    let workload =
        json!({"tenancyCount": TENANTS, "template": {"spec": {"profile": "small", "tenancy": "Shared"}}});
    let own = json!({"openmcp": {"scheduler": {"purposeMappings": {"workload": workload}}}});
    configure(&client, "openmcp", auto_bind, own).await;
    let group = "/apis/clusters.openmcp.cloud/v1alpha1/namespaces/ns";
    let requests = format!("{group}/clusterrequests");
    let request = |number: usize| {
        json!({
            "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "ClusterRequest",
            "metadata": {"name": format!("r-{number:04}"), "namespace": "ns"}, "spec": {"purpose": "workload"},
        })
    };
    let start = Instant::now();
    let objects = (0..count()).map(request).collect();
    create_and_bind(&client, &requests, "ns", "openmcp", objects).await;
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let granted = loop {
        let all = list(&client, &requests).await;
        let of = |request: &Value| request["status"]["cluster"]["name"].as_str().map(str::to_owned);
        let granted = tally(&all, of);
        assert!(granted.values().all(|count| *count <= TENANTS), "{granted:?}");
        if granted.values().sum::<usize>() == count() {
            break granted;
        }
        assert!(start.elapsed() < LIMIT, "{granted:?}");
        tick.tick().await;
    };
    println!(
        "openmcp, {auto_bind}: {} requests granted in {:?}",
        count(),
        start.elapsed()
    );
    let clusters = list(&client, &format!("{group}/clusters")).await;
    assert_eq!(clusters.len(), count().div_ceil(TENANTS), "{granted:?}");
    for cluster in &clusters {
        let finalizers = cluster["metadata"]["finalizers"].as_array().unwrap();
        let name = cluster["metadata"]["name"].as_str().unwrap();
        assert_eq!(
            finalizers.len(),
            granted[name],
            "each use is a finalizer: {cluster}"
        );
        assert!(finalizers.len() <= TENANTS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_seed_gets_more_shoots_than_are_allocatable() {
    fill_seeds("Controller").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_seed_gets_more_shoots_than_are_allocatable_where_they_are_bound_as_they_are_made() {
    fill_seeds("OnCreate").await;
}

async fn fill_seeds(auto_bind: &str) {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    namespace(&client, "garden-dev").await;
    configure(&client, "gardener", auto_bind, json!({})).await;
    let group = "/apis/core.gardener.cloud/v1beta1";
    let profile = json!({"apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": {"name": "aws"}, "spec": {"type": "aws"}});
    create(&client, &format!("{group}/cloudprofiles"), profile).await;
    // One seed less than the shoots need, so that the last seed's number of shoots stays unassigned.
    let per_seed = 5;
    let seeds = count() / per_seed - 1;
    for number in 0..seeds {
        let (high, low) = (number / 4, number % 4 * 64);
        let name = format!("seed-{number:04}");
        let seed = json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": {"name": name},
            "spec": {
                "provider": {"type": "aws", "region": "eu-west-1"},
                "networks": {
                    "nodes": format!("10.{high}.{low}.0/20"), "pods": format!("10.{high}.{}.0/20", low + 16),
                    "services": format!("10.{high}.{}.0/20", low + 32),
                },
            },
        });
        create(&client, &format!("{group}/seeds"), seed).await;
        let time = "2021-10-28T08:00:00Z";
        let status = json!({"status": {
            "conditions": [{"type": "GardenletReady", "status": "True", "reason": "Ready", "message": "ready",
                "lastTransitionTime": time, "lastUpdateTime": time}],
            "allocatable": {"shoots": per_seed.to_string()},
        }});
        let body = serde_json::to_vec(&status).unwrap();
        let path = format!("{group}/seeds/{name}/status");
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = raw::send(&client, Method::PATCH, &path, &headers, &body).await;
        assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
    }
    let path = format!("{group}/namespaces/garden-dev/shoots");
    let shoot = |number: usize| {
        json!({
            "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
            "metadata": {"name": format!("s-{number:04}"), "namespace": "garden-dev"},
            "spec": {
                "cloudProfile": {"name": "aws"}, "region": "eu-west-1", "provider": {"type": "aws"},
                "networking": {"nodes": "172.16.0.0/16", "pods": "172.17.0.0/16", "services": "172.18.0.0/16"},
            },
        })
    };
    let start = Instant::now();
    let objects = (0..count()).map(shoot).collect();
    create_and_bind(&client, &path, "garden-dev", "gardener", objects).await;
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        let all = list(&client, &path).await;
        let on = tally(&all, |shoot| {
            shoot["spec"]["seedName"].as_str().map(str::to_owned)
        });
        assert!(on.values().all(|count| *count <= per_seed), "{on:?}");
        if on.values().sum::<usize>() == seeds * per_seed {
            break;
        }
        assert!(start.elapsed() < LIMIT, "{on:?}");
        tick.tick().await;
    }
    println!(
        "gardener, {auto_bind}: {} shoots on {seeds} seeds in {:?}",
        seeds * per_seed,
        start.elapsed()
    );
}
