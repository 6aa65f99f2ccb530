//! Speed of bindings of many new objects. Optimized builds satisfy the limits; others run the same with
//! fewer objects.

use std::time::{Duration, Instant};

use berth_apimachinery::{Clock, time};
use berth_apiserver::SystemClock;
use berth_tests::{Server, raw};
use futures::StreamExt as _;
use futures::stream;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

/// Number of placements and of clusters, by default or from `BERTH_SPEED_COUNT`.
fn count() -> usize {
    let value = std::env::var("BERTH_SPEED_COUNT").ok();
    let usual = if cfg!(debug_assertions) { 100 } else { 1000 };
    value.map_or(usual, |text| text.parse().unwrap())
}

/// The deadline of the wait: the time is printed, not asserted.
const LIMIT: Duration = Duration::from_secs(300);
/// Number of parallel clients.
const CLIENTS: usize = 16;

fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

fn api(client: &Client, namespace: Option<&str>, resource: &ApiResource) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

async fn create_all(api: &Api<DynamicObject>, objects: Vec<Value>) {
    let creates = stream::iter(objects).map(|object| async move {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    });
    creates.buffer_unordered(CLIENTS).collect::<Vec<()>>().await;
}

async fn put_status(api: &Api<DynamicObject>, objects: Vec<Value>) {
    let updates = stream::iter(objects).map(|object| async move {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let status = json!({"status": object["status"]});
        let patch = kube::api::Patch::Merge(&status);
        let parameters = kube::api::PatchParams::default();
        api.patch_status(&name, &parameters, &patch).await.unwrap();
    });
    updates.buffer_unordered(CLIENTS).collect::<Vec<()>>().await;
}

/// Waits until all objects of `api` satisfy `is_bound`.
async fn until_bound(api: &Api<DynamicObject>, is_bound: fn(&Value) -> bool) {
    let start = Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        let list = api.list(&ListParams::default()).await.unwrap();
        let bound = list.items.iter().filter(|item| is_bound(&item.data)).count();
        if bound == count() {
            return;
        }
        assert!(start.elapsed() < LIMIT, "{bound} of {} are bound", count());
        tick.tick().await;
    }
}

async fn namespace(client: &Client, name: &str) {
    let namespaces = api(client, None, &resource("v1", "Namespace", "namespaces"));
    create_all(&namespaces, vec![json!({"metadata": {"name": name}})]).await;
}

async fn configure(client: &Client, dialect: &str, mode: &str) {
    let configurations = resource(
        "config.berth.dev/v1alpha1",
        "SchedulerConfiguration",
        "schedulerconfigurations",
    );
    let object = json!({"metadata": {"name": dialect}, "spec": {"autoBind": mode}});
    create_all(&api(client, None, &configurations), vec![object]).await;
}

async fn placements(mode: &str) -> Duration {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    configure(&client, "ocm", mode).await;
    namespace(&client, "ns1").await;
    let group = "cluster.open-cluster-management.io";
    let clusters = resource(&format!("{group}/v1"), "ManagedCluster", "managedclusters");
    let cluster = |number: usize| {
        json!({
            "metadata": {"name": format!("cluster-{number:04}"), "labels": {"tier": if number.is_multiple_of(2) { "gold" } else { "silver" }}},
            "spec": {"hubAcceptsClient": true},
        })
    };
    create_all(
        &api(&client, None, &clusters),
        (0..count()).map(cluster).collect(),
    )
    .await;
    let sets = resource(
        &format!("{group}/v1beta2"),
        "ManagedClusterSet",
        "managedclustersets",
    );
    let set = json!({"metadata": {"name": "all"}, "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}});
    create_all(&api(&client, None, &sets), vec![set]).await;
    let bindings = resource(
        &format!("{group}/v1beta2"),
        "ManagedClusterSetBinding",
        "managedclustersetbindings",
    );
    let binding = json!({"metadata": {"name": "all"}, "spec": {"clusterSet": "all"}});
    create_all(&api(&client, Some("ns1"), &bindings), vec![binding]).await;
    let placements = resource(&format!("{group}/v1beta1"), "Placement", "placements");
    let placements = api(&client, Some("ns1"), &placements);
    let placement = |number: usize| {
        json!({
            "metadata": {"name": format!("p-{number:04}")},
            "spec": {
                "numberOfClusters": 10,
                "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"tier": "gold"}}}}],
            },
        })
    };
    let start = Instant::now();
    create_all(&placements, (0..count()).map(placement).collect()).await;
    until_bound(&placements, |placement| {
        placement["status"]["numberOfSelectedClusters"] == 10
    })
    .await;
    start.elapsed()
}

async fn shoots(mode: &str) -> Duration {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    configure(&client, "gardener", mode).await;
    namespace(&client, "garden-dev").await;
    let version = "core.gardener.cloud/v1beta1";
    let profiles = resource(version, "CloudProfile", "cloudprofiles");
    let profile = json!({"metadata": {"name": "aws"}, "spec": {"type": "aws"}});
    create_all(&api(&client, None, &profiles), vec![profile]).await;
    let seeds = api(&client, None, &resource(version, "Seed", "seeds"));
    let seed = |number: usize| {
        let (high, low) = (number / 4, number % 4 * 64);
        json!({
            "metadata": {"name": format!("seed-{number:04}")},
            "spec": {
                "provider": {"type": "aws", "region": "eu-west-1"},
                "networks": {
                    "nodes": format!("10.{high}.{low}.0/20"), "pods": format!("10.{high}.{}.0/20", low + 16),
                    "services": format!("10.{high}.{}.0/20", low + 32),
                },
            },
            "status": {
                "conditions": [{
                    "type": "GardenletReady", "status": "True", "reason": "Ready", "message": "ready",
                    "lastTransitionTime": "2021-10-28T08:00:00Z", "lastUpdateTime": "2021-10-28T08:00:00Z",
                }],
                "allocatable": {"shoots": "10"},
            },
        })
    };
    let fleet: Vec<Value> = (0..count()).map(seed).collect();
    create_all(&seeds, fleet.clone()).await;
    put_status(&seeds, fleet).await;
    let shoots = api(&client, Some("garden-dev"), &resource(version, "Shoot", "shoots"));
    let shoot = |number: usize| {
        json!({
            "metadata": {"name": format!("s-{number:04}")},
            "spec": {
                "cloudProfile": {"name": "aws"}, "region": "eu-west-1", "provider": {"type": "aws"},
                "networking": {"nodes": "172.16.0.0/16", "pods": "172.17.0.0/16", "services": "172.18.0.0/16"},
            },
        })
    };
    let start = Instant::now();
    create_all(&shoots, (0..count()).map(shoot).collect()).await;
    until_bound(&shoots, |shoot| shoot["spec"]["seedName"].is_string()).await;
    start.elapsed()
}

async fn requests(mode: &str) -> Duration {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let configurations = resource(
        "config.berth.dev/v1alpha1",
        "SchedulerConfiguration",
        "schedulerconfigurations",
    );
    let workload =
        json!({"tenancyCount": 1, "template": {"spec": {"profile": "small", "tenancy": "Shared"}}});
    let own = json!({"metadata": {"name": "openmcp"}, "spec": {
        "autoBind": mode, "openmcp": {"scheduler": {"purposeMappings": {"workload": workload}}},
    }});
    create_all(&api(&client, None, &configurations), vec![own]).await;
    namespace(&client, "ns").await;
    let version = "clusters.openmcp.cloud/v1alpha1";
    let clusters = api(&client, Some("ns"), &resource(version, "Cluster", "clusters"));
    let cluster = |number: usize| {
        json!({
            "metadata": {"name": format!("cluster-{number:04}")},
            "spec": {"profile": "small", "tenancy": "Shared", "purposes": ["workload"]},
        })
    };
    create_all(&clusters, (0..count()).map(cluster).collect()).await;
    let requests = api(
        &client,
        Some("ns"),
        &resource(version, "ClusterRequest", "clusterrequests"),
    );
    let request = |number: usize| json!({"metadata": {"name": format!("r-{number:04}")}, "spec": {"purpose": "workload"}});
    let start = Instant::now();
    create_all(&requests, (0..count()).map(request).collect()).await;
    until_bound(&requests, |request| request["status"]["phase"] == "Granted").await;
    let took = start.elapsed();
    let after = clusters.list(&ListParams::default()).await.unwrap();
    assert_eq!(after.items.len(), count(), "there was room for all");
    took
}

async fn members(client: &Client) {
    let members = resource(
        "cluster.kubernetes-fleet.io/v1beta1",
        "MemberCluster",
        "memberclusters",
    );
    let members = api(client, None, &members);
    let now = time::rfc3339(SystemClock.now());
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": now});
    let member = |number: usize| {
        json!({
            "metadata": {"name": format!("member-{number:04}"), "labels": {"tier": if number.is_multiple_of(2) { "gold" } else { "silver" }}},
            "spec": {"identity": {"kind": "ServiceAccount", "name": "a", "namespace": "fleet-system", "apiGroup": ""}},
            "status": {"agentStatus": [{
                "type": "MemberAgent", "lastReceivedHeartbeat": now,
                "conditions": [condition("Joined"), condition("Healthy")],
            }]},
        })
    };
    let fleet: Vec<Value> = (0..count()).map(member).collect();
    create_all(&members, fleet.clone()).await;
    put_status(&members, fleet).await;
}

async fn fleet_placements(mode: &str) -> Duration {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    configure(&client, "fleet", mode).await;
    members(&client).await;
    let placements = resource(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourcePlacement",
        "clusterresourceplacements",
    );
    let placements = api(&client, None, &placements);
    let affinity = json!({"clusterAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"tier": "gold"}}}],
    }}});
    let placement = |number: usize| {
        json!({
            "metadata": {"name": format!("p-{number:04}")},
            "spec": {
                "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}],
                "policy": {"placementType": "PickN", "numberOfClusters": 3, "affinity": affinity},
            },
        })
    };
    let start = Instant::now();
    create_all(&placements, (0..count()).map(placement).collect()).await;
    until_bound(&placements, |placement| {
        let conditions = placement["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            condition["type"] == "ClusterResourcePlacementScheduled" && condition["status"] == "True"
        })
    })
    .await;
    start.elapsed()
}

/// kcp's namespaces are measured in the tests of its controllers, since they have more steps than the
/// binding.
///
/// There is only one test, so that the measurements do not share the machine.
#[tokio::test(flavor = "multi_thread")]
async fn as_many_objects_as_clusters_made_at_once_are_all_bound() {
    for mode in ["Controller", "OnCreate"] {
        for (dialect, took) in [
            ("ocm", placements(mode).await),
            ("gardener", shoots(mode).await),
            ("openmcp", requests(mode).await),
            ("fleet", fleet_placements(mode).await),
        ] {
            let count = count();
            println!("{dialect}, autoBind {mode}: {count} bound over {count} clusters in {took:?}");
        }
    }
}
