//! PublishedDecision: a decision as a Publication shows it to tools that copy every key of an entry into a
//! template.

use berth_apimachinery::{Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::clusters;
use super::kind::{Virtual, info};
use super::shared::Token;

/// A decision in the namespace of a Publication, with a flat entry for each cluster. Argo CD's cluster
/// decision generator reads it (status list key `decisions`, match key `clusterName`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecision {
    /// The decision that is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<PublishedDecisionSpec>,
    /// Clusters of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublishedDecisionStatus>,
}

/// Decision of a PublishedDecision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecisionSpec {
    /// The Publication that publishes the decision.
    pub publication: String,
    /// The scheduling system.
    pub dialect: Token,
    /// The name of the Decision, or of the ClusterDecision if there is no namespace.
    pub decision: String,
    /// The namespace of the Decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Clusters of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedDecisionStatus {
    /// The clusters, the best first. The list is always present; without entries, nothing is decided.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub decisions: Vec<PublishedCluster>,
}

/// A cluster of a decision. Every value is a text; empty if there is no value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedCluster {
    /// The name of the cluster's ClusterProfile by the Publication's rule; it is also valid as a part of
    /// other objects' names.
    pub cluster_name: String,
    /// Values of the cluster for templates.
    #[serde(flatten)]
    pub keys: ClusterKeys,
}

/// Values of a cluster for templates. Every value is a text; empty if there is no value. No key is `name` or
/// `server`, which Argo CD sets from the cluster itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterKeys {
    /// The system's own name of the cluster.
    pub cluster: String,
    /// The name of the cluster's Target.
    pub target: String,
    /// The scheduling system.
    pub system: String,
    /// The name of the decision.
    pub decision: String,
    /// The namespace of the decision.
    pub namespace: String,
    /// The region.
    pub region: String,
    /// The availability zones, joined by commas.
    pub zone: String,
    /// The infrastructure provider.
    pub provider: String,
    /// The rank by the recorded scores, from 1.
    pub rank: String,
    /// The recorded score.
    pub score: String,
    /// The cluster's share of the amount; empty if the system does not divide one.
    pub amount: String,
    /// The reason why the cluster was chosen; empty if the system records none.
    pub reason: String,
    /// The state of the binding; empty if the system does not name states.
    pub state: String,
}

/// The kind of `publisheddecisions`.
#[must_use]
pub fn kind() -> Virtual {
    let info = info("PublishedDecision", PLURAL, "publisheddecision", &["get", "list"]);
    Virtual {
        columns: vec![
            Column::NAME,
            Column::text("Publication", "The Publication that publishes the decision")
                .at(".spec.publication")
                .or_none(),
            Column::text("Clusters", "The clusters, the best first").computed(clusters),
            Column::AGE,
        ],
        ..Virtual::new(info, Schema::of::<PublishedDecision>())
    }
}

/// The plural name of the resource.
pub const PLURAL: &str = "publisheddecisions";
