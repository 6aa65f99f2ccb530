//! The fields about the rollout in spec and status of placements and bindings. The fields are declared as in
//! KubeFleet's own definitions, so that an exported object can be applied again. Decisions do not read them.

#![expect(
    dead_code,
    reason = "the types define schemas; no value of them is ever created"
)]

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{IntOrString, Time};
use schemars::JsonSchema;

/// The strategy by which changes reach the chosen clusters.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct RolloutStrategy {
    /// The type of the strategy: RollingUpdate changes the clusters in steps of limited size, External leaves
    /// the order and the time of changes to staged update runs.
    #[schemars(extend("enum" = ["RollingUpdate", "External"], "default" = "RollingUpdate"))]
    r#type: Option<String>,
    /// The limits of a rolling update.
    rolling_update: Option<RollingUpdate>,
    /// The strategy of applying resources to a cluster.
    apply_strategy: Option<ApplyStrategy>,
    /// The treatment of placed resources when the placement is deleted.
    delete_strategy: Option<DeleteStrategy>,
    /// The strategy of reporting the status of placed resources to the hub.
    report_back_strategy: Option<ReportBackStrategy>,
}

/// The pattern of a number of clusters or a percentage from 0% to 100%.
const CLUSTERS: &str = "^((100|[0-9]{1,2})%|[0-9]+)$";

/// The limits of a rolling update.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct RollingUpdate {
    /// The highest number of chosen clusters on which the resources may be unavailable at a time, as a number
    /// or a percentage.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_unavailable: Option<IntOrString>,
    /// The highest number of clusters beyond the requested number that may have the resources, as a number or
    /// a percentage.
    #[schemars(extend("pattern" = CLUSTERS, "default" = "25%"))]
    max_surge: Option<IntOrString>,
    /// The number of seconds after a change during which resources of unknown availability count as
    /// unavailable.
    #[schemars(extend("default" = 60, "format" = null))]
    unavailable_period_seconds: Option<i64>,
}

/// The strategy of applying resources to a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ApplyStrategy {
    /// The compared fields of a resource: PartialComparison compares only fields that the hub sets,
    /// FullComparison all fields.
    #[schemars(extend("enum" = ["PartialComparison", "FullComparison"], "default" = "PartialComparison"))]
    comparison_option: Option<String>,
    /// The treatment of resources that were changed on the cluster: Always overwrites them, IfNotDrifted does
    /// not.
    #[schemars(extend("enum" = ["Always", "IfNotDrifted"], "default" = "Always"))]
    when_to_apply: Option<String>,
    /// The method of applying resources. ReportDiff only reports differences, and changes nothing.
    #[schemars(extend("enum" = ["ClientSideApply", "ServerSideApply", "ReportDiff"], "default" = "ClientSideApply"))]
    r#type: Option<String>,
    /// Whether resources on the cluster may also have owners other than the placement.
    allow_co_ownership: Option<bool>,
    /// Settings of server-side apply. Only with the type ServerSideApply.
    server_side_apply_config: Option<ServerSideApplyConfig>,
    /// The adoption of resources that already exist on the cluster: Always, only if they do not differ from
    /// the hub (IfNoDiff), or Never.
    #[schemars(extend("enum" = ["Always", "IfNoDiff", "Never"], "default" = "Always"))]
    when_to_take_over: Option<String>,
}

/// Settings of server-side apply.
#[derive(JsonSchema)]
struct ServerSideApplyConfig {
    /// Whether fields that other managers own are overwritten in a conflict.
    force: Option<bool>,
}

/// The treatment of placed resources when the placement is deleted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DeleteStrategy {
    /// Delete deletes the placed resources from the clusters, Abandon leaves them there.
    #[schemars(extend("enum" = ["Abandon", "Delete"], "default" = "Delete"))]
    propagation_policy: Option<String>,
}

/// The strategy of reporting the status of placed resources to the hub.
#[derive(JsonSchema)]
struct ReportBackStrategy {
    /// Mirror copies the status of placed resources to the hub, Disabled does not.
    #[schemars(extend("enum" = ["Disabled", "Mirror"], "default" = "Disabled"))]
    r#type: String,
    /// The destination of the copied status: the original resource on the hub, or the Work.
    #[schemars(extend("enum" = ["OriginalResource", "WorkAPI"]))]
    destination: Option<String>,
}

/// The name of a namespaced object.
#[derive(JsonSchema)]
pub(super) struct NamespacedName {
    /// The name of the object.
    name: String,
    /// The namespace of the object.
    namespace: String,
}

/// The identity of a resource on the hub.
#[derive(JsonSchema)]
pub(super) struct ResourceIdentifier {
    /// The API group of the resource; empty for the core group.
    group: Option<String>,
    /// The API version of the resource.
    version: String,
    /// The kind of the resource.
    kind: String,
    /// The name of the resource.
    name: String,
    /// The namespace of the resource; empty for a cluster-scoped resource.
    namespace: Option<String>,
    /// The envelope object that contains the resource, if there is one.
    envelope: Option<EnvelopeIdentifier>,
}

/// The identity of an envelope, an object that contains resources to place.
#[derive(JsonSchema)]
struct EnvelopeIdentifier {
    /// The name of the envelope.
    name: String,
    /// The namespace of the envelope; empty for a cluster-scoped envelope.
    namespace: Option<String>,
    /// The kind of the envelope.
    #[schemars(extend("enum" = ["ConfigMap", "ClusterResourceEnvelope", "ResourceEnvelope"], "default" = "ConfigMap"))]
    r#type: Option<String>,
}

/// The progress of the placement on one cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct PerClusterPlacementStatus {
    /// The name of the cluster; empty if no cluster was found for the entry.
    cluster_name: Option<String>,
    /// The overrides of namespaced resources that apply to the cluster.
    applicable_resource_overrides: Option<Vec<NamespacedName>>,
    /// The overrides of cluster-scoped resources that apply to the cluster.
    applicable_cluster_resource_overrides: Option<Vec<String>>,
    /// The number of the resource snapshot that is rolled out to the cluster.
    observed_resource_index: Option<String>,
    /// The resources that could not be placed on the cluster.
    #[schemars(length(max = 100))]
    failed_placements: Option<Vec<FailedPlacement>>,
    /// The resources on the cluster that have changed since they were placed.
    #[schemars(length(max = 100))]
    drifted_placements: Option<Vec<DriftedPlacement>>,
    /// The resources on the cluster that differ from the resources on the hub.
    #[schemars(length(max = 100))]
    diffed_placements: Option<Vec<DiffedPlacement>>,
    /// The progress of the placement on the cluster, with one condition per step.
    conditions: Option<Vec<ConditionForm>>,
}

/// A resource that could not be placed.
#[derive(JsonSchema)]
pub(super) struct FailedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// The condition with the reason why the resource could not be placed.
    condition: ConditionForm,
}

/// A resource on the cluster that has changed since it was placed.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DriftedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// The time of the last observation.
    observation_time: Time,
    /// The observed generation of the resource on the cluster.
    target_cluster_observed_generation: i64,
    /// The time at which the change was first observed.
    first_drifted_observed_time: Time,
    /// The fields that have changed on the cluster.
    observed_drifts: Option<Vec<PatchDetail>>,
}

/// A resource on the cluster that differs from the resource on the hub.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct DiffedPlacement {
    #[schemars(flatten)]
    resource: ResourceIdentifier,
    /// The time of the last observation.
    observation_time: Time,
    /// The observed generation of the resource on the cluster, if it exists there.
    target_cluster_observed_generation: Option<i64>,
    /// The time at which the difference was first observed.
    first_diffed_observed_time: Time,
    /// The fields that differ.
    observed_diffs: Option<Vec<PatchDetail>>,
}

/// One field in which a resource on the cluster and on the hub differ.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct PatchDetail {
    /// The path of the field, as a JSON pointer.
    path: String,
    /// The value of the field on the cluster.
    value_in_member: Option<String>,
    /// The value of the field on the hub.
    value_in_hub: Option<String>,
}
