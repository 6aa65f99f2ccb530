//! PlacementDecision v1beta1 and v1alpha1: the selected clusters of a Placement, at most 100 per object
//! (docs/systems/ocm.md, "What is written").

use berth_apimachinery::{Definition, FieldError, Kind, KindInfo, Schema, Write, described_by};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::names::{DECISIONS_PER_OBJECT, GROUP};

/// A part of the clusters that a Placement selected. The label cluster.open-cluster-management.io/placement
/// names the Placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PlacementDecision {
    /// The selected clusters.
    pub(crate) status: PlacementDecisionStatus,
}

/// The selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["decisions"]))]
pub(crate) struct PlacementDecisionStatus {
    /// The selected clusters, by name, at most 100.
    pub(crate) decisions: Vec<ClusterDecision>,
}

/// One selected cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName", "reason"]))]
pub(crate) struct ClusterDecision {
    /// The name of the ManagedCluster.
    pub(crate) cluster_name: String,
    /// The reason why the cluster was selected; usually empty.
    pub(crate) reason: String,
    /// The score of the cluster when it was selected. Stored, but not written by Berth.
    pub(crate) score: Option<i64>,
}

/// Serves PlacementDecision.
pub(super) struct PlacementDecisionKind;

static DEFINITION: Definition = Definition::new(
    KindInfo {
        singular: "placementdecision",
        status_subresource: true,
        ..KindInfo::new(
            GROUP,
            &["v1beta1", "v1alpha1"],
            "PlacementDecision",
            "placementdecisions",
        )
    },
    Schema::of::<PlacementDecision>,
);

impl Kind for PlacementDecisionKind {
    described_by!(DEFINITION);

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let count = new
            .pointer("/status/decisions")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if count > DECISIONS_PER_OBJECT {
            vec![FieldError::too_many(
                "status.decisions",
                count,
                DECISIONS_PER_OBJECT,
            )]
        } else {
            Vec::new()
        }
    }
}
