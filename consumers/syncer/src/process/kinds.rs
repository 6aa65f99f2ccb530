//! Kinds that are synced: all kinds in the discovery documents of the view, or only Namespace and the kinds
//! that `--resources` names.

use anyhow::{Context, Result};
use berth_client::Client;
use kube::core::ApiResource;
use serde_json::Value;

/// One kind that is synced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SyncedKind {
    /// The names of the kind.
    pub(super) api: ApiResource,
    /// Whether objects of the kind have a status to report.
    pub(super) reports: bool,
}

impl SyncedKind {
    /// The name of the resource as kubectl writes it, such as `deployments.apps`.
    pub(super) fn name(&self) -> String {
        match self.api.group.as_str() {
            "" => self.api.plural.clone(),
            group => format!("{}.{group}", self.api.plural),
        }
    }

    /// The path of the objects in `namespace`; of all objects of the kind if `namespace` is empty.
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

/// The kinds that are synced, and requested kinds that are missing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SyncedKinds {
    /// The kinds, namespaces first.
    pub(super) kinds: Vec<SyncedKind>,
    /// The names in `--resources` that the view does not have.
    pub(super) unknown: Vec<String>,
}

impl SyncedKinds {
    /// The names of all kinds except Namespace.
    pub(super) fn names(&self) -> Vec<String> {
        self.kinds.iter().skip(1).map(SyncedKind::name).collect()
    }

    /// Selects from `found`, the kinds in a view: all, or only Namespace and the kinds in `only` if that has
    /// names.
    fn select(found: Vec<SyncedKind>, only: &[String]) -> Result<Self> {
        let is_known = |name: &String| found.iter().any(|kind| kind.name() == *name);
        let mut unknown: Vec<String> = only.iter().filter(|name| !is_known(name)).cloned().collect();
        unknown.sort_unstable();
        unknown.dedup();
        let (namespaces, mut rest): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|kind| kind.name() == "namespaces");
        rest.retain(|kind| only.is_empty() || only.contains(&kind.name()));
        rest.sort_by_key(SyncedKind::name);
        let namespaces = namespaces.into_iter().next();
        let mut kinds =
            vec![namespaces.context("the view that the hub serves the syncer has no resource namespaces")?];
        kinds.append(&mut rest);
        Ok(Self { kinds, unknown })
    }
}

/// Reads from `view` the kinds to sync: all, or only Namespace and the kinds in `only` if that has names.
///
/// # Errors
/// When the view does not answer or refuses, or has no resource `namespaces`.
pub(super) async fn discover(view: &kube::Client, only: &[String]) -> Result<SyncedKinds> {
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
        found.extend(watchable_kinds(&version, &list));
    }
    SyncedKinds::select(found, only)
}

/// The kinds in the resource list of one version that can be listed and watched.
fn watchable_kinds(version: &str, list: &Value) -> Vec<SyncedKind> {
    let resources = list["resources"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let named = |name: &str| resources.iter().any(|resource| resource["name"] == name);
    let (group, without_group) = version.split_once('/').unwrap_or(("", version));
    let can = |resource: &Value, verb: &str| {
        let verbs = resource["verbs"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        verbs.iter().any(|known| known == verb)
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
                    version: without_group.to_owned(),
                    api_version: version.to_owned(),
                    kind: resource["kind"].as_str()?.to_owned(),
                    plural: plural.to_owned(),
                },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_that_the_view_lacks_are_reported_and_the_others_synced() {
        let verbs = json!(["get", "list", "watch"]);
        let list = json!({"resources": [
            {"name": "secrets", "kind": "Secret", "verbs": verbs},
            {"name": "namespaces", "kind": "Namespace", "verbs": verbs},
            {"name": "configmaps", "kind": "ConfigMap", "verbs": verbs},
        ]});
        let found = watchable_kinds("v1", &list);
        let only = ["configmaps", "widgets.example.com", "gadgets"].map(str::to_owned);
        let synced = SyncedKinds::select(found.clone(), &only).unwrap();
        assert_eq!(synced.names(), ["configmaps"]);
        assert_eq!(synced.unknown, ["gadgets", "widgets.example.com"]);
        let all = SyncedKinds::select(found, &[]).unwrap();
        assert_eq!((all.names().len(), all.unknown.len()), (2, 0));
        assert_eq!(all.kinds[0].name(), "namespaces");
        assert!(SyncedKinds::select(Vec::new(), &[]).is_err());
    }

    #[test]
    fn namespaces_may_be_named_although_they_are_always_synced() {
        let verbs = json!(["get", "list", "watch"]);
        let list = json!({"resources": [
            {"name": "namespaces", "kind": "Namespace", "verbs": verbs},
            {"name": "configmaps", "kind": "ConfigMap", "verbs": verbs},
        ]});
        let only = ["namespaces", "configmaps"].map(str::to_owned);
        let synced = SyncedKinds::select(watchable_kinds("v1", &list), &only).unwrap();
        assert_eq!(synced.names(), ["configmaps"]);
        assert!(synced.unknown.is_empty(), "{:?}", synced.unknown);
    }
}
