//! Plain form of discovery: `APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`.

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::resource::{Entry, Group, Subresource, Version};

/// Renders the document of `/api`.
pub(super) fn api_versions(core: &[&Group<'_>]) -> Value {
    let versions: Vec<&str> = core
        .iter()
        .flat_map(|group| &group.versions)
        .map(|version| version.name)
        .collect();
    json!({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []})
}

/// Renders the document of `/apis`.
pub(super) fn group_list(groups: &[&Group<'_>]) -> Value {
    let groups: Vec<Value> = groups.iter().map(|group| api_group(group)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Renders the document of `/apis/<group>`.
pub(super) fn standalone_group(group: &Group<'_>) -> Value {
    let mut value = api_group(group);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    value
}

/// Renders a group as in the list of groups.
fn api_group(group: &Group<'_>) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({"groupVersion": group.api_version(version.name), "version": version.name}))
        .collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({"name": group.name, "versions": versions, "preferredVersion": preferred})
}

/// Renders the documents of `/apis/<group>/<version>` and `/api/v1`.
pub(super) fn resource_list(group: &Group<'_>, version: &Version<'_>) -> Value {
    let mut resources = Vec::new();
    for entry in &version.entries {
        resources.push(resource(entry));
        resources.extend(entry.subresources.iter().map(|sub| subresource(entry, sub)));
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group.api_version(version.name),
        "resources": resources,
    })
}

fn resource(entry: &Entry<'_>) -> Value {
    let info = entry.info;
    let mut value = json!({
        "name": info.plural,
        "singularName": info.singular,
        "namespaced": info.namespaced(),
        "kind": info.kind,
        "verbs": entry.verbs,
    });
    if !info.short_names.is_empty() {
        value["shortNames"] = json!(info.short_names);
    }
    if !info.categories.is_empty() {
        value["categories"] = json!(info.categories);
    }
    if entry.verbs.contains(&"update") {
        value["storageVersionHash"] = storage_version_hash(entry).into();
    }
    value
}

fn subresource(entry: &Entry<'_>, sub: &Subresource<'_>) -> Value {
    let mut value = json!({
        "name": format!("{}/{}", entry.info.plural, sub.name),
        "singularName": "",
        "namespaced": entry.info.namespaced(),
        "kind": sub.gvk.kind,
        "verbs": sub.verbs,
    });
    if (&sub.gvk.group, &sub.gvk.version) != (&entry.gvk.group, &entry.gvk.version) {
        value["group"] = sub.gvk.group.as_str().into();
        value["version"] = sub.gvk.version.as_str().into();
    }
    value
}

/// Returns the hash by which clients detect a change of the stored version: the first eight bytes of the
/// SHA-256 of `group/version/kind`, in base64.
fn storage_version_hash(entry: &Entry<'_>) -> String {
    let name = format!(
        "{}/{}/{}",
        entry.info.group, entry.info.storage_version, entry.info.kind
    );
    base64::engine::general_purpose::STANDARD.encode(&Sha256::digest(name.as_bytes())[..8])
}
