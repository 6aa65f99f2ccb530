//! Requests to the two servers about one Workload.

use std::collections::BTreeMap;

use berth_dialect_contract::names;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};
use serde_json::Value;

use super::kueue::Worker;
use super::nominate::Place;
use super::problem::Problem;
use super::{GROUP, kueue};

/// Reason why no nomination is written for a Workload.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// A problem that is reported on the Workload.
    #[error(transparent)]
    Reported(#[from] Problem),
    /// A request failed; it is repeated.
    #[error(transparent)]
    Request(#[from] kube::Error),
    /// An object cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Resource of a kind of Kueue.
pub(super) fn kueue_resource(version: &str, kind: &str, plural: &str) -> ApiResource {
    api_resource(GROUP, version, kind, plural)
}

/// Resource of a kind of Berth.
pub(super) fn berth_resource(kind: &str, plural: &str) -> ApiResource {
    api_resource(names::GROUP, names::VERSION, kind, plural)
}

fn api_resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The object as JSON, with apiVersion and kind, which items of some lists lack.
pub(super) fn value(object: &DynamicObject, resource: &ApiResource) -> Result<Value, Trouble> {
    let mut value = serde_json::to_value(object).map_err(|error| Trouble::Unreadable(error.to_string()))?;
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    Ok(value)
}

async fn get(api: Api<DynamicObject>, resource: &ApiResource, name: &str) -> Result<Option<Value>, Trouble> {
    let found = api.get_opt(name).await?;
    found.map(|object| value(&object, resource)).transpose()
}

/// Reads a cluster-scoped object of Kueue.
pub(super) async fn kueue_object(
    client: &Client,
    resource: &ApiResource,
    name: &str,
) -> Result<Option<Value>, Trouble> {
    get(Api::all_with(client.clone(), resource), resource, name).await
}

/// The existing MultiKueueClusters of the MultiKueueConfig named `name`, in its order.
pub(super) async fn workers(client: &Client, version: &str, name: &str) -> Result<Vec<Worker>, Trouble> {
    let configs = kueue_resource(version, "MultiKueueConfig", "multikueueconfigs");
    let config = kueue_object(client, &configs, name).await?;
    let config = config.ok_or_else(|| Problem::NoConfiguration(name.to_owned()))?;
    let clusters = kueue_resource(version, "MultiKueueCluster", "multikueueclusters");
    let mut found = Vec::new();
    for name in kueue::workers(&config) {
        let cluster = kueue_object(client, &clusters, name).await?;
        found.extend(cluster.as_ref().map(Worker::of));
    }
    Ok(found)
}

/// The Decision named `name` in `namespace`, or the ClusterDecision with this name. A server that does not
/// know the whole decision yet answers with an error, never with fewer clusters.
pub(super) async fn decision(client: &Client, namespace: &str, name: &str) -> Result<Value, Trouble> {
    if names::split(name).is_none() || berth_apimachinery::name::path_segment(name).is_err() {
        return Err(Problem::NoName(name.to_owned()).into());
    }
    let (namespaced_resource, cluster_resource) = (
        berth_resource("Decision", "decisions"),
        berth_resource("ClusterDecision", "clusterdecisions"),
    );
    let namespaced = Api::namespaced_with(client.clone(), namespace, &namespaced_resource);
    if let Some(decision) = get(namespaced, &namespaced_resource, name).await? {
        return Ok(decision);
    }
    let all = Api::all_with(client.clone(), &cluster_resource);
    let found = get(all, &cluster_resource, name).await?;
    let missing = || Problem::NotFound {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
    };
    Ok(found.ok_or_else(missing)?)
}

/// The names of the Targets of the clusters in `places`, without the system, by cluster.
pub(super) async fn targets(
    client: &Client,
    system: &str,
    places: &[Place],
) -> Result<BTreeMap<String, String>, Trouble> {
    let resource = berth_resource("Target", "targets");
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut found = BTreeMap::new();
    for place in places {
        let selector = format!("spec.dialect={system},spec.clusterName={}", place.cluster);
        let list = all.list(&ListParams::default().fields(&selector)).await?;
        let name = list
            .items
            .first()
            .and_then(|target| target.metadata.name.as_deref());
        if let Some((target, _)) = name.and_then(names::split) {
            found.insert(place.cluster.clone(), target.to_owned());
        }
    }
    Ok(found)
}
