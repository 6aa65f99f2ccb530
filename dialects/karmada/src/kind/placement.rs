//! `spec.placement` of a policy, and its copy in a binding (docs/systems/karmada.md, "Placement").

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clusters of a template, and the division of replicas among them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Placement {
    /// The clusters that may be chosen. Not together with clusterAffinities.
    pub(crate) cluster_affinity: Option<ClusterAffinity>,
    /// Groups of clusters, which are tried in order until one has room for all replicas.
    pub(crate) cluster_affinities: Option<Vec<ClusterAffinityTerm>>,
    /// The taints of clusters that are tolerated.
    pub(crate) cluster_tolerations: Vec<Toleration>,
    /// Constraints on the number of clusters or regions of the template.
    pub(crate) spread_constraints: Vec<SpreadConstraint>,
    /// Division of replicas; by default, every cluster gets all replicas.
    pub(crate) replica_scheduling: Option<ReplicaScheduling>,
    /// Affinity to other workloads, and anti-affinity.
    pub(crate) workload_affinity: Option<WorkloadAffinity>,
}

impl Placement {
    /// The placement without its affinities.
    pub(crate) fn without_affinities(&self) -> Self {
        Self {
            cluster_affinity: None,
            cluster_affinities: None,
            ..self.clone()
        }
    }

    /// The groups of clusters, in order.
    pub(crate) fn terms(&self) -> &[ClusterAffinityTerm] {
        self.cluster_affinities.as_deref().unwrap_or_default()
    }

    /// The group with this name.
    pub(crate) fn term(&self, name: &str) -> Option<&ClusterAffinityTerm> {
        self.terms().iter().find(|term| term.affinity_name == name)
    }
}

/// Selected clusters; all parts of the selection must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterAffinity {
    /// A selector over the labels of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_selector: Option<LabelSelector>,
    /// A selector over provider, region and zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field_selector: Option<FieldSelector>,
    /// The names of clusters; empty means all clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cluster_names: Vec<String>,
    /// The names of excluded clusters.
    #[serde(rename = "exclude", skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude_clusters: Vec<String>,
}

/// A selector over provider, region and zone; expressions are ANDed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FieldSelector {
    /// The expressions.
    pub(crate) match_expressions: Vec<FieldRequirement>,
}

/// One expression over a field of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["key", "operator"]))]
pub(crate) struct FieldRequirement {
    /// provider, region or zone.
    pub(crate) key: String,
    /// In or NotIn.
    pub(crate) operator: String,
    /// The values.
    pub(crate) values: Vec<String>,
}

/// A group of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["affinityName"]))]
pub(crate) struct ClusterAffinityTerm {
    /// The name of the group.
    #[schemars(length(min = 1, max = 32))]
    pub(crate) affinity_name: String,
    /// Its clusters.
    #[serde(flatten)]
    pub(crate) affinity: ClusterAffinity,
    /// Further clusters, for replicas without room on the clusters before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overflow_affinities: Option<Vec<OverflowAffinity>>,
}

/// Clusters of a group for replicas without room on the clusters before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["affinityName"]))]
pub(crate) struct OverflowAffinity {
    /// The name.
    #[schemars(length(min = 1, max = 32))]
    pub(crate) affinity_name: String,
    /// The clusters.
    #[serde(flatten)]
    pub(crate) affinity: ClusterAffinity,
}

/// A taint that is tolerated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Toleration {
    /// The key; empty means all keys.
    pub(crate) key: String,
    /// Equal or Exists; empty means Equal.
    pub(crate) operator: String,
    /// The value, for Equal.
    pub(crate) value: String,
    /// The effect; empty means all effects.
    pub(crate) effect: String,
    /// Time for which workloads that are already on the cluster tolerate a NoExecute taint.
    pub(crate) toleration_seconds: Option<i64>,
}

/// Constraint on the number of groups of clusters of the template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    /// The field by which clusters are grouped: cluster, region, zone or provider.
    #[schemars(extend("enum" = ["cluster", "region", "zone", "provider"]))]
    pub(crate) spread_by_field: String,
    /// The label by which clusters are grouped.
    pub(crate) spread_by_label: String,
    /// The largest number of groups.
    pub(crate) max_groups: i64,
    /// The smallest number of groups.
    pub(crate) min_groups: i64,
}

/// Division of replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaScheduling {
    /// Duplicated gives all replicas to every cluster, Divided a part to each.
    #[schemars(extend("enum" = ["Duplicated", "Divided"], "default" = "Divided"))]
    pub(crate) replica_scheduling_type: String,
    /// Aggregated uses as few clusters as have enough room, Weighted divides by weights.
    #[schemars(extend("enum" = ["Aggregated", "Weighted"]))]
    pub(crate) replica_division_preference: String,
    /// The weights of Weighted; by default, all clusters have equal weights.
    pub(crate) weight_preference: Option<WeightPreference>,
}

/// Weights of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WeightPreference {
    /// Weights, each with its clusters.
    pub(crate) static_weight_list: Vec<StaticWeight>,
    /// A measured weight, in place of the list.
    #[schemars(extend("enum" = ["AvailableReplicas"]))]
    pub(crate) dynamic_weight: String,
}

/// The weight of some clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["targetCluster", "weight"]))]
pub(crate) struct StaticWeight {
    /// The clusters.
    pub(crate) target_cluster: ClusterAffinity,
    /// The weight.
    #[schemars(range(min = 1))]
    pub(crate) weight: i64,
}

/// Affinity to other workloads, and anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinity {
    /// Workloads with the same value of this label are on the same clusters.
    pub(crate) affinity: Option<WorkloadAffinityTerm>,
    /// Workloads with the same value of this label are on different clusters.
    pub(crate) anti_affinity: Option<WorkloadAffinityTerm>,
}

/// A label that identifies a group of workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupByLabelKey"]))]
pub(crate) struct WorkloadAffinityTerm {
    /// The key of the label.
    pub(crate) group_by_label_key: String,
}
