//! Removal of one object.

use anyhow::{Result, anyhow};
use berth_client::root_cause;
use kube::api::{DeleteParams, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

/// An object to remove.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
    is_aggregated: bool,
}

/// Outcome of the removal of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalOutcome {
    /// The object is deleted, or would be deleted without the dry run.
    Deleted,
    /// The object did not exist.
    Absent,
}

impl Removal {
    /// The removal of `object`; `None` if the apiVersion, kind or name is missing in it.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let (group, version) = match object["apiVersion"].as_str()?.split_once('/') {
            Some((group, version)) => (group, version),
            None => ("", object["apiVersion"].as_str()?),
        };
        let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str()?);
        Some(Self {
            resource: ApiResource::from_gvk(&kind),
            namespace: object["metadata"]["namespace"].as_str().map(str::to_owned),
            name: object["metadata"]["name"].as_str()?.to_owned(),
            is_aggregated: object["aggregationRule"].is_object(),
        })
    }

    /// Whether the object is a role that a controller of the hub aggregates from other roles.
    pub(super) fn is_aggregated(&self) -> bool {
        self.is_aggregated
    }

    /// The object's kind.
    pub(super) fn kind(&self) -> &str {
        &self.resource.kind
    }

    /// Reads the object; `None` if it does not exist.
    pub(super) async fn read(&self, client: &Client) -> Result<Option<Value>> {
        let found = self.api(client).get_opt(&self.name).await;
        let found = found.map_err(|problem| anyhow!("reading {self}: {}", root_cause(&problem)))?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Deletes the object, or with `dry_run` checks whether the deletion is possible.
    pub(super) async fn delete(&self, client: &Client, dry_run: bool) -> Result<RemovalOutcome> {
        let params = DeleteParams {
            dry_run,
            ..DeleteParams::background()
        };
        match self.api(client).delete(&self.name, &params).await {
            Ok(_) => Ok(RemovalOutcome::Deleted),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(RemovalOutcome::Absent),
            Err(problem) => Err(anyhow!("deleting {self}: {}", root_cause(&problem))),
        }
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }
}

impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.resource.kind, self.name),
            None => write!(f, "{} {}", self.resource.kind, self.name),
        }
    }
}

/// Lists all objects of the cluster-scoped `kind` in version v1 of `group`.
pub(super) async fn list(client: &Client, group: &str, kind: &str) -> Result<Vec<Value>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let list = all.list(&ListParams::default()).await;
    let list = list.map_err(|problem| anyhow!("listing {kind}s: {}", root_cause(&problem)))?;
    let values = list.items.into_iter().map(serde_json::to_value);
    Ok(values.collect::<Result<_, _>>()?)
}
