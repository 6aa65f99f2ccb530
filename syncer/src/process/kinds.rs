//! What is synced: the kinds that the view describes in its discovery documents.

use anyhow::{Context, Result, bail};
use berth_client::Client;
use kube::core::ApiResource;
use serde_json::Value;

/// One kind that is synced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SyncedKind {
    /// Its names.
    pub(super) api: ApiResource,
    /// Whether it has a status to report.
    pub(super) reports: bool,
}

impl SyncedKind {
    /// `deployments.apps`, as users name it.
    pub(super) fn name(&self) -> String {
        match self.api.group.as_str() {
            "" => self.api.plural.clone(),
            group => format!("{}.{group}", self.api.plural),
        }
    }

    /// The path of the objects in `namespace`, or of all of a kind without namespaces.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let root = match self.api.group.as_str() {
            "" => format!("/api/{}", self.api.version),
            group => format!("/apis/{group}/{}", self.api.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.api.plural),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.api.plural),
        }
    }
}

/// The kinds that `view` serves, namespaces first. With `only`, no others but those.
///
/// # Errors
/// When the view does not answer, shows no namespaces, or not what is asked for.
pub(super) async fn discover(view: &kube::Client, only: &[String]) -> Result<Vec<SyncedKind>> {
    let view = Client::new(view.clone());
    let mut versions = vec!["v1".to_owned()];
    let groups = view.get("/apis").await?;
    let groups = groups["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    let preferred = groups
        .iter()
        .filter_map(|group| group["preferredVersion"]["groupVersion"].as_str());
    versions.extend(preferred.map(str::to_owned));
    let mut found = Vec::new();
    for version in versions {
        let path = if version.contains('/') { "/apis" } else { "/api" };
        let list = view.get(&format!("{path}/{version}")).await?;
        found.extend(of_list(&version, &list));
    }
    let (namespaces, mut rest): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|kind| kind.name() == "namespaces");
    if let Some(unknown) = only
        .iter()
        .find(|name| !rest.iter().any(|kind| kind.name() == **name))
    {
        let known: Vec<String> = rest.iter().map(SyncedKind::name).collect();
        bail!(
            "the hub does not serve {unknown} to syncers; it serves {}",
            known.join(", ")
        );
    }
    rest.retain(|kind| only.is_empty() || only.contains(&kind.name()));
    rest.sort_by_key(SyncedKind::name);
    let mut kinds = vec![
        namespaces
            .into_iter()
            .next()
            .context("the view shows no namespaces")?,
    ];
    kinds.append(&mut rest);
    Ok(kinds)
}

/// The kinds of one version's resource list that can be followed.
fn of_list(version: &str, list: &Value) -> Vec<SyncedKind> {
    let resources = list["resources"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let named = |name: &str| resources.iter().any(|resource| resource["name"] == name);
    let (group, bare) = version.split_once('/').unwrap_or(("", version));
    let can = |resource: &Value, verb: &str| {
        let verbs = resource["verbs"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        verbs.iter().any(|have| have == verb)
    };
    resources
        .iter()
        .filter(|resource| can(resource, "list") && can(resource, "watch"))
        .filter_map(|resource| {
            let plural = resource["name"].as_str()?;
            Some(SyncedKind {
                reports: named(&format!("{plural}/status")) && plural != "namespaces",
                api: ApiResource {
                    group: group.to_owned(),
                    version: bare.to_owned(),
                    api_version: version.to_owned(),
                    kind: resource["kind"].as_str()?.to_owned(),
                    plural: plural.to_owned(),
                },
            })
        })
        .collect()
}
