//! Cluster: a member cluster, its taints, served APIs and reported room (docs/systems/karmada.md,
//! "Cluster").

use std::collections::BTreeMap;

use berth_apimachinery::ConditionForm;
use berth_apimachinery::types::{Condition, QuantityText, Time};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A member cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Cluster {
    /// Location, taints and resource models of the cluster.
    pub(crate) spec: ClusterSpec,
    /// Reported state of the cluster.
    pub(crate) status: ClusterStatus,
}

/// Location, taints and resource models of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["syncMode"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterSpec {
    /// Way in which templates reach the cluster. Push: the control plane writes to the cluster. Pull: an
    /// agent on the cluster reads from the control plane.
    #[schemars(extend("enum" = ["Push", "Pull"]))]
    pub(crate) sync_mode: String,
    /// The infrastructure provider of the cluster.
    pub(crate) provider: String,
    /// The region of the cluster.
    pub(crate) region: String,
    /// The zone of the cluster, if it has only one. Deprecated: use zones.
    pub(crate) zone: String,
    /// The zones of the cluster.
    pub(crate) zones: Vec<String>,
    /// Taints of the cluster, which templates must tolerate.
    pub(crate) taints: Vec<Taint>,
    /// The sizes of nodes by which the room of the cluster is computed.
    pub(crate) resource_models: Vec<ResourceModel>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["effect", "key"]))]
pub(crate) struct Taint {
    /// The key of the taint.
    pub(crate) key: String,
    /// The value of the taint, which may be empty.
    pub(crate) value: String,
    /// The effect on templates that do not tolerate the taint: NoSchedule or NoExecute.
    pub(crate) effect: String,
    /// Time at which the taint was added; only for NoExecute.
    pub(crate) time_added: Option<Time>,
}

/// A size of nodes, by the resources of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["grade", "ranges"]))]
pub(crate) struct ResourceModel {
    /// The number that identifies the size.
    pub(crate) grade: u64,
    /// The range of each resource that nodes of this size have.
    pub(crate) ranges: Vec<ResourceRange>,
}

/// A range of amounts of one resource.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct ResourceRange {
    /// The name of the resource.
    pub(crate) name: String,
    /// The minimum amount, inclusive.
    pub(crate) min: QuantityText,
    /// The maximum amount, exclusive.
    pub(crate) max: QuantityText,
}

/// Reported state of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterStatus {
    /// The Kubernetes version of the cluster.
    pub(crate) kubernetes_version: String,
    /// The APIs that the cluster serves.
    pub(crate) api_enablements: Vec<ApiEnablement>,
    /// The conditions of the cluster.
    #[schemars(with = "Vec<ConditionForm>")]
    pub(crate) conditions: Vec<Condition>,
    /// Numbers of nodes of the cluster.
    #[schemars(with = "Option<NodeSummary>")]
    pub(crate) node_summary: Option<IgnoredAny>,
    /// The resources of the cluster, and the amounts in use.
    pub(crate) resource_summary: Option<ResourceSummary>,
}

/// Numbers of nodes of a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
pub(crate) struct NodeSummary {
    /// Number of all nodes.
    total_num: Option<i32>,
    /// Number of ready nodes.
    ready_num: Option<i32>,
}

/// The kinds that a cluster serves in one version of an API group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupVersion"]))]
pub(crate) struct ApiEnablement {
    /// The API group and version, such as apps/v1.
    pub(crate) group_version: String,
    /// The kinds that the cluster serves in the version.
    pub(crate) resources: Vec<ApiResource>,
}

/// A kind that a cluster serves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub(crate) struct ApiResource {
    /// The plural name of the kind, such as deployments.
    pub(crate) name: String,
    /// The kind, such as Deployment.
    pub(crate) kind: String,
}

/// The amount of each resource, by the name of the resource.
pub(crate) type ResourceList = BTreeMap<String, QuantityText>;

/// The resources of a cluster, and the amounts in use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceSummary {
    /// The amounts of resources that pods may use.
    pub(crate) allocatable: ResourceList,
    /// The requests of pods that have no node yet.
    pub(crate) allocating: ResourceList,
    /// The requests of pods on nodes.
    pub(crate) allocated: ResourceList,
    /// The number of nodes of each size, where the free resources of a node determine its size.
    pub(crate) allocatable_modelings: Vec<GradeCount>,
}

/// Number of nodes of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["count", "grade"]))]
pub(crate) struct GradeCount {
    /// The number that identifies the size.
    pub(crate) grade: u64,
    /// Number of nodes of the size.
    pub(crate) count: i64,
}
