//! The fields of placements and bindings about the rollout, in spec and status. They are declared as in the
//! system's own definitions, so that an exported object can be applied again. Decisions do not read these
//! fields.

#![expect(dead_code, reason = "the types give the schema; nothing is read into them")]

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{IntOrString, Time};
use schemars::JsonSchema;

/// Strategy by which changes reach the chosen clusters.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct RolloutStrategy {
    /// RollingUpdate changes cluster by cluster, External lets staged update runs set the pace.
    #[schemars(extend("enum" = ["RollingUpdate", "External"], "default" = "RollingUpdate"))]
    r#type: Option<String>,
    /// The pace of a rolling update.
    rolling_update: Option<RollingUpdate>,
    /// Strategy of applying resources to a cluster.
    apply_strategy: Option<ApplyStrategy>,
    /// Fate of the resources when the placement is deleted.
    delete_strategy: Option<DeleteStrategy>,
    /// Strategy of reporting the status of the resources to the hub.
    report_back_strategy: Option<ReportBackStrategy>,
}

/// The pattern of a number of clusters, or of a share from 0% to 100%.
const CLUSTERS: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";

/// The pace of a rolling update.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct RollingUpdate {
    /// Most clusters that may be without the resources at a time, as a number or a share.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_unavailable: Option<IntOrString>,
    /// Most clusters beyond the requested number that may have the resources, as a number or a share.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_surge: Option<IntOrString>,
    /// Time in seconds after a change for which resources without a known availability count as unavailable.
    #[schemars(extend("default" = 60, "format" = null))]
    unavailable_period_seconds: Option<i64>,
}

/// Strategy of applying resources to a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ApplyStrategy {
    /// Whether all fields are compared with those on the cluster, or only the fields that the hub sets.
    #[schemars(extend("enum" = ["PartialComparison", "FullComparison"], "default" = "PartialComparison"))]
    comparison_option: Option<String>,
    /// Whether drifted resources on the cluster are overwritten.
    #[schemars(extend("enum" = ["Always", "IfNotDrifted"], "default" = "Always"))]
    when_to_apply: Option<String>,
    /// The means of applying resources; ReportDiff only compares.
    #[schemars(extend("enum" = ["ClientSideApply", "ServerSideApply", "ReportDiff"], "default" = "ClientSideApply"))]
    r#type: Option<String>,
    /// Whether resources may have further owners.
    allow_co_ownership: Option<bool>,
    /// Settings of server-side apply.
    server_side_apply_config: Option<ServerSideApplyConfig>,
    /// Whether existing resources on the cluster are adopted.
    #[schemars(extend("enum" = ["Always", "IfNoDiff", "Never"], "default" = "Always"))]
    when_to_take_over: Option<String>,
}

/// Settings of server-side apply.
#[derive(JsonSchema)]
struct ServerSideApplyConfig {
    /// Whether fields of other managers are overwritten on a conflict.
    force: Option<bool>,
}

/// Fate of the resources when the placement is deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DeleteStrategy {
    /// Delete removes the resources from the clusters, Abandon keeps them.
    #[schemars(extend("enum" = ["Abandon", "Delete"], "default" = "Delete"))]
    propagation_policy: Option<String>,
}

/// Strategy of reporting the status of the resources to the hub.
#[derive(JsonSchema)]
struct ReportBackStrategy {
    /// Mirror copies the status, Disabled does not.
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
    /// The envelope that contains the resource, if there is one.
    envelope: Option<EnvelopeIdentifier>,
}

/// An object that contains resources.
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
    /// The cluster; empty if none was found.
    cluster_name: Option<String>,
    /// The overrides of namespaced resources that apply to the cluster.
    applicable_resource_overrides: Option<Vec<NamespacedName>>,
    /// The overrides of cluster-scoped resources that apply to the cluster.
    applicable_cluster_resource_overrides: Option<Vec<String>>,
    /// The number of the resource snapshot for the cluster.
    observed_resource_index: Option<String>,
    /// Resources that could not be placed on the cluster.
    #[schemars(length(max = 100))]
    failed_placements: Option<Vec<FailedPlacement>>,
    /// Resources on the cluster that have drifted from what was placed.
    #[schemars(length(max = 100))]
    drifted_placements: Option<Vec<DriftedPlacement>>,
    /// Resources on the cluster that differ from those of the hub.
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
    /// The reason.
    condition: ConditionForm,
}

/// A resource that has drifted from what was placed.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DriftedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// Time of the last observation.
    observation_time: Time,
    /// The generation of the resource on the cluster.
    target_cluster_observed_generation: i64,
    /// Time at which the drift was first observed.
    first_drifted_observed_time: Time,
    /// Paths that drifted.
    observed_drifts: Option<Vec<PatchDetail>>,
}

/// A resource that differs from that of the hub.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DiffedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// Time of the last observation.
    observation_time: Time,
    /// The generation of the resource on the cluster, if it exists there.
    target_cluster_observed_generation: Option<i64>,
    /// Time at which the difference was first observed.
    first_diffed_observed_time: Time,
    /// Paths that differ.
    observed_diffs: Option<Vec<PatchDetail>>,
}

/// One difference of a resource.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct PatchDetail {
    /// The path of the difference, as a JSON pointer.
    path: String,
    /// The value on the cluster.
    value_in_member: Option<String>,
    /// The value on the hub.
    value_in_hub: Option<String>,
}
