//! Merge rules in OpenAPI, which client-go, Argo CD and Flux use for their own merges.

use std::collections::BTreeMap;

use berth_tests::Server;
use berth_tests::raw::{self, get};
use serde_json::Value;

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// Walks `schema`, and collects merge rules that are not the default, and lists and maps without a
/// rule.
fn walk(schema: &Value, path: &str, merges: &mut BTreeMap<String, String>, silent: &mut Vec<String>) {
    match schema["type"].as_str() {
        Some("array") => list(schema, path, merges, silent),
        Some("object") => map(schema, path, merges, silent),
        _ => {}
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.{name}"), merges, silent);
    }
    walk_child(
        &schema["additionalProperties"],
        &format!("{path}.*"),
        merges,
        silent,
    );
    walk_child(&schema["items"], &format!("{path}[]"), merges, silent);
}

fn walk_child(schema: &Value, path: &str, merges: &mut BTreeMap<String, String>, silent: &mut Vec<String>) {
    if schema.is_object() {
        walk(schema, path, merges, silent);
    }
}

fn list(schema: &Value, path: &str, merges: &mut BTreeMap<String, String>, silent: &mut Vec<String>) {
    let items = &schema["items"];
    let scalar = |schema: &Value| !matches!(schema["type"].as_str(), Some("object" | "array"));
    match schema[LIST_TYPE].as_str() {
        Some("atomic") => {}
        Some("set") if scalar(items) => drop(merges.insert(path.to_owned(), "set".to_owned())),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let known = keys.iter().all(|key| {
                let field = &items["properties"][key.as_str().unwrap_or_default()];
                field.is_object() && scalar(field)
            });
            if keys.is_empty() || !known {
                silent.push(format!("{path}: keys {keys:?}"));
            }
            let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
            merges.insert(path.to_owned(), format!("map by {}", keys.join(", ")));
        }
        other => silent.push(format!("{path}: {other:?}")),
    }
}

fn map(schema: &Value, path: &str, merges: &mut BTreeMap<String, String>, silent: &mut Vec<String>) {
    match schema[MAP_TYPE].as_str() {
        Some("atomic") => drop(merges.insert(path.to_owned(), "atomic".to_owned())),
        Some("granular") | None => {}
        Some(other) => silent.push(format!("{path}: {other}")),
    }
    let says = [
        "properties",
        "additionalProperties",
        "x-kubernetes-preserve-unknown-fields",
        "$ref",
    ];
    if !says.iter().any(|name| schema.get(name).is_some()) && schema[MAP_TYPE].is_null() {
        silent.push(format!("{path}: an object of which nothing is said"));
    }
    // Selectors and references to keys: a change of a part of them has no meaning.
    if schema["properties"]["matchLabels"].is_object()
        && schema["properties"]
            .as_object()
            .is_some_and(|fields| fields.len() == 2)
        && schema[MAP_TYPE] != "atomic"
    {
        silent.push(format!("{path}: a label selector that is no atomic map"));
    }
}

/// Whether objects of a definition are stored: lists are only answers, and a patch has its own media type.
fn is_written(definition: &str) -> bool {
    !definition.ends_with("List") && !definition.ends_with(".Patch")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_and_object_of_every_kind_says_how_it_merges() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let index = get(&client, "/openapi/v3").await.json();
    let (mut merges, mut silent, mut kinds) = (BTreeMap::new(), Vec::new(), 0);
    for document in index["paths"].as_object().unwrap().values() {
        let document = get(&client, document["serverRelativeURL"].as_str().unwrap())
            .await
            .json();
        for (name, schema) in document["components"]["schemas"]
            .as_object()
            .into_iter()
            .flatten()
        {
            if is_written(name) {
                kinds += usize::from(schema["x-kubernetes-group-version-kind"].is_array());
                walk(schema, name, &mut merges, &mut silent);
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
    assert!(kinds > 40, "only {kinds} kinds");
    for (path, how) in [
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.finalizers",
            "set",
        ),
        (
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta.ownerReferences",
            "map by uid",
        ),
        ("io.k8s.api.core.v1.Namespace.status.conditions", "map by type"),
        ("io.k8s.api.core.v1.Service.spec.ports", "map by port, protocol"),
        ("io.k8s.api.core.v1.Service.spec.selector", "atomic"),
        ("io.k8s.api.core.v1.ServiceAccount.secrets", "map by name"),
        ("io.k8s.api.core.v1.Event.involvedObject", "atomic"),
        ("io.k8s.api.events.v1.Event.regarding", "atomic"),
        ("io.k8s.api.rbac.v1.RoleBinding.roleRef", "atomic"),
        ("io.k8s.api.apps.v1.Deployment.spec.selector", "atomic"),
        (
            "io.k8s.api.apps.v1.Deployment.spec.template.spec.containers[].env",
            "map by name",
        ),
        (
            "io.k8s.api.apps.v1.Deployment.spec.template.spec.containers[].ports",
            "map by containerPort, protocol",
        ),
        (
            "io.k8s.api.apps.v1.Deployment.spec.template.spec.volumes",
            "map by name",
        ),
    ] {
        assert_eq!(merges.get(path).map(String::as_str), Some(how), "{path}");
    }
    // v2 has the same rules, but none below objects that preserve unknown fields.
    let swagger = get(&client, "/openapi/v2").await.json();
    let (mut older, mut quiet) = (BTreeMap::new(), Vec::new());
    for (name, schema) in swagger["definitions"].as_object().unwrap() {
        if is_written(name) {
            walk(schema, name, &mut older, &mut quiet);
        }
    }
    assert!(quiet.is_empty(), "{}", quiet.join("\n"));
    assert!(older.len() > 10, "{older:?}");
    for (path, how) in older {
        assert_eq!(merges.get(&path), Some(&how), "{path}");
    }
}

/// Merge rules of the lists of `schema`, by path.
fn list_types(schema: &Value, path: &str, types: &mut BTreeMap<String, Value>) {
    if let Some(list_type) = schema.get(LIST_TYPE) {
        types.insert(path.to_owned(), list_type.clone());
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if !(path.is_empty() && name == "metadata") {
            list_types(field, &format!("{path}.{name}"), types);
        }
    }
    for below in ["items", "additionalProperties"] {
        if schema[below].is_object() {
            list_types(&schema[below], &format!("{path}.{below}"), types);
        }
    }
}

#[test]
fn a_kind_merges_in_the_same_way_here_and_by_the_definition_that_is_printed() {
    for dialect in berth_dialect_registry::all() {
        for kind in dialect.kinds() {
            let definition = berth_openapi::crd::definition(&*kind);
            for version in definition["spec"]["versions"].as_array().unwrap() {
                let (mut served, mut printed) = (BTreeMap::new(), BTreeMap::new());
                let name = version["name"].as_str().unwrap();
                list_types(kind.schema(name).openapi(), "", &mut served);
                list_types(&version["schema"]["openAPIV3Schema"], "", &mut printed);
                assert_eq!(served, printed, "{} {name}", kind.info().kind);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_lists_select_by_are_told_as_of_custom_resources() {
    let server = Server::start();
    let client = raw::client(&server.kubeconfig()).await;
    let swagger = get(&client, "/openapi/v2").await.json();
    let mut checked = 0;
    for dialect in berth_dialect_registry::all() {
        for kind in dialect.kinds() {
            let definition = berth_openapi::crd::definition(&*kind);
            for version in definition["spec"]["versions"].as_array().unwrap() {
                let wanted = version["selectableFields"].as_array().into_iter().flatten();
                let wanted: Vec<Value> = wanted
                    .map(|field| {
                        let path = field["jsonPath"].as_str().unwrap().trim_start_matches('.');
                        serde_json::json!({"fieldPath": path})
                    })
                    .collect();
                let info = kind.info();
                let gvk =
                    serde_json::json!([{"group": info.group, "version": version["name"], "kind": info.kind}]);
                let mut definitions = swagger["definitions"].as_object().unwrap().values();
                let schema = definitions.find(|schema| schema["x-kubernetes-group-version-kind"] == gvk);
                let schema = schema.unwrap_or_else(|| panic!("{gvk} is not served"));
                let found = schema["x-kubernetes-selectable-fields"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                assert_eq!(found, wanted, "{gvk}");
                checked += wanted.len();
            }
        }
    }
    assert!(checked > 0);
}
