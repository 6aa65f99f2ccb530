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
    /// The template, its requests, and its clusters.
    pub(crate) spec: BindingSpec,
    /// Reports of the scheduler and the controllers.
    pub(crate) status: BindingStatus,
}

/// The template, its requests, and its clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingSpec {
    /// The template.
    pub(crate) resource: Reference,
    /// Number of requested replicas; 0 if the template is not a workload.
    pub(crate) replicas: i32,
    /// Request of one replica; absent if the template is not a workload.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
    /// The components of a workload with several types of pods.
    pub(crate) components: Vec<Component>,
    /// The clusters of the template, as decided.
    pub(crate) clusters: Vec<TargetCluster>,
    /// The policy's placement; absent in a binding that is attached to another one.
    pub(crate) placement: Option<Placement>,
    /// The clusters from which the template is being evicted.
    pub(crate) graceful_eviction_tasks: Vec<EvictionTask>,
    /// The scheduler that decides; default-scheduler if empty.
    pub(crate) scheduler_name: String,
    /// Time at which a decision from scratch was requested.
    pub(crate) reschedule_triggered_at: Option<Time>,
    /// Steps that are suspended.
    pub(crate) suspension: Option<Suspension>,
    /// The workload groups of the template.
    pub(crate) workload_affinity_groups: Option<WorkloadAffinityGroups>,
}

/// The template.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["apiVersion", "kind", "name"]))]
pub(crate) struct Reference {
    /// The version of its API.
    pub(crate) api_version: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Its uid.
    pub(crate) uid: String,
    /// Its resourceVersion.
    pub(crate) resource_version: String,
}

/// Request of one replica.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ReplicaRequirements {
    /// Amounts by resource.
    pub(crate) resource_request: ResourceList,
    /// The namespace of the quotas that apply.
    pub(crate) namespace: String,
    /// The PriorityClass of its pods.
    pub(crate) priority_class_name: String,
}

/// One component of a workload with several types of pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "replicas"]))]
pub(crate) struct Component {
    /// The name of the component.
    #[schemars(length(max = 32))]
    pub(crate) name: String,
    /// Number of its pods.
    pub(crate) replicas: i32,
    /// Request of one of them.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
}

/// A cluster of the template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct TargetCluster {
    /// The name of the cluster.
    pub(crate) name: String,
    /// Number of replicas on the cluster.
    pub(crate) replicas: i32,
}

/// A cluster from which the template is being evicted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["fromCluster", "producer", "reason"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct EvictionTask {
    /// The cluster.
    pub(crate) from_cluster: String,
    /// Number of replicas on the cluster before the eviction.
    pub(crate) replicas: Option<i32>,
    /// The reason for the eviction.
    #[schemars(
        length(min = 1, max = 32),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub(crate) reason: String,
    /// Controller that requests the eviction.
    pub(crate) producer: String,
}

/// Steps that are suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct Suspension {
    /// Whether the template is not propagated to clusters.
    pub(crate) dispatching: Option<bool>,
    /// Whether the binding is not scheduled.
    pub(crate) scheduling: Option<bool>,
}

/// The workload groups of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinityGroups {
    /// The group of workloads on the same clusters.
    pub(crate) affinity_group: String,
    /// The group of workloads on different clusters.
    pub(crate) anti_affinity_group: String,
}

/// Reports of the scheduler and the controllers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingStatus {
    /// The generation of the last decision.
    pub(crate) scheduler_observed_generation: i64,
    /// The group of clusters that was chosen.
    #[serde(rename = "schedulerObservingAffinityName")]
    pub(crate) scheduler_observed_affinity_name: String,
    /// Time of the last successful decision.
    pub(crate) last_scheduled_time: Option<Time>,
    /// The conditions.
    #[schemars(with = "Vec<ConditionForm>")]
    pub(crate) conditions: Vec<Condition>,
    /// State of the workload on each cluster.
    pub(crate) aggregated_status: Vec<ClusterItem>,
}

/// State of the workload on one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterName"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterItem {
    /// The name of the cluster.
    pub(crate) cluster_name: String,
    /// Healthy, Unhealthy or Unknown.
    #[schemars(extend("enum" = ["Healthy", "Unhealthy", "Unknown"]))]
    pub(crate) health: String,
}
