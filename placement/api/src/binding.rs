//! Binding and ClusterBinding: a request to bind a decision, and its result.

use berth_apimachinery::{FieldError, KindInfo, Schema, Scope};
use berth_dialect_contract::report::ChangeEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decision::ClusterBinding as BoundCluster;
use super::kind::{Virtual, info};
use super::shared::Token;

/// A request to bind the Decision of the same name. Creating a Binding binds; it is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// The targets of the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<BindingSpec>,
    /// Result of the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<BindingStatus>,
}

/// The targets of a binding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingSpec {
    /// Names of Targets, such as `eu-1.gardener`; the part after the last dot may be omitted. If empty, the
    /// scheduler picks the targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub targets: Option<Vec<String>>,
}

/// Result of a binding: the clusters of the placeable object, and their changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The phase of the Decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Token>,
    /// Outcome of the binding: Scheduled, Partial, Provision, Unchanged or Released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Token>,
    /// The reason, as one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Token>,
    /// The summary for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The clusters to which the object is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<BoundCluster>>,
    /// Changes of the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<ChangeEntry>>,
}

/// The schema of the `binding` subresources.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Binding>()
}

/// The kind of `bindings`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(info("Binding", "bindings", "binding", &["create"]))
}

/// The kind of `clusterbindings`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        scope: Scope::Cluster,
        ..info("ClusterBinding", "clusterbindings", "clusterbinding", &["create"])
    })
}

fn kind(info: KindInfo) -> Virtual {
    Virtual {
        rules,
        ..Virtual::new(info, schema())
    }
}

/// Checks that a binding has the name of its decision.
fn rules(value: &Value) -> Vec<FieldError> {
    if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        let detail = "the name of the decision to bind is required";
        return vec![FieldError::required("metadata.name", detail)];
    }
    Vec::new()
}
