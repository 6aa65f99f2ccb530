//! Structural schemas: the fields of an object, their defaults and rules, in Kubernetes' dialect for CRDs.
//!
//! A schema is generated from a Rust type (doc comments become descriptions) and has four uses: defaulting,
//! validation, finding unknown fields, and OpenAPI. It is compiled once into a tree of nodes. A request
//! traverses that tree, and allocates only for errors.

mod condition_form;
mod defaults;
mod foreign;
mod mistyped;
mod node;
pub mod object_meta;
mod path;
mod read;
mod structural;
#[cfg(test)]
mod tests;
pub mod types;
mod unknown;
mod validate;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::field_error::FieldError;
pub use condition_form::ConditionForm;
pub(crate) use foreign::problems;
pub use mistyped::TypeMismatch;
pub(crate) use node::Node;
pub use path::Path;
pub use read::ReadValue;
use unknown::Search;
pub use unknown::UnknownFields;

/// A compiled structural schema of one version of one kind.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Arc<Value>,
    node: Arc<Node>,
}

impl Schema {
    /// Generates the schema of an object with the fields of `T` in addition to `apiVersion`, `kind` and
    /// `metadata`.
    ///
    /// Doc comments become descriptions; `Option` and `#[serde(default)]` fields are optional. Kubernetes'
    /// extensions are written as `#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]` and
    /// similarly (`x-kubernetes-int-or-string`, `x-kubernetes-list-type`, `x-kubernetes-list-map-keys`). A
    /// `default` from `#[schemars(extend("default" = ..))]` is applied on write.
    ///
    /// schemars writes serde's own defaults under the same key. On an `Option` every `default` but
    /// `null` is applied; on other fields, an empty default (`""`, `0`, `false`, `[]`) or an object
    /// counts as serde's and is dropped. Write `extend("x-default" = ..)` to keep one. Other serde
    /// defaults (a text, a number) are applied.
    ///
    /// # Panics
    /// When a `pattern` in `T` is not a regular expression: an error in the program.
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Self::from_value(structural::of::<T>())
    }

    /// Creates the schema from the structural JSON schema `root`: an object schema with `properties`.
    /// `apiVersion`, `kind` and `metadata` are added to it.
    ///
    /// # Panics
    /// When a `pattern` is not a regular expression: an error in the program.
    #[must_use]
    pub fn from_value(root: Value) -> Self {
        Self::part_from_value(with_identity(root))
    }

    /// Generates the schema of a part of an object: only the fields of `T`, with the attributes that
    /// [`Schema::of`] describes.
    ///
    /// # Panics
    /// When a `pattern` in `T` is not a regular expression: an error in the program.
    #[must_use]
    pub fn part<T: schemars::JsonSchema>() -> Self {
        Self::part_from_value(structural::of::<T>())
    }

    /// Creates the schema of a part of an object from the structural JSON schema `root`.
    ///
    /// # Panics
    /// When a `pattern` is not a regular expression: an error in the program.
    #[must_use]
    pub fn part_from_value(root: Value) -> Self {
        Self {
            node: Arc::new(Node::compile(&root)),
            root: Arc::new(root),
        }
    }

    /// Fills in the defaults like a CRD's structural defaulting: only below objects that are present. A
    /// `null` in a field or map entry that is not nullable counts as absent, and is removed.
    pub fn default(&self, value: &mut Value) {
        defaults::apply(&self.node, value);
    }

    /// Returns every violation, in document order. After very many violations, no further values are checked.
    #[must_use]
    pub fn validate(&self, value: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        validate::check(&self.node, value, &Path::Root, &mut errors);
        errors
    }

    /// Returns the first value that a client with a typed struct for the object could not parse.
    #[must_use]
    pub fn mistyped(&self, value: &Value) -> Option<TypeMismatch> {
        mistyped::first(&self.node, value, &Path::Root)
    }

    /// Returns the paths (`spec.x[0].y`) of fields that the schema does not have, up to a limit of their
    /// total length.
    #[must_use]
    pub fn unknown_fields(&self, value: &Value) -> Vec<String> {
        self.new_unknown_fields(value, &Value::Null, usize::MAX).paths
    }

    /// Returns the unknown fields of `value`, except fields that `old` has at the same path: at most `most`
    /// paths, and the number of the other unknown fields.
    #[must_use]
    pub fn new_unknown_fields(&self, value: &Value, old: &Value, most: usize) -> UnknownFields {
        let mut search = Search::new(most);
        search.find(&self.node, value, Some(old), &Path::Root);
        search.found
    }

    /// Returns the schema as an OpenAPI v3 schema object; the schema of a whole object has `apiVersion`,
    /// `kind`, and `metadata` as a `$ref` to ObjectMeta.
    #[must_use]
    pub fn openapi(&self) -> &Value {
        &self.root
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }
}

/// Adds the fields that every object has: `apiVersion`, `kind` and `metadata`.
fn with_identity(mut root: Value) -> Value {
    if !root.is_object() {
        root = json!({});
    }
    root["type"] = "object".into();
    let fields = ["apiVersion", "kind", "metadata"];
    if let Some(required) = root.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !name.as_str().is_some_and(|name| fields.contains(&name)));
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        root["properties"] = Value::Object(Map::new());
    }
    root["properties"]["apiVersion"] = json!({
        "description": "The API group and version of this object, such as `apps/v1`, or `v1` alone in the core group.",
        "type": "string",
    });
    root["properties"]["kind"] = json!({
        "description": "The kind of this object, in CamelCase. Immutable.",
        "type": "string",
    });
    root["properties"]["metadata"] = json!({
        "description": "Standard object metadata: name, namespace, labels, annotations, owners.",
        "$ref": object_meta::REFERENCE,
    });
    root
}
