//! ResourceBinding and ClusterResourceBinding: the requirements of one template, and its clusters
//! (docs/systems/karmada.md, "Bindings").

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster::ResourceList;
use super::placement::Placement;

/// Request of one template, and the clusters that it goes to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Binding {
    /// The template, what it asks for, and the clusters that it goes to.
    pub(crate) spec: BindingSpec,
    /// Reports of the scheduler and the controllers.
    pub(crate) status: BindingStatus,
}

/// The template, what it asks for, and the clusters that it goes to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resource"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingSpec {
    /// The template.
    pub(crate) resource: Reference,
    /// Number of wanted replicas; 0 of what is no workload.
    pub(crate) replicas: i32,
    /// Request of one replica; absent of a template that is no workload.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
    /// The parts of a workload of several sorts of pods.
    pub(crate) components: Vec<Component>,
    /// The clusters that it goes to: the decision.
    pub(crate) clusters: Vec<TargetCluster>,
    /// The policy's placement. What is attached to another binding has none.
    pub(crate) placement: Option<Placement>,
    /// Clusters that it is on its way out of.
    pub(crate) graceful_eviction_tasks: Vec<EvictionTask>,
    /// The scheduler that decides; default-scheduler where it is empty.
    pub(crate) scheduler_name: String,
    /// When somebody asked for a decision from scratch.
    pub(crate) reschedule_triggered_at: Option<Time>,
    /// Steps that are held up.
    pub(crate) suspension: Option<Suspension>,
    /// The groups of workloads that it belongs to.
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
    /// The namespace that quotas are looked for in.
    pub(crate) namespace: String,
    /// The PriorityClass of its pods.
    pub(crate) priority_class_name: String,
}

/// One part of a workload of several sorts of pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "replicas"]))]
pub(crate) struct Component {
    /// The name of the part.
    #[schemars(length(max = 32))]
    pub(crate) name: String,
    /// Number of its pods.
    pub(crate) replicas: i32,
    /// Request of one of them.
    pub(crate) replica_requirements: Option<ReplicaRequirements>,
}

/// A cluster that the template goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct TargetCluster {
    /// The name of the cluster.
    pub(crate) name: String,
    /// Number of replicas that go there.
    pub(crate) replicas: i32,
}

/// A cluster that the template is on its way out of.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["fromCluster", "producer", "reason"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct EvictionTask {
    /// The cluster.
    pub(crate) from_cluster: String,
    /// Number of replicas that were there.
    pub(crate) replicas: Option<i32>,
    /// Why it leaves.
    #[schemars(
        length(min = 1, max = 32),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub(crate) reason: String,
    /// Controller that asks for it.
    pub(crate) producer: String,
}

/// Steps that are held up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct Suspension {
    /// Whether nothing is brought to the clusters.
    pub(crate) dispatching: Option<bool>,
    /// Whether nothing is decided.
    pub(crate) scheduling: Option<bool>,
}

/// The groups of workloads that a workload belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinityGroups {
    /// Those it goes with.
    pub(crate) affinity_group: String,
    /// Those it stays away from.
    pub(crate) anti_affinity_group: String,
}

/// Reports of the scheduler and the controllers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct BindingStatus {
    /// The generation that was decided last.
    pub(crate) scheduler_observed_generation: i64,
    /// The group of clusters that was chosen.
    #[serde(rename = "schedulerObservingAffinityName")]
    pub(crate) scheduler_observed_affinity_name: String,
    /// When a decision succeeded last.
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
