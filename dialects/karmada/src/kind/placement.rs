//! `spec.placement` of a policy, and its copy in a binding (docs/systems/karmada.md, "Placement").

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clusters of a template, and the division of replicas among them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Placement {
    /// The clusters that may be chosen. Cannot be set together with clusterAffinities.
    pub(crate) cluster_affinity: Option<ClusterAffinity>,
    /// The groups of clusters, which are tried in order until one has room for all replicas.
    pub(crate) cluster_affinities: Option<Vec<ClusterAffinityTerm>>,
    /// The taints of clusters that are tolerated.
    pub(crate) cluster_tolerations: Vec<Toleration>,
    /// Constraints on the number of clusters and of regions that get the template.
    pub(crate) spread_constraints: Vec<SpreadConstraint>,
    /// The division of replicas among clusters; by default, every cluster gets all replicas.
    pub(crate) replica_scheduling: Option<ReplicaScheduling>,
    /// Affinity and anti-affinity to other workloads.
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

    /// The group of clusters named `name`.
    pub(crate) fn term(&self, name: &str) -> Option<&ClusterAffinityTerm> {
        self.terms().iter().find(|term| term.affinity_name == name)
    }
}

/// Selection of clusters. A cluster must match all fields that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterAffinity {
    /// A selector over the labels of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_selector: Option<LabelSelector>,
    /// A selector over the provider, the region and the zones of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field_selector: Option<FieldSelector>,
    /// The names of the selected clusters; empty means all clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cluster_names: Vec<String>,
    /// The names of the excluded clusters.
    #[serde(rename = "exclude", skip_serializing_if = "Vec::is_empty")]
    pub(crate) exclude_clusters: Vec<String>,
}

/// A selector over the provider, the region and the zones of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FieldSelector {
    /// The expressions, all of which must match.
    pub(crate) match_expressions: Vec<FieldRequirement>,
}

/// An expression over one field of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["key", "operator"]))]
pub(crate) struct FieldRequirement {
    /// The field: provider, region or zone.
    pub(crate) key: String,
    /// The operator: In or NotIn.
    pub(crate) operator: String,
    /// The values of the field that match (In) or do not match (NotIn).
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
    /// The clusters of the group.
    #[serde(flatten)]
    pub(crate) affinity: ClusterAffinity,
    /// Further clusters of the group, in order, for replicas that have no room on the clusters before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overflow_affinities: Option<Vec<OverflowAffinity>>,
}

/// Further clusters of a group, for replicas that have no room on the clusters before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["affinityName"]))]
pub(crate) struct OverflowAffinity {
    /// The name of the affinity, which is unique in the group.
    #[schemars(length(min = 1, max = 32))]
    pub(crate) affinity_name: String,
    /// The further clusters.
    #[serde(flatten)]
    pub(crate) affinity: ClusterAffinity,
}

/// A toleration of taints of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Toleration {
    /// The key of the tolerated taints; empty means all keys.
    pub(crate) key: String,
    /// The operator: Equal compares the value, Exists tolerates every value. Empty means Equal.
    pub(crate) operator: String,
    /// The value of the tolerated taints, for the operator Equal.
    pub(crate) value: String,
    /// The effect of the tolerated taints; empty means all effects.
    pub(crate) effect: String,
    /// Number of seconds for which workloads that are already on the cluster tolerate a NoExecute taint.
    pub(crate) toleration_seconds: Option<i64>,
}

/// Constraint on the spread of a template: clusters are grouped by a field, and the number of groups is
/// limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    /// The field by which clusters are grouped: cluster, region, zone or provider.
    #[schemars(extend("enum" = ["cluster", "region", "zone", "provider"]))]
    pub(crate) spread_by_field: String,
    /// The label by which clusters are grouped. Karmada does not implement this.
    pub(crate) spread_by_label: String,
    /// The largest number of groups that get the template.
    pub(crate) max_groups: i64,
    /// The smallest number of groups that get the template.
    pub(crate) min_groups: i64,
}

/// The division of replicas among clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaScheduling {
    /// Duplicated: every cluster gets all replicas. Divided: each cluster gets a part of the replicas.
    #[schemars(extend("enum" = ["Duplicated", "Divided"], "default" = "Divided"))]
    pub(crate) replica_scheduling_type: String,
    /// Aggregated: the replicas go to as few clusters as have enough room. Weighted: the replicas are divided
    /// by weights. Only for Divided.
    #[schemars(extend("enum" = ["Aggregated", "Weighted"]))]
    pub(crate) replica_division_preference: String,
    /// The weights of clusters for Weighted; by default, all clusters have equal weights.
    pub(crate) weight_preference: Option<WeightPreference>,
}

/// Weights of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WeightPreference {
    /// Fixed weights, each for a selection of clusters.
    pub(crate) static_weight_list: Vec<StaticWeight>,
    /// A weight that is computed for each cluster, instead of staticWeightList. AvailableReplicas: the number
    /// of replicas for which the cluster has room.
    #[schemars(extend("enum" = ["AvailableReplicas"]))]
    pub(crate) dynamic_weight: String,
}

/// The weight of a selection of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["targetCluster", "weight"]))]
pub(crate) struct StaticWeight {
    /// The clusters that have the weight.
    pub(crate) target_cluster: ClusterAffinity,
    /// The weight of each of the clusters.
    #[schemars(range(min = 1))]
    pub(crate) weight: i64,
}

/// Affinity and anti-affinity to other workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinity {
    /// Affinity: workloads with equal values of the label are placed on the same clusters.
    pub(crate) affinity: Option<WorkloadAffinityTerm>,
    /// Anti-affinity: workloads with equal values of the label are placed on different clusters.
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
