//! Binding and ClusterBinding: the wish to bind a decision, and what became of it.

use berth_apimachinery::kind::KindInfo;
use berth_apimachinery::{FieldError, Schema, Scope};
use berth_dialect_contract::report::ChangeEntry;
use schemars::JsonSchema;
use serde_json::Value;

use super::decision::ClusterBinding as BoundCluster;
use super::{INFO, Virtual};

/// Binds the Decision of the same name. Creating one binds; nothing of it is stored.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Binding {
    /// Where to bind to.
    pub spec: Option<BindingSpec>,
    /// Where it is bound.
    pub status: Option<BindingStatus>,
}

/// Where to bind to.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct BindingSpec {
    /// Names of Targets (`eu-1.gardener`; the part after the last dot may be left out). Empty lets the scheduler pick.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub targets: Option<Vec<String>>,
}

/// Where a placeable object is bound, and what the binding did.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct BindingStatus {
    /// The phase of the Decision.
    pub phase: Option<String>,
    /// How the binding ended: Scheduled, Partial, Provision, Unchanged or Released.
    pub outcome: Option<String>,
    /// Why, as one word.
    pub reason: Option<String>,
    /// The summary for a person.
    pub message: Option<String>,
    /// The clusters it is bound to.
    pub decisions: Option<Vec<BoundCluster>>,
    /// What the binding changed.
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
    kind(KindInfo {
        kind: "Binding",
        plural: "bindings",
        singular: "binding",
        scope: Scope::Namespaced,
        ..INFO
    })
}

/// The kind of `clusterbindings`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        kind: "ClusterBinding",
        plural: "clusterbindings",
        singular: "clusterbinding",
        scope: Scope::Cluster,
        ..INFO
    })
}

fn kind(info: KindInfo) -> Virtual {
    Virtual {
        rules,
        ..Virtual::new(
            KindInfo {
                verbs: &["create"],
                ..info
            },
            schema(),
        )
    }
}

/// A binding names its decision.
fn rules(value: &Value) -> Vec<FieldError> {
    if value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        let detail = "the name of the decision to bind is required";
        return vec![FieldError::required("metadata.name", detail)];
    }
    Vec::new()
}
