//! PublishedDecision: a decision as a Publication shows it to tools that copy every key of an entry into a
//! template.

use berth_apimachinery::{Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::clusters;
use super::kind::{Virtual, info};
use super::shared::Token;

/// A decision in the namespace that a Publication names, with a flat entry for each cluster: what Argo CD's
/// cluster decision generator reads (status list key `decisions`, match key `clusterName`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecision {
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<PublishedDecisionSpec>,
    /// Clusters it went to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<PublishedDecisionStatus>,
}

/// Decision of a PublishedDecision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedDecisionSpec {
    /// The Publication that shows it.
    pub publication: String,
    /// The scheduling system.
    pub dialect: Token,
    /// The name of the Decision, or of the ClusterDecision where there is no namespace.
    pub decision: String,
    /// The namespace of the Decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Clusters that a decision went to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedDecisionStatus {
    /// The clusters, the best first. The list is always there; without entries nothing is decided.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub decisions: Vec<PublishedCluster>,
}

/// One cluster. Every value is a text, empty where there is nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedCluster {
    /// The name of its ClusterProfile by the Publication's rule, which can be part of other names.
    pub cluster_name: String,
    /// Further names of the cluster.
    #[serde(flatten)]
    pub keys: ClusterKeys,
}

/// A cluster of a decision as templates are given it. Every value is a text, empty where there is nothing to
/// say. No key is `name` or `server`, by which Argo CD has a cluster's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterKeys {
    /// The name the system itself gives it.
    pub cluster: String,
    /// The name of its Target.
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
    /// The place by the recorded scores, from 1.
    pub rank: String,
    /// The recorded score.
    pub score: String,
    /// Share of the amount that the system divides; empty where it divides nothing.
    pub amount: String,
    /// Why it was chosen, where the system records that.
    pub reason: String,
    /// The state of the binding, where the system names states.
    pub state: String,
}

/// The kind of `publisheddecisions`.
#[must_use]
pub fn kind() -> Virtual {
    let info = info("PublishedDecision", PLURAL, "publisheddecision", &["get", "list"]);
    Virtual {
        columns: vec![
            Column::NAME,
            Column::text("Publication", "The Publication that shows it")
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
