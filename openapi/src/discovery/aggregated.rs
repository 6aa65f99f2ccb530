//! Aggregated form of discovery: `APIGroupDiscoveryList` of `apidiscovery.k8s.io/v2`.

use serde_json::{Value, json};

use crate::resource::{Entry, Group, Gvk};

/// Renders the list of `groups`.
pub(super) fn list(groups: &[&Group<'_>]) -> Value {
    let items: Vec<Value> = groups.iter().map(|group| item(group)).collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

/// Renders one group.
fn item(group: &Group<'_>) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = version.entries.iter().map(resource).collect();
            json!({"version": version.name, "freshness": "Current", "resources": resources})
        })
        .collect();
    let metadata = if group.name.is_empty() {
        json!({})
    } else {
        json!({"name": group.name})
    };
    json!({"metadata": metadata, "versions": versions})
}

fn resource(entry: &Entry<'_>) -> Value {
    let info = entry.info;
    let mut value = json!({
        "resource": info.plural,
        "responseKind": kind(&entry.gvk),
        "scope": if info.namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": info.singular,
        "verbs": entry.verbs,
    });
    if !info.short_names.is_empty() {
        value["shortNames"] = json!(info.short_names);
    }
    if !info.categories.is_empty() {
        value["categories"] = json!(info.categories);
    }
    if !entry.subresources.is_empty() {
        value["subresources"] = entry
            .subresources
            .iter()
            .map(|sub| json!({"subresource": sub.name, "responseKind": kind(&sub.gvk), "verbs": sub.verbs}))
            .collect();
    }
    value
}

/// Renders a response kind. Every resource has one, since some clients crash without it.
fn kind(gvk: &Gvk) -> Value {
    json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind})
}
