//! PublishedDecision: a decision as a Publication shows it to tools that copy every key of an entry into a
//! template.

use berth_apimachinery::{Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::clusters;
use super::kind::{VirtualKind, info};
use super::shared::Token;

/// A decision in the namespace of a Publication, with a flat entry for each cluster. The cluster decision
/// generator of Argo CD reads it (status list key `decisions`, match key `clusterName`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecision {
    /// The published decision, and the Publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<PublishedDecisionSpec>,
    /// The clusters of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublishedDecisionStatus>,
}

/// The decision that a PublishedDecision shows, and the Publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecisionSpec {
    /// The Publication that publishes the decision.
    pub publication: String,
    /// The scheduling system of the decision.
    pub dialect: Token,
    /// The name of the Decision, or of the ClusterDecision if there is no namespace.
    pub decision: String,
    /// The namespace of the Decision; absent for a ClusterDecision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// The clusters of a published decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedDecisionStatus {
    /// The clusters, the best first. The list is always present, and empty while no cluster is decided.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub decisions: Vec<PublishedCluster>,
}

/// A cluster of a published decision. Every value is a text, which is empty if the value is unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedCluster {
    /// The name of the cluster's ClusterProfile, by the rule of the Publication for names. The name is also
    /// valid as a part of names of other objects.
    pub cluster_name: String,
    /// Values of the cluster for templates.
    #[serde(flatten)]
    pub keys: ClusterKeys,
}

/// Values of a cluster for templates. Every value is a text, which is empty if the value is unknown. No key
/// is `name` or `server`, which Argo CD sets from the cluster itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterKeys {
    /// The system's own name of the cluster.
    pub cluster: String,
    /// The name of the cluster's Target.
    pub target: String,
    /// The scheduling system of the cluster.
    pub system: String,
    /// The name of the published decision.
    pub decision: String,
    /// The namespace of the published decision.
    pub namespace: String,
    /// The region of the cluster.
    pub region: String,
    /// The availability zones of the cluster, joined by commas.
    pub zone: String,
    /// The infrastructure provider of the cluster.
    pub provider: String,
    /// The rank of the cluster by the recorded scores, from 1.
    pub rank: String,
    /// The recorded score of the cluster.
    pub score: String,
    /// The cluster's share of the amount; empty if the system does not divide one.
    pub amount: String,
    /// The reason why the cluster was chosen; empty if the system records none.
    pub reason: String,
    /// The state of the binding; empty if the system does not name states.
    pub state: String,
}

/// Returns the kind of `publisheddecisions`.
#[must_use]
pub fn kind() -> VirtualKind {
    let info = info("PublishedDecision", PLURAL, "publisheddecision", &["get", "list"]);
    VirtualKind {
        columns: vec![
            Column::NAME,
            Column::text("Publication", "The Publication that publishes the decision")
                .at(".spec.publication")
                .or_none(),
            Column::text("Clusters", "The clusters, the best first").computed(clusters),
            Column::AGE,
        ],
        ..VirtualKind::new(info, Schema::of::<PublishedDecision>())
    }
}

/// The plural name of the resource.
pub const PLURAL: &str = "publisheddecisions";
