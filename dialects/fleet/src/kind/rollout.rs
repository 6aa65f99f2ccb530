//! The fields of a placement about its rollout, in spec and status. They are declared as in the system's own
//! definitions, so that an exported object can be applied again. Decisions do not read these fields.

#![expect(dead_code, reason = "the types give the schema; nothing is read into them")]

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{IntOrString, Time};
use schemars::JsonSchema;

/// Strategy by which changes reach the chosen clusters.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct RolloutStrategy {
    /// RollingUpdate changes cluster by cluster, External leaves the pace to staged update runs.
    #[schemars(extend("enum" = ["RollingUpdate", "External"], "default" = "RollingUpdate"))]
    r#type: Option<String>,
    /// The pace of a rolling update.
    rolling_update: Option<RollingUpdate>,
    /// Strategy of applying resources to a cluster.
    apply_strategy: Option<ApplyStrategy>,
    /// Fate of the resources when the placement is deleted.
    delete_strategy: Option<DeleteStrategy>,
    /// Strategy by which the status of the resources comes back to the hub.
    report_back_strategy: Option<ReportBackStrategy>,
}

/// A number of clusters, or a share of them from 0% to 100%.
const CLUSTERS: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";

/// The pace of a rolling update.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct RollingUpdate {
    /// Most clusters that may be without the resources at a time, as a number or a share.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_unavailable: Option<IntOrString>,
    /// Most clusters that may have the resources beyond the number wanted, as a number or a share.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_surge: Option<IntOrString>,
    /// Time for which resources whose availability cannot be told count as unavailable after a change, in
    /// seconds.
    #[schemars(extend("default" = 60, "format" = null))]
    unavailable_period_seconds: Option<i64>,
}

/// Strategy of applying resources to a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ApplyStrategy {
    /// Whether all fields are compared with what is on the cluster, or those the hub has.
    #[schemars(extend("enum" = ["PartialComparison", "FullComparison"], "default" = "PartialComparison"))]
    comparison_option: Option<String>,
    /// Whether what has drifted on the cluster is overwritten.
    #[schemars(extend("enum" = ["Always", "IfNotDrifted"], "default" = "Always"))]
    when_to_apply: Option<String>,
    /// By which means resources are applied; ReportDiff only compares.
    #[schemars(extend("enum" = ["ClientSideApply", "ServerSideApply", "ReportDiff"], "default" = "ClientSideApply"))]
    r#type: Option<String>,
    /// Whether resources may have other owners besides.
    allow_co_ownership: Option<bool>,
    /// Settings of server-side apply.
    server_side_apply_config: Option<ServerSideApplyConfig>,
    /// Whether resources that are on the cluster already are taken over.
    #[schemars(extend("enum" = ["Always", "IfNoDiff", "Never"], "default" = "Always"))]
    when_to_take_over: Option<String>,
}

/// Settings of server-side apply.
#[derive(JsonSchema)]
struct ServerSideApplyConfig {
    /// Whether fields of others are taken over on a conflict.
    force: Option<bool>,
}

/// Fate of the resources when the placement is deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DeleteStrategy {
    /// Delete takes them off the clusters, Abandon leaves them there.
    #[schemars(extend("enum" = ["Abandon", "Delete"], "default" = "Delete"))]
    propagation_policy: Option<String>,
}

/// Strategy by which the status of the resources comes back to the hub.
#[derive(JsonSchema)]
struct ReportBackStrategy {
    /// Mirror copies it, Disabled does not.
    #[schemars(extend("enum" = ["Disabled", "Mirror"], "default" = "Disabled"))]
    r#type: String,
    /// Destination of the copy.
    #[schemars(extend("enum" = ["OriginalResource", "WorkAPI"]))]
    destination: Option<String>,
}

/// A namespaced object by its name.
#[derive(JsonSchema)]
pub(super) struct NamespacedName {
    /// The name.
    name: String,
    /// The namespace.
    namespace: String,
}

/// A resource of the hub.
#[derive(JsonSchema)]
pub(super) struct ResourceIdentifier {
    /// The API group; empty for the core group.
    group: Option<String>,
    /// The version.
    version: String,
    /// The kind.
    kind: String,
    /// The name.
    name: String,
    /// The namespace; empty for a cluster-scoped resource.
    namespace: Option<String>,
    /// The envelope the resource is in, where it is in one.
    envelope: Option<EnvelopeIdentifier>,
}

/// An object that carries resources.
#[derive(JsonSchema)]
struct EnvelopeIdentifier {
    /// The name.
    name: String,
    /// The namespace; empty for a cluster-scoped envelope.
    namespace: Option<String>,
    /// The kind.
    #[schemars(extend("enum" = ["ConfigMap", "ClusterResourceEnvelope", "ResourceEnvelope"], "default" = "ConfigMap"))]
    r#type: Option<String>,
}

/// The progress of the placement on one cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct PerClusterPlacementStatus {
    /// The cluster; empty where none was found.
    cluster_name: Option<String>,
    /// The overrides of namespaced resources that apply to the cluster.
    applicable_resource_overrides: Option<Vec<NamespacedName>>,
    /// The overrides of cluster-scoped resources that apply to the cluster.
    applicable_cluster_resource_overrides: Option<Vec<String>>,
    /// The number of the resource snapshot that the cluster is to have.
    observed_resource_index: Option<String>,
    /// Resources that could not be placed on the cluster.
    #[schemars(length(max = 100))]
    failed_placements: Option<Vec<FailedPlacement>>,
    /// Resources that are no longer on the cluster as they were placed.
    #[schemars(length(max = 100))]
    drifted_placements: Option<Vec<DriftedPlacement>>,
    /// Resources that are on the cluster otherwise than the hub has them.
    #[schemars(length(max = 100))]
    diffed_placements: Option<Vec<DiffedPlacement>>,
    /// The progress, one entry per step.
    conditions: Option<Vec<ConditionForm>>,
}

/// A resource that could not be placed.
#[derive(JsonSchema)]
pub(super) struct FailedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// Why.
    condition: ConditionForm,
}

/// A resource that is no longer as it was placed.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DriftedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// When it was looked at last.
    observation_time: Time,
    /// The generation of the resource on the cluster.
    target_cluster_observed_generation: i64,
    /// When the drift was first seen.
    first_drifted_observed_time: Time,
    /// Paths that drifted.
    observed_drifts: Option<Vec<PatchDetail>>,
}

/// A resource that is otherwise than the hub has it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DiffedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// When it was looked at last.
    observation_time: Time,
    /// The generation of the resource on the cluster, where it is there.
    target_cluster_observed_generation: Option<i64>,
    /// When the difference was first seen.
    first_diffed_observed_time: Time,
    /// Paths that differ.
    observed_diffs: Option<Vec<PatchDetail>>,
}

/// One place in which a resource differs.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct PatchDetail {
    /// The place, as a JSON pointer.
    path: String,
    /// The value on the cluster.
    value_in_member: Option<String>,
    /// The value on the hub.
    value_in_hub: Option<String>,
}
