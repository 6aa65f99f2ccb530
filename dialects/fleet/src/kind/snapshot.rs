//! ClusterSchedulingPolicySnapshot and SchedulingPolicySnapshot: one version of a placement's policy, and the
//! result of scheduling by this version (docs/systems/fleet.md, "Policy snapshots" and "What is written").

use berth_apimachinery::types::Condition;
use berth_apimachinery::{Column, ConditionForm, Definition, KindInfo, Schema, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::binding::ClusterDecision;
use super::policy::PlacementPolicy;
use crate::names::{PLACEMENT_GROUP, STORED, V1BETA1_ONLY, VERSIONS};

/// One version of a placement's policy, and the result of scheduling by this version.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct PolicySnapshot {
    /// The policy, with a hash of it.
    pub(crate) spec: PolicySnapshotSpec,
    /// The result of scheduling by the policy.
    pub(crate) status: PolicySnapshotStatus,
}

/// A policy, with a hash of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["policyHash"]))]
pub(crate) struct PolicySnapshotSpec {
    /// The policy of the placement; absent if the placement has none.
    pub(crate) policy: Option<PlacementPolicy>,
    /// The hash of the policy, regardless of the number of clusters.
    #[schemars(extend("format" = "byte"))]
    pub(crate) policy_hash: String,
}

/// The result of scheduling by the policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["observedCRPGeneration"]))]
pub(crate) struct PolicySnapshotStatus {
    /// The generation of the placement for which the result holds.
    #[serde(rename = "observedCRPGeneration")]
    pub(crate) observed_generation: Option<i64>,
    /// The conditions of the snapshot: Scheduled is True if all requested clusters were found.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The decisions on single clusters, selected clusters first.
    #[serde(rename = "targetClusters")]
    #[schemars(length(max = 1000))]
    pub(crate) target_clusters: Vec<ClusterDecision>,
}

/// The definition of the kind ClusterSchedulingPolicySnapshot.
///
/// The rules for placements are not applied to snapshots: hubs may store snapshots that were made under
/// earlier rules, such as a PickN policy whose number was only in an annotation.
pub(super) static CLUSTER_SCOPED: Definition = definition(KindInfo {
    storage_version: STORED,
    singular: "clusterschedulingpolicysnapshot",
    short_names: &["csps"],
    categories: &["fleet", "fleet-placement"],
    scope: Scope::Cluster,
    status_subresource: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        VERSIONS,
        "ClusterSchedulingPolicySnapshot",
        "clusterschedulingpolicysnapshots",
    )
});

/// The definition of the kind SchedulingPolicySnapshot.
pub(super) static NAMESPACED: Definition = definition(KindInfo {
    singular: "schedulingpolicysnapshot",
    short_names: &["sps"],
    categories: &["fleet", "fleet-placement"],
    status_subresource: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        V1BETA1_ONLY,
        "SchedulingPolicySnapshot",
        "schedulingpolicysnapshots",
    )
});

const fn definition(info: KindInfo) -> Definition {
    const COLUMNS: &[Column] = &[
        Column::NAME,
        Column::text("Gen", "The generation of the snapshot")
            .integer()
            .at(".metadata.generation"),
        Column::AGE,
    ];
    Definition {
        columns: COLUMNS,
        ..Definition::new(info, Schema::of::<PolicySnapshot>)
    }
}
