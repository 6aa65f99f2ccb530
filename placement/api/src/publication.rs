//! Publication: the targets and decisions that other tools read, and their namespace.

use std::collections::BTreeMap;

use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Publishes targets and decisions in one namespace, as ClusterProfiles and PlacementDecisions that other
/// tools read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["spec"]))]
pub struct Publication {
    /// The objects to publish, and the namespace and form of the published objects.
    pub spec: PublicationSpec,
    /// The conditions of the Publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublicationStatus>,
}

/// The status of a Publication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicationStatus {
    /// Condition Valid is False, with a reason, while the Publication is not in force. Condition Published is
    /// False while some objects of the Publication are not published.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// The objects to publish, and the namespace and form of the published objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["namespace"]))]
pub struct PublicationSpec {
    /// The namespace in which the objects are published. Immutable.
    pub namespace: String,
    /// The systems whose targets and decisions are published. If empty, those of all served systems are
    /// published.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub systems: Vec<String>,
    /// The selector of targets by their labels. If empty, all targets are published.
    pub target_selector: LabelSelector,
    /// The selector of decisions by the labels of their placeable objects. If empty, all decisions are
    /// published.
    pub decision_selector: LabelSelector,
    /// The rule for the names of ClusterProfiles: Qualified (cluster, dot, system; the default) or Bare (only
    /// the cluster; for a single system). Immutable.
    #[schemars(extend("enum" = ["Qualified", "Bare"], "default" = "Qualified"))]
    pub names: String,
    /// The name of the cluster manager in every ClusterProfile; berth by default. Immutable.
    #[schemars(extend("default" = "berth"))]
    pub cluster_manager: String,
    /// The ClusterSet of the ClusterProfiles, which a label of each ClusterProfile names.
    pub cluster_set: String,
    /// Further labels of the published objects.
    pub labels: BTreeMap<String, String>,
    /// The kinds to publish; ClusterProfile and PlacementDecision by default. PlacementDecision requires
    /// ClusterProfile, since a PlacementDecision refers to ClusterProfiles. PublishedDecision is the kind for
    /// Argo CD.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub shapes: Vec<Shape>,
}

/// A kind of published objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// ClusterProfiles: the clusters.
    ClusterProfile,
    /// PlacementDecisions: the decisions.
    PlacementDecision,
    /// PublishedDecisions: the decisions with flat entries, computed for each read.
    PublishedDecision,
}

impl Shape {
    /// Returns the name of the kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClusterProfile => "ClusterProfile",
            Self::PlacementDecision => "PlacementDecision",
            Self::PublishedDecision => "PublishedDecision",
        }
    }
}
