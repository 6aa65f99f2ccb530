//! ClusterResourceBinding and ResourceBinding: the binding of a placement to one cluster
//! (docs/systems/fleet.md, "Bindings").

use std::sync::LazyLock;

use berth_apimachinery::name::NameError;
use berth_apimachinery::types::Condition;
use berth_apimachinery::{
    Column, ConditionForm, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation,
};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rollout::{
    ApplyStrategy, DeleteStrategy, DiffedPlacement, DriftedPlacement, FailedPlacement, NamespacedName,
};
use crate::names::{PLACEMENT_GROUP, STORED, V1BETA1_ONLY, VERSIONS};

/// The binding of a placement to one cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Binding {
    /// The selected cluster, and the state of the binding.
    pub(crate) spec: BindingSpec,
    /// The progress of the rollout on the cluster.
    pub(crate) status: BindingStatus,
}

/// The state of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// The scheduler has selected the cluster, and the rollout has not started.
    #[default]
    Scheduled,
    /// The rollout places the resources on the cluster.
    Bound,
    /// The cluster is no longer selected, and the rollout will delete the binding.
    Unscheduled,
}

impl State {
    /// The name of the state in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Bound => "Bound",
            Self::Unscheduled => "Unscheduled",
        }
    }
}

/// The selected cluster, and the state of the binding.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = [
    "clusterDecision", "resourceSnapshotName", "schedulingPolicySnapshotName", "state", "targetCluster",
]))]
pub(crate) struct BindingSpec {
    /// State of the binding: Scheduled when the scheduler has selected the cluster, Bound when the rollout
    /// has started, Unscheduled when the placement no longer uses the cluster.
    #[schemars(with = "String", extend("enum" = ["Scheduled", "Bound", "Unscheduled"], "default" = null))]
    pub(crate) state: State,
    /// The name of the resource snapshot that is rolled out; set by the rollout.
    pub(crate) resource_snapshot_name: String,
    /// The name of the policy snapshot by which the cluster was selected.
    pub(crate) scheduling_policy_snapshot_name: String,
    /// The name of the cluster on which resources are placed.
    pub(crate) target_cluster: String,
    /// The decision that selected the cluster, with reason and scores.
    pub(crate) cluster_decision: ClusterDecision,
    /// The overrides of namespaced resources that apply to the cluster; set by the rollout.
    #[schemars(with = "Option<Vec<NamespacedName>>")]
    pub(crate) resource_override_snapshots: IgnoredAny,
    /// The overrides of cluster-scoped resources that apply to the cluster; set by the rollout.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) cluster_resource_override_snapshots: IgnoredAny,
    /// The strategy of applying resources to the cluster; set by the rollout.
    #[schemars(with = "Option<ApplyStrategy>")]
    pub(crate) apply_strategy: IgnoredAny,
    /// The treatment of placed resources when the placement is deleted; set by the rollout.
    #[schemars(with = "Option<DeleteStrategy>")]
    pub(crate) delete_strategy: IgnoredAny,
}

/// The decision of the scheduler on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName", "reason", "selected"]))]
pub(crate) struct ClusterDecision {
    /// The name of the cluster.
    pub(crate) cluster_name: String,
    /// Whether the cluster is selected.
    pub(crate) selected: bool,
    /// The scores of the cluster at the time of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_score: Option<ClusterScore>,
    /// The reason why the cluster is selected or not selected.
    pub(crate) reason: String,
}

/// The scores of a cluster at the time of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterScore {
    /// The affinity score: the sum of the weights of the preferred terms that match the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affinity_score: Option<i32>,
    /// The topology spread score: higher if the cluster evens out the spread over topology domains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority_score: Option<i32>,
}

/// The progress of the rollout on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BindingStatus {
    /// The progress of the rollout on the cluster, with one condition per step.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The resources that could not be placed on the cluster, or are not available on it.
    #[schemars(with = "Option<Vec<FailedPlacement>>", length(max = 100))]
    pub(crate) failed_placements: IgnoredAny,
    /// The resources on the cluster that have changed since they were placed.
    #[schemars(with = "Option<Vec<DriftedPlacement>>", length(max = 100))]
    pub(crate) drifted_placements: IgnoredAny,
    /// The resources on the cluster that differ from the resources on the hub.
    #[schemars(with = "Option<Vec<DiffedPlacement>>", length(max = 100))]
    pub(crate) diffed_placements: IgnoredAny,
}

/// The served kind ClusterResourceBinding or ResourceBinding.
pub(super) struct BindingKind(&'static Definition);

/// The kind ClusterResourceBinding.
pub(super) const CLUSTER_SCOPED: BindingKind = BindingKind(&DEFINITION);
/// The kind ResourceBinding.
pub(super) const NAMESPACED: BindingKind = BindingKind(&NAMESPACED_DEFINITION);

static DEFINITION: Definition = definition(KindInfo {
    storage_version: STORED,
    singular: "clusterresourcebinding",
    short_names: &["crb"],
    categories: &["fleet", "fleet-placement"],
    scope: Scope::Cluster,
    status_subresource: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        VERSIONS,
        "ClusterResourceBinding",
        "clusterresourcebindings",
    )
});

static NAMESPACED_DEFINITION: Definition = definition(KindInfo {
    singular: "resourcebinding",
    short_names: &["rb"],
    categories: &["fleet", "fleet-placement"],
    status_subresource: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        V1BETA1_ONLY,
        "ResourceBinding",
        "resourcebindings",
    )
});

const fn definition(info: KindInfo) -> Definition {
    const COLUMNS: &[Column] = &[
        Column::NAME,
        Column::text(
            "WorkSynchronized",
            "Whether the resources have been handed to the agent of the cluster",
        )
        .at(".status.conditions[?(@.type==\"WorkSynchronized\")].status"),
        Column::text(
            "ResourcesApplied",
            "Whether the resources are applied on the cluster",
        )
        .at(".status.conditions[?(@.type==\"Applied\")].status"),
        Column::text(
            "ResourceAvailable",
            "Whether the resources are available on the cluster",
        )
        .at(".status.conditions[?(@.type==\"Available\")].status")
        .wide(),
        Column::AGE,
    ];
    Definition {
        columns: COLUMNS,
        ..Definition::new(info, Schema::of::<Binding>)
    }
}

impl Kind for BindingKind {
    fn info(&self) -> &KindInfo {
        &self.0.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(DEFINITION.schema);
        &SCHEMA
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        let target = new
            .pointer("/spec/targetCluster")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !target.is_empty() {
            return Vec::new();
        }
        vec![FieldError::required(
            "spec.targetCluster",
            "must name the cluster on which resources are placed",
        )]
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        berth_apimachinery::name::dns_label(name)
    }

    fn columns(&self) -> &[Column] {
        self.0.columns
    }
}
