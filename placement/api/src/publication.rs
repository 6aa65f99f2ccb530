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
    /// Objects to publish, and the namespace and form in which they are published.
    pub spec: PublicationSpec,
    /// Whether the Publication is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublicationStatus>,
}

/// Status of a Publication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicationStatus {
    /// Condition Valid is False, with a reason, while the Publication is not in force. Condition Published is
    /// False while some of its objects are not published.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// Objects to publish, and the namespace and form in which they are published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["namespace"]))]
pub struct PublicationSpec {
    /// The namespace in which the objects are published. Immutable.
    pub namespace: String,
    /// The systems whose targets and decisions are published. If empty, all served systems.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub systems: Vec<String>,
    /// The labels of the targets to publish. If empty, all targets.
    pub target_selector: LabelSelector,
    /// The labels of the placeable objects whose decisions are published. If empty, all decisions.
    pub decision_selector: LabelSelector,
    /// Rule for the names of profiles: Qualified (cluster, dot, system; the default) or Bare (only the
    /// cluster; for one system). Immutable.
    #[schemars(extend("enum" = ["Qualified", "Bare"], "default" = "Qualified"))]
    pub names: String,
    /// The name of the cluster manager in every profile; berth by default. Immutable.
    #[schemars(extend("default" = "berth"))]
    pub cluster_manager: String,
    /// The ClusterSet of the profiles, which their label states.
    pub cluster_set: String,
    /// Further labels of the published objects.
    pub labels: BTreeMap<String, String>,
    /// The kinds to publish; ClusterProfile and PlacementDecision by default. PlacementDecision requires
    /// ClusterProfile, to which its clusters refer. PublishedDecision is the kind for Argo CD.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub shapes: Vec<Shape>,
}

/// A published kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// Clusters.
    ClusterProfile,
    /// Decisions.
    PlacementDecision,
    /// Decisions with flat entries, computed for each read.
    PublishedDecision,
}

impl Shape {
    /// The kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClusterProfile => "ClusterProfile",
            Self::PlacementDecision => "PlacementDecision",
            Self::PublishedDecision => "PublishedDecision",
        }
    }
}
