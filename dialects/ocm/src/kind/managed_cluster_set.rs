//! ManagedClusterSet v1beta2: a named group of clusters (docs/systems/ocm.md, "API objects").

use berth_apimachinery::selector::{LabelSelector, Selector};
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Condition, NAMESPACE_NAME};
use crate::names::GROUP;

/// A group of clusters that placements may choose from once the set is bound to their namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ManagedClusterSet {
    /// Clusters that belong to the set.
    #[schemars(extend("x-default" = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}))]
    pub(crate) spec: ManagedClusterSetSpec,
    /// Status of the set.
    pub(crate) status: ManagedClusterSetStatus,
}

/// Clusters that belong to the set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ManagedClusterSetSpec {
    /// Rule by which clusters become members.
    #[schemars(extend("x-default" = {"selectorType": "ExclusiveClusterSetLabel"}))]
    pub(crate) cluster_selector: ClusterSelector,
    /// Namespaces that the hub manages on every cluster of the set.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub(crate) managed_namespaces: Vec<ManagedNamespace>,
}

/// Rule by which clusters become members.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["selectorType"]))]
pub(crate) struct ClusterSelector {
    /// ExclusiveClusterSetLabel selects the clusters whose set label names this set; LabelSelector selects
    /// the clusters that the label selector matches.
    #[schemars(with = "String", extend("enum" = ["ExclusiveClusterSetLabel", "LabelSelector"], "default" = "ExclusiveClusterSetLabel"))]
    pub(crate) selector_type: SelectorType,
    /// The labels of the members, for the type LabelSelector. An empty selector selects every cluster, an
    /// absent one no cluster.
    pub(crate) label_selector: Option<LabelSelector>,
}

/// Rule by which clusters become members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum SelectorType {
    /// Membership by the label of the cluster that names the set.
    #[default]
    #[serde(alias = "")]
    ExclusiveClusterSetLabel,
    /// Membership by the label selector of the set.
    LabelSelector,
}

/// A namespace that the hub manages on every cluster of the set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub(crate) struct ManagedNamespace {
    /// The name of the namespace.
    #[schemars(length(max = 63), regex(pattern = NAMESPACE_NAME))]
    pub(crate) name: String,
}

/// Status of the set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ManagedClusterSetStatus {
    /// The state of the set, such as whether it has members.
    pub(crate) conditions: Vec<Condition>,
}

/// Serves ManagedClusterSet.
pub(super) struct ManagedClusterSetKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Empty", "Whether the set has no members")
            .at(".status.conditions[?(@.type==\"ClusterSetEmpty\")].status"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "managedclusterset",
            short_names: &["mclset", "mclsets"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(
                GROUP,
                &["v1beta2", "v1alpha1"],
                "ManagedClusterSet",
                "managedclustersets",
            )
        },
        Schema::of::<ManagedClusterSet>,
    )
};

impl Kind for ManagedClusterSetKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        // The schema has refused an object that cannot be parsed.
        let Ok(view) = ManagedClusterSet::deserialize(new) else {
            return Vec::new();
        };
        let selector = view.spec.cluster_selector.label_selector;
        selector
            .and_then(|selector| Selector::compile(&selector, "spec.clusterSelector.labelSelector").err())
            .unwrap_or_default()
    }
}
