//! Publication: which targets and decisions other tools read, and in which namespace.

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
    /// Objects to publish, destination and form.
    pub spec: PublicationSpec,
    /// Whether it is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublicationStatus>,
}

/// Status of a Publication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicationStatus {
    /// Condition Valid is False while the Publication is not in force, and says why; condition Published is
    /// False while not everything it says is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// Objects to publish, destination and form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["namespace"]))]
pub struct PublicationSpec {
    /// The namespace the objects appear in. It cannot change.
    pub namespace: String,
    /// The systems whose targets and decisions are published. Empty means all that are served.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub systems: Vec<String>,
    /// The labels of the targets that are published. Empty means all.
    pub target_selector: LabelSelector,
    /// The labels of the placeable objects whose decisions are published. Empty means all.
    pub decision_selector: LabelSelector,
    /// Rule for the names of profiles: Qualified (cluster, dot, system; the default) or Bare (the cluster
    /// alone, for one system). It cannot change.
    #[schemars(extend("enum" = ["Qualified", "Bare"], "default" = "Qualified"))]
    pub names: String,
    /// The name of the cluster manager in every profile, berth by default. It cannot change.
    #[schemars(extend("default" = "berth"))]
    pub cluster_manager: String,
    /// The ClusterSet the profiles belong to, as their label says it.
    pub cluster_set: String,
    /// Further labels of every object.
    pub labels: BTreeMap<String, String>,
    /// The kinds that appear; ClusterProfile and PlacementDecision by default. PlacementDecision needs
    /// ClusterProfile, which its clusters refer to. PublishedDecision is what Argo CD reads.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub shapes: Vec<Shape>,
}

/// A kind that appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Shape {
    /// Clusters.
    ClusterProfile,
    /// Decisions.
    PlacementDecision,
    /// Decisions with flat entries, made at each read.
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
