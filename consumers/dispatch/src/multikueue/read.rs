//! Reads of the dispatcher: Kueue's objects from Kueue's manager cluster, and Decisions and Targets from the
//! server with the decisions.

use std::collections::BTreeMap;

use berth_dialect_contract::names;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, Client};
use serde_json::Value;

use super::kueue::Worker;
use super::nominate::DecidedCluster;
use super::problem::Problem;
use super::{GROUP, kueue};

/// Error of the handling of a Workload, which is tried again later.
#[derive(Debug, thiserror::Error)]
pub(super) enum DispatchError {
    /// A problem that users have to solve, reported as an Event on the Workload.
    #[error(transparent)]
    Reported(#[from] Problem),
    /// A request failed.
    #[error(transparent)]
    Request(#[from] kube::Error),
    /// An object cannot be parsed.
    #[error("{0}")]
    Unreadable(String),
}

/// The API resource of the Kueue kind `kind`.
pub(super) fn kueue_resource(version: &str, kind: &str, plural: &str) -> ApiResource {
    api_resource(GROUP, version, kind, plural)
}

/// The API resource of the kind `kind` of Berth's virtual API.
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

/// `object` as JSON, with apiVersion and kind, which items of some lists lack.
pub(super) fn value(object: &DynamicObject, resource: &ApiResource) -> Result<Value, DispatchError> {
    let mut value =
        serde_json::to_value(object).map_err(|error| DispatchError::Unreadable(error.to_string()))?;
    value["apiVersion"] = resource.api_version.as_str().into();
    value["kind"] = resource.kind.as_str().into();
    Ok(value)
}

async fn get(
    api: Api<DynamicObject>,
    resource: &ApiResource,
    name: &str,
) -> Result<Option<Value>, DispatchError> {
    let found = api.get_opt(name).await?;
    found.map(|object| value(&object, resource)).transpose()
}

/// Reads a cluster-scoped object of Kueue; `None` if it does not exist.
pub(super) async fn kueue_object(
    client: &Client,
    resource: &ApiResource,
    name: &str,
) -> Result<Option<Value>, DispatchError> {
    get(Api::all_with(client.clone(), resource), resource, name).await
}

/// Reads the existing MultiKueueClusters of the MultiKueueConfig named `name`, in the order of its list.
pub(super) async fn workers(
    client: &Client,
    version: &str,
    name: &str,
) -> Result<Vec<Worker>, DispatchError> {
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

/// Reads the Decision named `name` in `namespace`, else the ClusterDecision with this name. A server that
/// does not know the whole decision yet answers with an error, never with fewer clusters.
pub(super) async fn decision(client: &Client, namespace: &str, name: &str) -> Result<Value, DispatchError> {
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

/// Reads the Target of each of `clusters`. Returns its name without the system, by cluster; clusters without
/// a Target are left out.
pub(super) async fn targets(
    client: &Client,
    system: &str,
    clusters: &[DecidedCluster],
) -> Result<BTreeMap<String, String>, DispatchError> {
    let resource = berth_resource("Target", "targets");
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut found = BTreeMap::new();
    for decided in clusters {
        let selector = format!("spec.dialect={system},spec.clusterName={}", decided.cluster);
        let list = all.list(&ListParams::default().fields(&selector)).await?;
        let name = list
            .items
            .first()
            .and_then(|target| target.metadata.name.as_deref());
        if let Some((target, _)) = name.and_then(names::split) {
            found.insert(decided.cluster.clone(), target.to_owned());
        }
    }
    Ok(found)
}
