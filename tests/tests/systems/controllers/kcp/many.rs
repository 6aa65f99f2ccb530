//! Many namespaces at the same time: none is lost, and the time is measured.

use std::time::{Duration, Instant};

use berth_tests::raw;
use futures::StreamExt as _;
use futures::stream;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};

use super::*;

/// Number of parallel clients.
const CLIENTS: usize = 16;
/// The deadline of the wait: the time is printed, not asserted.
const LIMIT: Duration = Duration::from_secs(300);

/// Number of namespaces and of clusters, by default or from `BERTH_SPEED_COUNT`.
fn count() -> usize {
    let value = std::env::var("BERTH_SPEED_COUNT").ok();
    let usual = if cfg!(debug_assertions) { 100 } else { 1000 };
    value.map_or(usual, |text| text.parse().unwrap())
}

fn api(client: &Client, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, version, kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
}

async fn cluster(clusters: &Api<DynamicObject>, number: usize) {
    let name = format!("cluster-{number:04}");
    let object = json!({"metadata": {"name": name, "labels": {"region": "eu"}}});
    let object = serde_json::from_value(object).unwrap();
    clusters.create(&PostParams::default(), &object).await.unwrap();
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let parameters = PatchParams::default();
    clusters
        .patch_status(&name, &parameters, &Patch::Merge(&ready))
        .await
        .unwrap();
}

async fn filled_namespace(client: &Client, number: usize) {
    let name = format!("app-{number:04}");
    let namespaces = api(client, "", "v1", "Namespace", "namespaces");
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces.create(&PostParams::default(), &object).await.unwrap();
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let resource = ApiResource::from_gvk_with_plural(&kind, "configmaps");
    let maps: Api<DynamicObject> = Api::namespaced_with(client.clone(), &name, &resource);
    let object =
        serde_json::from_value(json!({"metadata": {"name": "settings"}, "data": {"a": "b"}})).unwrap();
    maps.create(&PostParams::default(), &object).await.unwrap();
}

/// The state label of each ConfigMap `settings` of these namespaces with the value `Sync`.
async fn synced(client: &Client) -> BTreeMap<String, String> {
    let maps = api(client, "", "v1", "ConfigMap", "configmaps");
    let list = maps.list(&ListParams::default()).await.unwrap();
    let ours = list
        .items
        .into_iter()
        .filter(|item| item.metadata.name.as_deref() == Some("settings"));
    let label = ours.filter_map(|item| {
        let labels = item.metadata.labels.unwrap_or_default();
        let found = labels.into_iter().find(|(_, value)| value == "Sync");
        Some((item.metadata.namespace?, found?.0))
    });
    label.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_made_at_once_are_all_bound_and_everything_in_them_follows() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    apply(&server, &[location("eu")]);
    let clusters = api(
        &client,
        "workloads.kcp.dev",
        "v1alpha1",
        "WorkloadCluster",
        "workloadclusters",
    );
    let making = stream::iter(0..count()).map(|number| cluster(&clusters, number));
    making.buffer_unordered(CLIENTS).collect::<Vec<()>>().await;
    let start = Instant::now();
    let making = stream::iter(0..count()).map(|number| filled_namespace(&client, number));
    making.buffer_unordered(CLIENTS).collect::<Vec<()>>().await;
    let created = start.elapsed();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let labels = loop {
        let labels = synced(&client).await;
        if labels.len() == count() {
            break labels;
        }
        assert!(
            start.elapsed() < LIMIT,
            "{} of {} are synced",
            labels.len(),
            count()
        );
        tick.tick().await;
    };
    let count = count();
    println!(
        "kcp: {count} namespaces over {count} clusters created in {created:?}, bound and synced in {:?}",
        start.elapsed()
    );
    let namespaces = api(&client, "", "v1", "Namespace", "namespaces");
    for namespace in namespaces.list(&ListParams::default()).await.unwrap().items {
        let name = namespace.metadata.name.unwrap_or_default();
        let Some(label) = labels.get(&name) else { continue };
        let annotations = namespace.metadata.annotations.unwrap_or_default();
        let text = &annotations["scheduling.kcp.dev/placement"];
        let placement: BTreeMap<String, String> = serde_json::from_str(text).unwrap();
        assert_eq!(placement.values().collect::<Vec<_>>(), ["Bound"], "{name}");
        let identifier = label.rsplit('/').next().unwrap_or_default();
        assert!(
            placement.keys().all(|place| place.ends_with(identifier)),
            "{name}: {text}, {label}"
        );
        let own = namespace.metadata.labels.unwrap_or_default();
        assert_eq!(own[label], "Sync", "{name}");
    }
}
