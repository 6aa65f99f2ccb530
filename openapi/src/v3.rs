//! OpenAPI v3: the index with hashes, and one document for each path, such as a group-version.

mod render;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::operation;
use crate::resource::{Catalog, Group};
use crate::{definitions, names};

/// Returns the index, and the documents by path.
pub(crate) fn documents(
    title: &str,
    version: &str,
    catalog: &Catalog<'_>,
) -> (Document, BTreeMap<String, Document>) {
    let info = json!({"title": title, "version": version});
    let mut documents = BTreeMap::new();
    let mut add = |path: String, value: &Value| {
        documents.insert(path, Document::json(value));
    };
    add(
        "version".to_owned(),
        &discovery_document(
            &info,
            "/version/",
            "getCodeVersion",
            "The version of the server",
            "version",
        ),
    );
    add(
        "api".to_owned(),
        &discovery_document(
            &info,
            "/api/",
            "getCoreAPIVersions",
            "The versions of the core group",
            "core",
        ),
    );
    add(
        "apis".to_owned(),
        &discovery_document(&info, "/apis/", "getAPIVersions", "The served groups", "apis"),
    );
    for group in &catalog.groups {
        if !group.name.is_empty() {
            let id = format!("get{}APIGroup", names::group_part(group.name));
            let path = format!("/{}/", group.root());
            add(
                group.root(),
                &discovery_document(
                    &info,
                    &path,
                    &id,
                    "The versions of the group",
                    &names::camel(group.name),
                ),
            );
        }
        for version in &group.versions {
            add(
                format!("{}/{}", group.root(), version.name),
                &group_version(&info, group, version),
            );
        }
    }
    let paths: Map<String, Value> = documents
        .iter()
        .map(|(path, document)| (path.clone(), json!({"serverRelativeURL": url(path, document)})))
        .collect();
    (Document::json(&json!({"paths": paths})), documents)
}

/// Returns the URL at which `document` is immutable.
pub(crate) fn url(path: &str, document: &Document) -> String {
    format!("/openapi/v3/{path}?hash={}", document.hash())
}

/// Renders the document of a path that is not a group-version, such as `/apis/`.
fn discovery_document(info: &Value, path: &str, id: &str, description: &str, tag: &str) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": info,
        "paths": {path: {"get": {
            "tags": [tag],
            "description": description,
            "operationId": id,
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}},
        }}},
    })
}

fn group_version(info: &Value, group: &Group<'_>, version: &crate::resource::Version<'_>) -> Value {
    let schemas: Map<String, Value> = definitions::of_version(version)
        .into_iter()
        .map(|(name, mut schema)| {
            render::wrap_references(&mut schema);
            (name, schema)
        })
        .collect();
    let mut paths = Map::new();
    for operation in operation::operations(group, version) {
        let item = paths
            .entry(&operation.path)
            .or_insert_with(|| render::path_item(&operation.path));
        item[operation.method] = render::operation(&operation);
    }
    json!({"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}})
}
