//! Types of fields that several kinds have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::API_VERSION;

pub use berth_dialect_contract::report::Token;

/// An object in the wire format: apiVersion, kind and metadata, and the fields of the type `T`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest<T> {
    /// The apiVersion of the object.
    pub api_version: Token,
    /// The kind of the object.
    pub kind: Token,
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// The other fields.
    #[serde(flatten)]
    pub body: T,
}

impl<T> Manifest<T> {
    /// Creates an object of `kind` with the fields of `body`.
    pub fn new(kind: impl Into<Token>, metadata: Map<String, Value>, body: T) -> Self {
        Self {
            api_version: API_VERSION.into(),
            kind: kind.into(),
            metadata,
            body,
        }
    }

    /// Returns the text of `field` of the metadata; empty if the field is absent.
    #[must_use]
    pub fn metadata(&self, field: &str) -> &str {
        let text = self.metadata.get(field).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

/// A reference to the stored object that is the source of a virtual object.
// A server has a source for every decision, so the strings have no spare capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceRef {
    /// The API version of the object, as the system itself serves it.
    pub api_version: Box<str>,
    /// The kind of the object.
    pub kind: Box<str>,
    /// The name of the object.
    pub name: Box<str>,
    /// The namespace of the object; absent for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub namespace: Box<str>,
    /// The uid of the object.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    #[schemars(with = "Option<String>")]
    pub uid: Box<str>,
}

/// The object to schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingSpec {
    /// The scheduling system of the object.
    pub dialect: Token,
    /// The placeable object.
    // The source is absent from an answer about a deleted object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SourceRef")]
    pub source_ref: Option<SourceRef>,
}

/// Any value; its fields are preserved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct AnyValue(pub Value);

/// Any object; its fields are preserved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct AnyObject(pub Map<String, Value>);

/// Returns `text`, or `None` if it is empty.
#[must_use]
pub fn none_if_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns `list`, or `None` if it is empty.
#[must_use]
pub fn none_if_empty_list<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
