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
    /// Push: the control plane writes to the cluster. Pull: an agent there asks.
    #[schemars(extend("enum" = ["Push", "Pull"]))]
    pub(crate) sync_mode: String,
    /// The infrastructure provider.
    pub(crate) provider: String,
    /// The region.
    pub(crate) region: String,
    /// The zone, where it is only one. Deprecated: zones.
    pub(crate) zone: String,
    /// The zones.
    pub(crate) zones: Vec<String>,
    /// Taints keep templates away that do not tolerate them.
    pub(crate) taints: Vec<Taint>,
    /// Sizes of nodes, by which room is counted.
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
    /// When a NoExecute taint was added.
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
    /// The least, which is in the range.
    pub(crate) min: QuantityText,
    /// The most, which is not.
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
    /// Resources of the cluster, and how much of them is in use.
    pub(crate) resource_summary: Option<ResourceSummary>,
}

/// Number of nodes.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
pub(crate) struct NodeSummary {
    /// All of them.
    total_num: Option<i32>,
    /// Those that are ready.
    ready_num: Option<i32>,
}

/// The kinds that the cluster serves of one version of a group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupVersion"]))]
pub(crate) struct ApiEnablement {
    /// The group and version, as an apiVersion has them.
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

/// Resources of the cluster, and how much of them is in use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceSummary {
    /// All that pods may use.
    pub(crate) allocatable: ResourceList,
    /// Requests of pods without a node.
    pub(crate) allocating: ResourceList,
    /// Requests of pods on nodes.
    pub(crate) allocated: ResourceList,
    /// Numbers of nodes by size, by their free resources.
    pub(crate) allocatable_modelings: Vec<GradeCount>,
}

/// Number of nodes of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["count", "grade"]))]
pub(crate) struct GradeCount {
    /// The number of the size.
    pub(crate) grade: u32,
    /// The nodes.
    pub(crate) count: i64,
}
