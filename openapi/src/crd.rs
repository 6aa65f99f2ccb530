//! CustomResourceDefinitions: how a hub serves a kind by itself.

use meta::{Kind, KindInfo};
use serde_json::{Map, Value, json};

/// The CustomResourceDefinition (`apiextensions.k8s.io/v1`) of `kind`, all versions served.
#[must_use]
pub fn definition(kind: &dyn Kind) -> Value {
    let info = kind.info();
    let versions: Vec<Value> = info
        .versions
        .iter()
        .map(|version| one_version(kind, version))
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": info.resource().to_string()},
        "spec": {
            "group": info.group,
            "names": names(info),
            "scope": if info.namespaced() { "Namespaced" } else { "Cluster" },
            "versions": versions,
        },
    })
}

fn names(info: &KindInfo) -> Value {
    let mut names = json!({
        "kind": info.kind,
        "listKind": format!("{}List", info.kind),
        "plural": info.plural,
        "singular": info.singular,
    });
    if !info.short_names.is_empty() {
        names["shortNames"] = json!(info.short_names);
    }
    if !info.categories.is_empty() {
        names["categories"] = json!(info.categories);
    }
    names
}

fn one_version(kind: &dyn Kind, version: &str) -> Value {
    let info = kind.info();
    let mut schema = kind.schema(version).openapi().clone();
    drop_patch_hints(&mut schema);
    settle_list_keys(&mut schema);
    // A CRD may say nothing about metadata but that it is an object.
    schema["properties"]["metadata"] = json!({"type": "object"});
    let mut value = json!({
        "name": version,
        "served": true,
        "storage": version == info.storage_version,
        "schema": {"openAPIV3Schema": schema},
    });
    if info.status {
        value["subresources"] = Map::from_iter([("status".to_owned(), json!({}))]).into();
    }
    value
}

/// CRDs want the keys of a keyed list to be required or to have a default. Where they are neither, the list is one value
/// as a whole: that matters to those only who apply parts of it.
pub(crate) fn settle_list_keys(schema: &mut Value) {
    let keyless = |schema: &Value| {
        let item = &schema["items"];
        let settled = |key: &Value| {
            let required = item["required"].as_array().is_some_and(|all| all.contains(key));
            let defaulted = key
                .as_str()
                .is_some_and(|key| item["properties"][key].get("default").is_some());
            required || defaulted
        };
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        keys.is_some_and(|keys| !keys.iter().all(settled))
    };
    let unsettled = keyless(schema);
    match schema {
        Value::Object(fields) => {
            if unsettled {
                fields.remove("x-kubernetes-list-map-keys");
                fields.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
            }
            fields.values_mut().for_each(settle_list_keys);
        }
        Value::Array(list) => list.iter_mut().for_each(settle_list_keys),
        _ => {}
    }
}

/// CRDs know list types instead of strategic merge patches, and refuse the hints for them.
fn drop_patch_hints(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with("x-kubernetes-patch-"));
            fields.values_mut().for_each(drop_patch_hints);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_patch_hints),
        _ => {}
    }
}
