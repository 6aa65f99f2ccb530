//! ManagedClusterSetBinding v1beta2: lets the placements of a namespace choose from a set
//! (docs/systems/ocm.md, "API objects").

use berth_apimachinery::{
    Definition, FieldError, Kind, KindInfo, Schema, Write, WriteOperation, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Condition;
use crate::names::GROUP;

/// Binds a cluster set to the namespace of the binding. The binding has the name of the set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct ManagedClusterSetBinding {
    /// The cluster set to bind.
    pub(crate) spec: ManagedClusterSetBindingSpec,
    /// Status of the binding.
    pub(crate) status: ManagedClusterSetBindingStatus,
}

/// The cluster set to bind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterSet"]))]
pub(crate) struct ManagedClusterSetBindingSpec {
    /// The name of the set; the binding must have the same name.
    #[schemars(length(min = 1))]
    pub(crate) cluster_set: String,
}

/// Status of the binding.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ManagedClusterSetBindingStatus {
    /// The state of the binding, such as whether its set exists.
    pub(crate) conditions: Vec<Condition>,
}

/// Serves ManagedClusterSetBinding.
pub(super) struct ManagedClusterSetBindingKind;

static DEFINITION: Definition = Definition::new(
    KindInfo {
        singular: "managedclustersetbinding",
        short_names: &["mclsetbinding", "mclsetbindings"],
        status_subresource: true,
        ..KindInfo::new(
            GROUP,
            &["v1beta2", "v1alpha1"],
            "ManagedClusterSetBinding",
            "managedclustersetbindings",
        )
    },
    Schema::of::<ManagedClusterSetBinding>,
);

impl Kind for ManagedClusterSetBindingKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        let text = |path: &str| new.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (name, set) = (text("/metadata/name"), text("/spec/clusterSet"));
        // The schema has refused a missing set.
        if set.is_empty() || name == set {
            return Vec::new();
        }
        let detail = format!("must equal metadata.name \"{name}\": a binding has the name of its set");
        vec![FieldError::invalid("spec.clusterSet", set, detail)]
    }
}
