//! AddOnPlacementScore v1alpha1: scores of one cluster, pushed by any client (docs/systems/ocm.md, "API
//! objects").

use berth_apimachinery::{Definition, Kind, KindInfo, Schema, Timestamp, described_by};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Condition;
use crate::names::GROUP;

/// A bundle of scores of one cluster, in the namespace with the cluster's name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AddOnPlacementScore {
    /// The scores, written by the program that measures them.
    pub(crate) status: AddOnPlacementScoreStatus,
}

/// The scores of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AddOnPlacementScoreStatus {
    /// The state of the scores, one entry per aspect.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The scores, with unique names.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub(crate) scores: Vec<ScoreItem>,
    /// The instant after which the scores count as 0. Without it, they never expire.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub(crate) valid_until: Option<Timestamp>,
}

/// One score of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"]))]
pub(crate) struct ScoreItem {
    /// The name of the score.
    pub(crate) name: String,
    /// The value of the score, from -100 to 100; 0 by default.
    #[schemars(range(min = -100, max = 100))]
    pub(crate) value: i32,
}

/// Serves AddOnPlacementScore.
pub(super) struct AddOnPlacementScoreKind;

static DEFINITION: Definition = Definition::new(
    KindInfo {
        singular: "addonplacementscore",
        status_subresource: true,
        ..KindInfo::new(
            GROUP,
            &["v1alpha1"],
            "AddOnPlacementScore",
            "addonplacementscores",
        )
    },
    Schema::of::<AddOnPlacementScore>,
);

impl Kind for AddOnPlacementScoreKind {
    described_by!(DEFINITION);
}
