//! Fields several virtual kinds share. The structs are the documented shapes; the values are built as JSON.

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Points at the object a virtual one is about.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct SourceRef {
    /// The API version of the object, as its own system serves it.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; absent when it has none.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The uid of the object.
    pub uid: Option<String>,
}

/// What is decided.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct SchedulingSpec {
    /// The scheduling system that decides.
    pub dialect: String,
    /// The placeable object.
    pub source_ref: SourceRef,
}

/// Any value, kept as it is.
#[derive(JsonSchema)]
#[schemars(transparent, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct AnyValue(pub Value);

/// Any object, kept as it is.
#[derive(JsonSchema)]
#[schemars(transparent, extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct AnyObject(pub Map<String, Value>);
