//! ResourceBinding and ClusterResourceBinding: the requirements of one template, and its clusters
//! (docs/systems/karmada.md, "Bindings").

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::ResourceList;
use super::placement::Placement;

/// The binding of one template to clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Binding {
    /// The template, the requests of its replicas, and its clusters.
    pub(crate) spec: BindingSpec,
    /// Reports of the scheduler and of Karmada's controllers.
    pub(crate) status: BindingStatus,
}

/// A template, the requests of its replicas, and its clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingSpec {
    /// The template that is bound to clusters.
    pub(crate) resource: TemplateReference,
    /// Number of requested replicas; 0 if the template is not a workload.
    pub(crate) replicas: i32,
    /// The requirements of one replica; absent if the template is not a workload, or its replicas have none.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
    /// The components of a workload with several types of pods.
    pub(crate) components: Vec<Component>,
    /// The clusters of the template, as the scheduler decided.
    pub(crate) clusters: Vec<TargetCluster>,
    /// The placement of the policy; absent in a binding that is attached to other bindings.
    pub(crate) placement: Option<Placement>,
    /// The clusters from which the template is being evicted.
    pub(crate) graceful_eviction_tasks: Vec<EvictionTask>,
    /// The name of the scheduler that decides the binding; default-scheduler if empty.
    pub(crate) scheduler_name: String,
    /// Time at which a decision from scratch was requested.
    pub(crate) reschedule_triggered_at: Option<Time>,
    /// Suspended steps of the propagation.
    pub(crate) suspension: Option<Suspension>,
    /// The affinity group and the anti-affinity group of the template.
    pub(crate) workload_affinity_groups: Option<WorkloadAffinityGroups>,
}

/// Reference to the template of a binding.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiVersion", "kind", "name"]))]
pub(crate) struct TemplateReference {
    /// The API version of the template.
    pub(crate) api_version: String,
    /// The kind of the template.
    pub(crate) kind: String,
    /// The namespace of the template.
    pub(crate) namespace: String,
    /// The name of the template.
    pub(crate) name: String,
    /// The uid of the template.
    pub(crate) uid: String,
    /// The resourceVersion of the template.
    pub(crate) resource_version: String,
}

/// The requirements of one replica.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ReplicaRequirements {
    /// The requested amount of each resource.
    pub(crate) resource_request: ResourceList,
    /// The namespace of the template, whose quotas apply.
    pub(crate) namespace: String,
    /// The name of the PriorityClass of the pods.
    pub(crate) priority_class_name: String,
}

/// A component of a workload with several types of pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "replicas"]))]
pub(crate) struct Component {
    /// The name of the component.
    #[schemars(length(max = 32))]
    pub(crate) name: String,
    /// Number of pods of the component.
    pub(crate) replicas: i32,
    /// The requirements of one pod of the component.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
}

/// A cluster to which a template is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct TargetCluster {
    /// The name of the cluster.
    pub(crate) name: String,
    /// Number of replicas on the cluster.
    pub(crate) replicas: i32,
}

/// The eviction of a template from a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["fromCluster", "producer", "reason"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct EvictionTask {
    /// The name of the cluster from which the template is being evicted.
    pub(crate) from_cluster: String,
    /// Number of replicas on the cluster before the eviction.
    pub(crate) replicas: Option<i32>,
    /// The reason for the eviction.
    #[schemars(
        length(min = 1, max = 32),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub(crate) reason: String,
    /// The controller that requested the eviction.
    pub(crate) producer: String,
}

/// Suspended steps of the propagation of a template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct Suspension {
    /// Whether the propagation of the template to its clusters is suspended.
    pub(crate) dispatching: Option<bool>,
    /// Whether the scheduling of the binding is suspended.
    pub(crate) scheduling: Option<bool>,
}

/// The affinity group and the anti-affinity group of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinityGroups {
    /// The group of workloads that are placed on the same clusters.
    pub(crate) affinity_group: String,
    /// The group of workloads that are placed on different clusters.
    pub(crate) anti_affinity_group: String,
}

/// Reports of the scheduler and of Karmada's controllers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingStatus {
    /// The generation of the binding for which the scheduler last decided.
    pub(crate) scheduler_observed_generation: i64,
    /// The name of the group of clusters (affinityName) that the scheduler chose.
    #[serde(rename = "schedulerObservingAffinityName")]
    pub(crate) scheduler_observed_affinity_name: String,
    /// Time of the last successful decision of the scheduler.
    pub(crate) last_scheduled_time: Option<Time>,
    /// The conditions of the binding.
    #[schemars(with = "Vec<ConditionForm>")]
    pub(crate) conditions: Vec<Condition>,
    /// State of the template on each cluster.
    pub(crate) aggregated_status: Vec<ClusterItem>,
}

/// State of a template on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterItem {
    /// The name of the cluster.
    pub(crate) cluster_name: String,
    /// Health of the template on the cluster: Healthy, Unhealthy or Unknown.
    #[schemars(extend("enum" = ["Healthy", "Unhealthy", "Unknown"]))]
    pub(crate) health: String,
}
