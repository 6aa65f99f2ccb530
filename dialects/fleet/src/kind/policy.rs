//! `spec.policy` of a placement, and its copy in a snapshot (docs/systems/fleet.md, "Placement policy").
//!
//! `policyHash` depends on the JSON to which these types are serialized. So the fields have upstream's order,
//! and empty fields are omitted exactly where upstream omits them.

use berth_apimachinery::selector::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a placement policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PlacementType {
    /// Every cluster that fits is picked.
    #[default]
    PickAll,
    /// The best clusters that fit are picked, up to a number.
    PickN,
    /// The clusters that the policy names are picked.
    PickFixed,
}

impl PlacementType {
    /// The name of the type in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::PickAll => "PickAll",
            Self::PickN => "PickN",
            Self::PickFixed => "PickFixed",
        }
    }
}

/// The rules by which clusters are chosen for the selected resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementPolicy {
    /// The type of the policy: PickAll places on every cluster that fits, PickN on the best of these
    /// clusters, PickFixed on the named clusters. The type cannot change.
    #[schemars(with = "String", extend("enum" = ["PickAll", "PickN", "PickFixed"], "default" = "PickAll"))]
    pub(crate) placement_type: PlacementType,
    /// The names of the clusters to place on. Only for PickFixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub(crate) cluster_names: Vec<String>,
    /// The number of clusters to place on. Only for PickN, which requires it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub(crate) number_of_clusters: Option<i32>,
    /// Requirements on clusters, and preferences among clusters. Only for PickAll and PickN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) affinity: Option<Affinity>,
    /// Constraints on the spread of the chosen clusters over topology domains, all of which apply. Only for
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
    /// The policy without the number of clusters, which may change without a new policy snapshot.
    pub(crate) fn without_number(&self) -> Self {
        Self {
            number_of_clusters: None,
            ..self.clone()
        }
    }
}

/// Requirements on clusters, and preferences among clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    /// Requirements on labels and properties of clusters, and preferences for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_affinity: Option<ClusterAffinity>,
}

/// Requirements on labels and properties of clusters, and preferences for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterAffinity {
    /// Requirements on a cluster at the time of its choice. A chosen cluster stays chosen if it changes
    /// later.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) required: Option<ClusterSelector>,
    /// Preferences among the clusters that fit. Only for PickN.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) preferred: Vec<PreferredClusterSelector>,
}

/// A selector of clusters by terms, at least one of which must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["clusterSelectorTerms"]))]
pub(crate) struct ClusterSelector {
    /// The terms, at least one of which must match.
    #[schemars(length(max = 10))]
    pub(crate) cluster_selector_terms: Vec<ClusterSelectorTerm>,
}

/// A preferred term with its weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["preference", "weight"]))]
pub(crate) struct PreferredClusterSelector {
    /// The weight of the term in the affinity score of a matching cluster, from -100 to 100.
    #[schemars(range(min = -100, max = 100))]
    pub(crate) weight: i32,
    /// The term that gives a matching cluster the weight.
    pub(crate) preference: ClusterSelectorTerm,
}

/// A term: requirements on one cluster, all of which must be met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterSelectorTerm {
    /// A selector over the labels of a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label_selector: Option<LabelSelector>,
    /// A selector over the properties of a cluster. Only in required terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) property_selector: Option<PropertySelector>,
    /// A property whose value scales the weight of the term. Only in preferred terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) property_sorter: Option<PropertySorter>,
}

/// A selector over properties: requirements, all of which must be met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["matchExpressions"]))]
pub(crate) struct PropertySelector {
    /// The requirements on properties, all of which must be met.
    pub(crate) match_expressions: Vec<PropertyRequirement>,
}

/// A requirement on one property.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "operator", "values"]))]
pub(crate) struct PropertyRequirement {
    /// The name of the property.
    pub(crate) name: String,
    /// The comparison of the property's value with the quantity in values: Gt, Ge, Eq, Ne, Lt or Le.
    #[schemars(extend("enum" = ["Gt", "Ge", "Eq", "Ne", "Lt", "Le"]))]
    pub(crate) operator: String,
    /// The quantity to compare with, as the only element.
    #[schemars(length(max = 1))]
    pub(crate) values: Vec<String>,
}

/// A property whose value scales the weight of a preferred term.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name", "sortOrder"]))]
pub(crate) struct PropertySorter {
    /// The name of the property.
    pub(crate) name: String,
    /// The cluster with the full weight: Descending gives it to the largest value, Ascending to the smallest.
    #[schemars(extend("enum" = ["Descending", "Ascending"]))]
    pub(crate) sort_order: String,
}

/// A constraint on the spread of the chosen clusters over the values of one label, the topology domains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["topologyKey"]))]
pub(crate) struct TopologySpreadConstraint {
    /// The largest allowed difference between the numbers of chosen clusters in the fullest and in the
    /// emptiest topology domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub(crate) max_skew: Option<i32>,
    /// The key of the label whose values are the topology domains.
    pub(crate) topology_key: String,
    /// The treatment of a cluster with which maxSkew would be exceeded: DoNotSchedule, the default, refuses
    /// the cluster, ScheduleAnyway only lowers its score.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["DoNotSchedule", "ScheduleAnyway"]))]
    pub(crate) when_unsatisfiable: String,
}

/// A toleration of taints by a placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Toleration {
    /// The key of the tolerated taint. An empty key with the operator Exists tolerates every taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) key: String,
    /// The comparison of the taint: Equal compares key and value, Exists only the key.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["Equal", "Exists"], "default" = "Equal"))]
    pub(crate) operator: String,
    /// The value of the tolerated taint. It must be empty with the operator Exists.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) value: String,
    /// The effect of the tolerated taint; empty for every effect.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(extend("enum" = ["NoSchedule"]))]
    pub(crate) effect: String,
}
