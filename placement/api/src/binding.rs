//! Binding and ClusterBinding: a request to bind a decision, and the result of the binding.

use berth_apimachinery::{FieldError, KindInfo, Schema, Scope};
use berth_dialect_contract::report::ChangeEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decision::ClusterBinding as BoundCluster;
use super::kind::{VirtualKind, info};
use super::shared::Token;

/// A request to bind the Decision that has the name of the Binding. Creating a Binding binds the decision;
/// the Binding itself is not stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// The targets of the binding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<BindingSpec>,
    /// The result of the binding.
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

/// The result of a binding: the clusters of the placeable object, and the changes of the binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The phase of the Decision; absent in the response to a create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Token>,
    /// The outcome of the binding: Scheduled, Partial, Provision, Unchanged or Released; Unschedulable,
    /// Invalid or Ignored only if the binding released clusters. Absent if an existing binding is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Token>,
    /// The reason for the outcome, as one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Token>,
    /// The summary of the outcome for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The clusters to which the object is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Vec<BoundCluster>>,
    /// The changes that the binding made, by cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<ChangeEntry>>,
}

/// Returns the schema of the `binding` subresources.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Binding>()
}

/// Returns the kind of `bindings`.
#[must_use]
pub fn namespaced() -> VirtualKind {
    kind(info("Binding", "bindings", "binding", &["create"]))
}

/// Returns the kind of `clusterbindings`.
#[must_use]
pub fn cluster() -> VirtualKind {
    kind(KindInfo {
        scope: Scope::Cluster,
        ..info("ClusterBinding", "clusterbindings", "clusterbinding", &["create"])
    })
}

fn kind(info: KindInfo) -> VirtualKind {
    VirtualKind {
        rules,
        ..VirtualKind::new(info, schema())
    }
}

/// Checks that a binding names the decision to bind.
fn rules(value: &Value) -> Vec<FieldError> {
    if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        let detail = "the name of the decision to bind is required";
        return vec![FieldError::required("metadata.name", detail)];
    }
    Vec::new()
}
