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
    /// Address, location and taints of the cluster.
    pub(crate) spec: ClusterSpec,
    /// State of the cluster.
    pub(crate) status: ClusterStatus,
}

/// Address, location and taints of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["syncMode"], "x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterSpec {
    /// Push: the control plane writes to the cluster. Pull: an agent on the cluster reads from the control
    /// plane.
    #[schemars(extend("enum" = ["Push", "Pull"]))]
    pub(crate) sync_mode: String,
    /// The infrastructure provider.
    pub(crate) provider: String,
    /// The region.
    pub(crate) region: String,
    /// The zone, if there is only one. Deprecated: use zones.
    pub(crate) zone: String,
    /// The zones.
    pub(crate) zones: Vec<String>,
    /// Taints of the cluster, which templates must tolerate.
    pub(crate) taints: Vec<Taint>,
    /// Sizes of nodes, by which room is calculated.
    pub(crate) resource_models: Vec<ResourceModel>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["effect", "key"]))]
pub(crate) struct Taint {
    /// The key.
    pub(crate) key: String,
    /// The value, mostly empty.
    pub(crate) value: String,
    /// NoSchedule or NoExecute.
    pub(crate) effect: String,
    /// Time at which a NoExecute taint was added.
    pub(crate) time_added: Option<Time>,
}

/// A size of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["grade", "ranges"]))]
pub(crate) struct ResourceModel {
    /// The number of the size.
    pub(crate) grade: u32,
    /// The ranges of resources that nodes of this size have.
    pub(crate) ranges: Vec<ResourceRange>,
}

/// A range of one resource.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct ResourceRange {
    /// The resource.
    pub(crate) name: String,
    /// The minimum, inclusive.
    pub(crate) min: QuantityText,
    /// The maximum, exclusive.
    pub(crate) max: QuantityText,
}

/// State of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub(crate) struct ClusterStatus {
    /// The version of Kubernetes.
    pub(crate) kubernetes_version: String,
    /// The APIs that the cluster serves.
    pub(crate) api_enablements: Vec<ApiEnablement>,
    /// The state of the cluster.
    #[schemars(with = "Vec<ConditionForm>")]
    pub(crate) conditions: Vec<Condition>,
    /// Number of nodes.
    #[schemars(with = "Option<NodeSummary>")]
    pub(crate) node_summary: Option<IgnoredAny>,
    /// Resources of the cluster and their use.
    pub(crate) resource_summary: Option<ResourceSummary>,
}

/// Number of nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
pub(crate) struct NodeSummary {
    /// Number of all nodes.
    total_num: Option<i32>,
    /// Number of ready nodes.
    ready_num: Option<i32>,
}

/// The kinds that the cluster serves in one version of an API group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupVersion"]))]
pub(crate) struct ApiEnablement {
    /// The group and version, in the form of an apiVersion.
    pub(crate) group_version: String,
    /// The kinds.
    pub(crate) resources: Vec<ApiResource>,
}

/// A kind that the cluster serves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["kind", "name"]))]
pub(crate) struct ApiResource {
    /// The plural name.
    pub(crate) name: String,
    /// The kind.
    pub(crate) kind: String,
}

/// Amounts by resource.
pub(crate) type ResourceList = BTreeMap<String, QuantityText>;

/// Resources of the cluster and their use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceSummary {
    /// The resources that pods may use.
    pub(crate) allocatable: ResourceList,
    /// Requests of pods without a node.
    pub(crate) allocating: ResourceList,
    /// Requests of pods on nodes.
    pub(crate) allocated: ResourceList,
    /// Numbers of nodes by size, according to their free resources.
    pub(crate) allocatable_modelings: Vec<GradeCount>,
}

/// Number of nodes of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["count", "grade"]))]
pub(crate) struct GradeCount {
    /// The number of the size.
    pub(crate) grade: u32,
    /// Number of nodes.
    pub(crate) count: i64,
}
