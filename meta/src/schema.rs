//! Structural schemas: what fields an object has, their defaults and rules, in the dialect Kubernetes uses for CRDs.
//!
//! A schema is made from a Rust type (doc comments become descriptions) and used four ways: defaulting, validation,
//! finding unknown fields, and OpenAPI.

use serde_json::Value;

use crate::field::FieldError;

/// A compiled structural schema of one version of one kind.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Value,
}

impl Schema {
    /// The schema of an object whose fields beside `apiVersion`, `kind` and `metadata` are those of `T`.
    ///
    /// Doc comments become descriptions; `Option` and `#[serde(default)]` fields are optional. Kubernetes extensions
    /// are given as `#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]` and alike
    /// (`x-kubernetes-int-or-string`, `x-kubernetes-list-type`, `x-kubernetes-list-map-keys`). Only `default`s given by
    /// `#[schemars(extend("default" = ..))]` are applied on write.
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        todo!()
    }

    /// Fills in the defaults, as a CRD's structural defaulting does: only below objects that are present.
    pub fn default(&self, _value: &mut Value) {
        todo!()
    }

    /// Every violation, in document order.
    #[must_use]
    pub fn validate(&self, _value: &Value) -> Vec<FieldError> {
        todo!()
    }

    /// The paths (`spec.x[0].y`) of fields the schema does not know.
    #[must_use]
    pub fn unknown_fields(&self, _value: &Value) -> Vec<String> {
        todo!()
    }

    /// The schema as an OpenAPI v3 schema object, `apiVersion`, `kind` included and `metadata` as a `$ref` to ObjectMeta.
    #[must_use]
    pub fn openapi(&self) -> &Value {
        &self.root
    }
}
