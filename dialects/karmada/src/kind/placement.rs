//! `spec.placement` of a policy, and its copy in a binding (docs/systems/karmada.md, "Placement").

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clusters that a template goes to, and the division of replicas among them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Placement {
    /// The clusters that may be chosen. Not together with clusterAffinities.
    pub(crate) cluster_affinity: Option<ClusterAffinity>,
    /// Groups of clusters, tried one after the other until one takes all.
    pub(crate) cluster_affinities: Option<Vec<ClusterAffinityTerm>>,
    /// The taints of clusters that are put up with.
    pub(crate) cluster_tolerations: Vec<Toleration>,
    /// Over how many clusters or regions the template spreads.
    pub(crate) spread_constraints: Vec<SpreadConstraint>,
    /// Division of replicas; every cluster gets all of them where it is left out.
    pub(crate) replica_scheduling: Option<ReplicaScheduling>,
    /// Other workloads that it goes with, or stays away from.
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

/// Selected clusters; everything that is said must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterAffinity {
    /// A selector over the labels of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_selector: Option<LabelSelector>,
    /// A selector over provider, region and zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field_selector: Option<FieldSelector>,
    /// The names of clusters; every one where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) cluster_names: Vec<String>,
    /// The names of clusters that are left out.
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
    /// Further clusters, for what has no room in those before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overflow_affinities: Option<Vec<OverflowAffinity>>,
}

/// Clusters of a group for what has no room in those before.
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

/// A taint that is put up with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Toleration {
    /// The key; every key where it is empty.
    pub(crate) key: String,
    /// Equal or Exists; Equal where it is empty.
    pub(crate) operator: String,
    /// The value, for Equal.
    pub(crate) value: String,
    /// The effect; every effect where it is empty.
    pub(crate) effect: String,
    /// Time for which a NoExecute taint is tolerated by workload that is on the cluster already.
    pub(crate) toleration_seconds: Option<i64>,
}

/// Over how many groups of clusters the template spreads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    /// The field that makes the groups: cluster, region, zone or provider.
    #[schemars(extend("enum" = ["cluster", "region", "zone", "provider"]))]
    pub(crate) spread_by_field: String,
    /// The label that makes the groups.
    pub(crate) spread_by_label: String,
    /// Most groups.
    pub(crate) max_groups: i64,
    /// Fewest groups.
    pub(crate) min_groups: i64,
}

/// Division of replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ReplicaScheduling {
    /// Duplicated gives all to every cluster, Divided a part.
    #[schemars(extend("enum" = ["Duplicated", "Divided"], "default" = "Divided"))]
    pub(crate) replica_scheduling_type: String,
    /// Aggregated takes as few clusters as there is room in, Weighted goes by weights.
    #[schemars(extend("enum" = ["Aggregated", "Weighted"]))]
    pub(crate) replica_division_preference: String,
    /// The weights of Weighted; all clusters alike where they are left out.
    pub(crate) weight_preference: Option<WeightPreference>,
}

/// Weights of clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WeightPreference {
    /// Weights by the clusters they are of.
    pub(crate) static_weight_list: Vec<StaticWeight>,
    /// A weight that is measured, in place of the list.
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

/// Other workloads that a workload goes with, or stays away from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkloadAffinity {
    /// Workloads with the same value of this label are on the same clusters.
    pub(crate) affinity: Option<WorkloadAffinityTerm>,
    /// Workloads with the same value of this label are on different clusters.
    pub(crate) anti_affinity: Option<WorkloadAffinityTerm>,
}

/// A label that says which workloads belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupByLabelKey"]))]
pub(crate) struct WorkloadAffinityTerm {
    /// The key of the label.
    pub(crate) group_by_label_key: String,
}
