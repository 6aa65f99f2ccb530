//! `spec.policy` of a placement, and its copy in a snapshot (docs/systems/fleet.md, "Placement policy").
//!
//! The types are serialized as well: `policyHash` depends on their JSON. So the fields have upstream's
//! order, and empty ones are omitted exactly where upstream omits them.

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Way of choosing clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PlacementType {
    /// Every cluster that fits.
    #[default]
    PickAll,
    /// The best clusters, as many as wanted.
    PickN,
    /// The clusters named.
    PickFixed,
}

impl PlacementType {
    /// The token.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::PickAll => "PickAll",
            Self::PickN => "PickN",
            Self::PickFixed => "PickFixed",
        }
    }
}

/// Rules by which clusters are chosen for the selected resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementPolicy {
    /// PickAll places on every cluster that fits, PickN on the best ones, PickFixed on the named clusters.
    /// The type cannot change.
    #[schemars(with = "String", extend("enum" = ["PickAll", "PickN", "PickFixed"], "default" = "PickAll"))]
    pub(crate) placement_type: PlacementType,
    /// The clusters to place on. Only for PickFixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub(crate) cluster_names: Vec<String>,
    /// Number of clusters to place on. Only for PickN, where it is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub(crate) number_of_clusters: Option<i32>,
    /// Requirements and preferences among clusters. Only for PickAll and PickN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affinity: Option<Affinity>,
    /// Constraints on the spread of the chosen clusters over topologies; all constraints count. Only for
    /// PickN.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// The taints of clusters that this placement tolerates. Tolerations can be added, but not changed or
    /// removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub(crate) tolerations: Vec<Toleration>,
}

impl PlacementPolicy {
    /// Returns the policy as snapshots compare it, without the number of clusters, which may change without
    /// a new snapshot.
    pub(crate) fn without_number(&self) -> Self {
        Self {
            number_of_clusters: None,
            ..self.clone()
        }
    }
}

/// Rules about the clusters to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    /// Rules about labels and properties of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_affinity: Option<ClusterAffinity>,
}

/// Rules about labels and properties of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterAffinity {
    /// Requirements on a cluster when it is chosen. A chosen cluster stays chosen when it changes.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) required: Option<ClusterSelector>,
    /// Preferences among clusters. Not for PickAll.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) preferred: Vec<PreferredClusterSelector>,
}

/// Terms, one of which must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterSelectorTerms"]))]
pub(crate) struct ClusterSelector {
    /// The terms, one of which must match.
    #[schemars(length(max = 10))]
    pub(crate) cluster_selector_terms: Vec<ClusterSelectorTerm>,
}

/// A term with its weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["preference", "weight"]))]
pub(crate) struct PreferredClusterSelector {
    /// Points of a matching cluster, from -100 to 100.
    #[schemars(range(min = -100, max = 100))]
    pub(crate) weight: i32,
    /// Preferences among clusters.
    pub(crate) preference: ClusterSelectorTerm,
}

/// Conditions on one cluster, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterSelectorTerm {
    /// A selector over the labels of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_selector: Option<LabelSelector>,
    /// A selector over the properties of the cluster. Only in required terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) property_selector: Option<PropertySelector>,
    /// A property whose value scales the weight. Only in preferred terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) property_sorter: Option<PropertySorter>,
}

/// Requirements on properties, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["matchExpressions"]))]
pub(crate) struct PropertySelector {
    /// The requirements.
    pub(crate) match_expressions: Vec<PropertyRequirement>,
}

/// A requirement on one property.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "operator", "values"]))]
pub(crate) struct PropertyRequirement {
    /// The property.
    pub(crate) name: String,
    /// Comparison of its value: Gt, Ge, Eq, Ne, Lt or Le.
    #[schemars(extend("enum" = ["Gt", "Ge", "Eq", "Ne", "Lt", "Le"]))]
    pub(crate) operator: String,
    /// The quantity to compare with; exactly one value.
    #[schemars(length(max = 1))]
    pub(crate) values: Vec<String>,
}

/// A property whose value scales a weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "sortOrder"]))]
pub(crate) struct PropertySorter {
    /// The property.
    pub(crate) name: String,
    /// Descending gives the largest value the whole weight, Ascending the smallest.
    #[schemars(extend("enum" = ["Descending", "Ascending"]))]
    pub(crate) sort_order: String,
}

/// Constraint on the spread of the chosen clusters over the values of one label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["topologyKey"]))]
pub(crate) struct TopologySpreadConstraint {
    /// The largest allowed difference between the numbers of clusters in the fullest and in the emptiest
    /// topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub(crate) max_skew: Option<i32>,
    /// The label whose values are the topology.
    pub(crate) topology_key: String,
    /// DoNotSchedule, the default, refuses a cluster that would exceed maxSkew; ScheduleAnyway only ranks it
    /// low.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["DoNotSchedule", "ScheduleAnyway"]))]
    pub(crate) when_unsatisfiable: String,
}

/// A taint that this placement tolerates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Toleration {
    /// The key of the taint; empty, with the operator Exists, means every taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) key: String,
    /// Equal compares the value, Exists does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["Equal", "Exists"], "default" = "Equal"))]
    pub(crate) operator: String,
    /// The value of the taint. Empty with the operator Exists.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) value: String,
    /// The effect of the taint; empty means every effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["NoSchedule"]))]
    pub(crate) effect: String,
}
