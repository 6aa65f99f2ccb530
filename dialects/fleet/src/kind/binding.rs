//! ClusterResourceBinding and ResourceBinding: the binding of a placement to one cluster
//! (docs/systems/fleet.md, "Bindings").

use std::sync::LazyLock;

use berth_apimachinery::name::NameError;
use berth_apimachinery::types::Condition;
use berth_apimachinery::{Column, ConditionForm, FieldError, Kind, KindInfo, Schema, Scope, Via, Write};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rollout::{
    ApplyStrategy, DeleteStrategy, DiffedPlacement, DriftedPlacement, FailedPlacement, NamespacedName,
};
use crate::names::{BETA_ALONE, PLACEMENT_GROUP, STORED, VERSIONS};

/// The binding of a placement to one cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Binding {
    /// The decision and its state.
    pub(crate) spec: BindingSpec,
    /// Report of the rollout.
    pub(crate) status: BindingStatus,
}

/// State of a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Selected by the scheduler, waiting for the rollout.
    #[default]
    Scheduled,
    /// Taken over by the rollout.
    Bound,
    /// No longer selected, waiting for its removal.
    Unscheduled,
}

impl State {
    /// The token.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "Scheduled",
            Self::Bound => "Bound",
            Self::Unscheduled => "Unscheduled",
        }
    }
}

/// The decision and its state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = [
    "clusterDecision", "resourceSnapshotName", "schedulingPolicySnapshotName", "state", "targetCluster",
]))]
pub(crate) struct BindingSpec {
    /// Scheduled by the scheduler, Bound by the rollout, Unscheduled when the placement no longer uses the
    /// cluster.
    #[schemars(with = "String", extend("enum" = ["Scheduled", "Bound", "Unscheduled"], "default" = null))]
    pub(crate) state: State,
    /// The resource snapshot that is rolled out; filled in by the rollout.
    pub(crate) resource_snapshot_name: String,
    /// The policy snapshot by which the cluster was selected.
    pub(crate) scheduling_policy_snapshot_name: String,
    /// The cluster.
    pub(crate) target_cluster: String,
    /// The reason why the cluster was selected.
    pub(crate) cluster_decision: ClusterDecision,
    /// The overrides of namespaced resources that apply; filled in by the rollout.
    #[schemars(with = "Option<Vec<NamespacedName>>")]
    pub(crate) resource_override_snapshots: IgnoredAny,
    /// The overrides of cluster-scoped resources that apply; filled in by the rollout.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) cluster_resource_override_snapshots: IgnoredAny,
    /// Strategy of applying the resources; filled in by the rollout.
    #[schemars(with = "Option<ApplyStrategy>")]
    pub(crate) apply_strategy: IgnoredAny,
    /// Fate of the resources when the placement is deleted; filled in by the rollout.
    #[schemars(with = "Option<DeleteStrategy>")]
    pub(crate) delete_strategy: IgnoredAny,
}

/// A decision about one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName", "reason", "selected"]))]
pub(crate) struct ClusterDecision {
    /// The cluster.
    pub(crate) cluster_name: String,
    /// Whether it is selected.
    pub(crate) selected: bool,
    /// The scores of the cluster at the time of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_score: Option<ClusterScore>,
    /// The reason why the cluster is selected or not.
    pub(crate) reason: String,
}

/// The scores of a cluster at the time of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterScore {
    /// The sum of the preferred terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affinity_score: Option<i32>,
    /// Score by which the cluster evens out the topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) priority_score: Option<i32>,
}

/// Report of the rollout.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BindingStatus {
    /// The progress on the cluster, one entry per step.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// Resources that could not be placed on the cluster, or are not available there.
    #[schemars(with = "Option<Vec<FailedPlacement>>", length(max = 100))]
    pub(crate) failed_placements: IgnoredAny,
    /// Resources on the cluster that have drifted from what was placed.
    #[schemars(with = "Option<Vec<DriftedPlacement>>", length(max = 100))]
    pub(crate) drifted_placements: IgnoredAny,
    /// Resources on the cluster that differ from those of the hub.
    #[schemars(with = "Option<Vec<DiffedPlacement>>", length(max = 100))]
    pub(crate) diffed_placements: IgnoredAny,
}

/// Serves ClusterResourceBinding, or ResourceBinding.
pub(super) struct BindingKind(&'static KindInfo);

/// Serves ClusterResourceBinding.
pub(super) const OF_HUB: BindingKind = BindingKind(&INFO);
/// Serves ResourceBinding.
pub(super) const OF_NAMESPACE: BindingKind = BindingKind(&IN_NAMESPACE);

static INFO: KindInfo = KindInfo {
    storage_version: STORED,
    singular: "clusterresourcebinding",
    short_names: &["crb"],
    categories: &["fleet", "fleet-placement"],
    scope: Scope::Cluster,
    status: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        VERSIONS,
        "ClusterResourceBinding",
        "clusterresourcebindings",
    )
};

static IN_NAMESPACE: KindInfo = KindInfo {
    singular: "resourcebinding",
    short_names: &["rb"],
    categories: &["fleet", "fleet-placement"],
    status: true,
    ..KindInfo::new(PLACEMENT_GROUP, BETA_ALONE, "ResourceBinding", "resourcebindings")
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text(
        "WorkSynchronized",
        "Whether the work reached the member namespace",
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

impl Kind for BindingKind {
    fn info(&self) -> &KindInfo {
        self.0
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Binding>);
        &SCHEMA
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if matches!(write.via, Via::Subresource(_)) {
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
            "a binding binds to a cluster",
        )]
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        berth_apimachinery::name::dns_label(name)
    }

    fn columns(&self) -> &[Column] {
        COLUMNS
    }
}
