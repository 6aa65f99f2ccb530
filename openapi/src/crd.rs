//! CustomResourceDefinitions, by which a hub serves a kind itself.

use berth_apimachinery::{Kind, KindInfo};
use serde_json::{Map, Value, json};

/// Returns the CustomResourceDefinition (`apiextensions.k8s.io/v1`) of `kind`, with all versions served.
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

/// Returns the entry of `version` in `spec.versions`.
fn one_version(kind: &dyn Kind, version: &str) -> Value {
    let info = kind.info();
    let mut schema = kind.schema(version).openapi().clone();
    drop_patch_hints(&mut schema);
    drop_unusable_list_keys(&mut schema);
    // A CustomResourceDefinition may declare metadata only as an object.
    schema["properties"]["metadata"] = json!({"type": "object"});
    let mut value = json!({
        "name": version,
        "served": true,
        "storage": version == info.storage_version,
        "schema": {"openAPIV3Schema": schema},
    });
    let columns = printer_columns(kind);
    if !columns.is_empty() {
        value["additionalPrinterColumns"] = columns.into();
    }
    let fields = selectable_fields(kind, &value["schema"]["openAPIV3Schema"]);
    let fields: Vec<Value> = fields
        .map(|path| json!({"jsonPath": format!(".{path}")}))
        .collect();
    if !fields.is_empty() {
        value["selectableFields"] = fields.into();
    }
    if info.status_subresource {
        value["subresources"] = Map::from_iter([("status".to_owned(), json!({}))]).into();
    }
    value
}

/// Returns the printer columns, except the name and computed columns. A hub adds NAME itself, and AGE to an
/// empty list, so the list is empty if only the age is left.
fn printer_columns(kind: &dyn Kind) -> Vec<Value> {
    let columns = kind.columns();
    let has_other_columns = columns
        .iter()
        .any(|column| !column.is_name() && !column.is_age() && !column.path.is_empty());
    let rendered = columns
        .iter()
        .filter(|column| has_other_columns && !column.is_name() && !column.path.is_empty());
    rendered
        .map(|column| {
            let r#type = if column.is_age() { "date" } else { column.r#type };
            let mut value = json!({
                "name": column.name,
                "type": r#type,
                "description": column.description,
                "jsonPath": column.path,
            });
            if column.priority != 0 {
                value["priority"] = column.priority.into();
            }
            value
        })
        .collect()
}

/// Highest number of selectable fields in one version of a custom resource.
const MAX_SELECTABLE_FIELDS: usize = 8;

/// Returns the selectable fields that a hub can evaluate itself, at most [`MAX_SELECTABLE_FIELDS`]: fields
/// that are not computed and have a simple type in the schema.
pub(crate) fn selectable_fields(kind: &dyn Kind, schema: &Value) -> impl Iterator<Item = &'static str> {
    let is_simple = move |path: &str| {
        let mut at = schema;
        for name in path.split('.') {
            at = &at["properties"][name];
        }
        matches!(at["type"].as_str(), Some("string" | "integer" | "boolean"))
    };
    let fields = kind.selectable().iter();
    fields
        .filter(move |field| field.computed.is_none() && is_simple(field.path))
        .take(MAX_SELECTABLE_FIELDS)
        .map(|field| field.path)
}

/// Makes a list with keys atomic if a key is neither required nor has a default, since a
/// CustomResourceDefinition with such a list is rejected. The difference matters only to managers that apply
/// some items of the list.
pub(crate) fn drop_unusable_list_keys(schema: &mut Value) {
    let has_unusable_key = |schema: &Value| {
        let item = &schema["items"];
        let is_usable = |key: &Value| {
            let required = item["required"].as_array().is_some_and(|all| all.contains(key));
            let has_default = key
                .as_str()
                .is_some_and(|key| item["properties"][key].get("default").is_some());
            required || has_default
        };
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        keys.is_some_and(|keys| !keys.iter().all(is_usable))
    };
    let becomes_atomic = has_unusable_key(schema);
    match schema {
        Value::Object(fields) => {
            if becomes_atomic {
                fields.remove("x-kubernetes-list-map-keys");
                fields.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
            }
            fields.values_mut().for_each(drop_unusable_list_keys);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_unusable_list_keys),
        _ => {}
    }
}

/// Removes the extensions for strategic merge patches: CustomResourceDefinitions have list types instead, and
/// reject these extensions.
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
