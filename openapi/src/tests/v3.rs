//! Everything that kubectl 1.32 needs in OpenAPI v3.

use serde_json::{Value, json};

use super::{documents, value};

const PATH: &str = "apis/cluster.open-cluster-management.io/v1beta1";

fn document() -> Value {
    value(documents().openapi_v3(PATH).unwrap())
}

#[test]
fn the_index_names_every_document_with_its_hash() {
    let documents = documents();
    let index = value(documents.openapi_v3_index());
    let paths: Vec<&String> = index["paths"].as_object().unwrap().keys().collect();
    assert_eq!(
        paths,
        [
            "api",
            "api/v1",
            "apis",
            "apis/cluster.open-cluster-management.io",
            "apis/cluster.open-cluster-management.io/v1alpha1",
            PATH,
            "apis/scheduling.berth.dev",
            "apis/scheduling.berth.dev/v1alpha1",
            "version",
        ]
    );
    let hash = documents.openapi_v3(PATH).unwrap().hash();
    assert_eq!(
        index["paths"][PATH]["serverRelativeURL"],
        format!("/openapi/v3/{PATH}?hash={hash}")
    );
    assert_eq!(
        index["paths"][PATH]["serverRelativeURL"],
        documents.openapi_v3_url(PATH).unwrap()
    );
}

#[test]
fn kinds_are_found_by_group_version_kind_and_documented() {
    let document = document();
    let schema = &document["components"]["schemas"]["io.open-cluster-management.cluster.v1beta1.Placement"];
    assert_eq!(
        schema["x-kubernetes-group-version-kind"],
        json!([{"group": "cluster.open-cluster-management.io", "version": "v1beta1", "kind": "Placement"}])
    );
    assert_eq!(schema["description"], "Selects clusters.");
    let policy = &schema["properties"]["spec"]["properties"]["prioritizerPolicy"];
    assert_eq!(policy["description"], "Ranking of clusters.");
    assert_eq!(policy["properties"]["mode"]["default"], "Additive");
    assert_eq!(
        policy["properties"]["configurations"]["items"]["required"],
        json!(["name"])
    );
    let metadata = &schema["properties"]["metadata"];
    assert_eq!(
        metadata["allOf"][0]["$ref"],
        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    );
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                found.push(target.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let documents = documents();
    for path in documents.openapi_v3_paths() {
        let document = value(documents.openapi_v3(path).unwrap());
        let mut found = Vec::new();
        references(&document, &mut found);
        for target in found {
            let name = target.strip_prefix("#/components/schemas/").unwrap();
            assert!(
                document["components"]["schemas"].get(name).is_some(),
                "{path}: {target}"
            );
        }
    }
}

#[test]
fn operations_carry_action_and_kind() {
    let document = document();
    let root = "/apis/cluster.open-cluster-management.io/v1beta1";
    let item = &document["paths"][format!("{root}/namespaces/{{namespace}}/placements/{{name}}")];
    let gvk =
        json!({"group": "cluster.open-cluster-management.io", "version": "v1beta1", "kind": "Placement"});
    for (method, action) in [
        ("get", "get"),
        ("put", "put"),
        ("patch", "patch"),
        ("delete", "delete"),
    ] {
        assert_eq!(item[method]["x-kubernetes-action"], action);
        assert_eq!(item[method]["x-kubernetes-group-version-kind"], gvk);
    }
    let collection = &document["paths"][format!("{root}/namespaces/{{namespace}}/placements")];
    assert_eq!(collection["get"]["x-kubernetes-action"], "list");
    assert_eq!(collection["post"]["x-kubernetes-action"], "post");
    assert_eq!(collection["delete"]["x-kubernetes-action"], "deletecollection");
    assert_eq!(
        document["paths"][format!("{root}/placements")]["get"]["x-kubernetes-action"],
        "list"
    );
    let binding = &document["paths"][format!("{root}/namespaces/{{namespace}}/placements/{{name}}/binding")];
    assert_eq!(
        binding["post"]["x-kubernetes-group-version-kind"]["kind"],
        "Binding"
    );
}

fn patch(path: &str, collection: &str) -> Value {
    let document = value(documents().openapi_v3(path).unwrap());
    document["paths"][format!("/{path}/namespaces/{{namespace}}/{collection}/{{name}}")]["patch"].clone()
}

#[test]
fn patch_offers_field_validation_and_only_the_real_media_types() {
    let own = patch(PATH, "placements");
    let names: Vec<&str> = own["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["pretty", "dryRun", "fieldManager", "fieldValidation", "force"]
    );
    let types = |patch: &Value| -> Vec<String> {
        patch["requestBody"]["content"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        types(&own),
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json"
        ]
    );
    assert_eq!(
        types(&patch("api/v1", "configmaps")),
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json"
        ]
    );
}

#[test]
fn operation_ids_are_unique() {
    let documents = documents();
    let mut ids = std::collections::BTreeSet::new();
    for path in documents.openapi_v3_paths() {
        let document = value(documents.openapi_v3(path).unwrap());
        for operation in document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|item| item.as_object().unwrap().values())
        {
            let Some(id) = operation.get("operationId") else {
                continue;
            };
            assert!(ids.insert(id.as_str().unwrap().to_owned()), "{id} stands twice");
        }
    }
    assert!(ids.contains("listClusterOpenClusterManagementIoV1beta1PlacementForAllNamespaces"));
}
