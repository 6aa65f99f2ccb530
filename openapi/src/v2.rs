//! OpenAPI v2 (Swagger 2.0): one document for all groups, as JSON and in the protobuf form that kubectl
//! requests.

mod encode;
pub(crate) mod message;
mod render;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::document::Document;
use crate::resource::Catalog;
use crate::{definitions, operation};

/// The document of `/openapi/v2`.
#[derive(Clone, Debug)]
pub struct OpenApiV2 {
    /// The document as JSON, with media type `application/json`.
    pub json: Document,
    /// The document as protobuf, for the media types [`crate::OPENAPI_V2_PROTOBUF`].
    pub protobuf: Document,
}

/// Renders the document of `/openapi/v2` as JSON and as protobuf.
pub(crate) fn documents(title: &str, version: &str, catalog: &Catalog<'_>) -> OpenApiV2 {
    let value = swagger(title, version, catalog);
    OpenApiV2 {
        json: Document::json(&value),
        protobuf: Document::new(crate::OPENAPI_V2_PROTOBUF[1], encode::document(&value)),
    }
}

fn swagger(title: &str, version: &str, catalog: &Catalog<'_>) -> Value {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    let mut paths = Map::new();
    for group in &catalog.groups {
        for version in &group.versions {
            for (name, schema) in definitions::of_version(version) {
                // The version that serves a kind has the schema with properties; another version may only
                // have a schema without properties for the same kind.
                if !all.contains_key(&name) || schema.get("properties").is_some() {
                    all.insert(name, schema);
                }
            }
            for operation in operation::operations(group, version) {
                let item = paths
                    .entry(&operation.path)
                    .or_insert_with(|| render::path_item(&operation.path));
                item[operation.method] = render::operation(&operation);
            }
        }
    }
    let definitions: Map<String, Value> = all
        .into_iter()
        .map(|(name, mut schema)| {
            render::to_swagger(&mut schema);
            (name, schema)
        })
        .collect();
    json!({
        "swagger": "2.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "definitions": definitions,
    })
}
