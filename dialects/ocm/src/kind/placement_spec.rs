//! `Placement.spec`: the requested clusters and their number (docs/systems/ocm.md, "Placement spec").

use super::QUALIFIED_NAME;
use berth_apimachinery::selector::{LabelSelector, LabelSelectorRequirement};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The requested clusters, and their number.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementSpec {
    /// The cluster sets to choose from; empty means every set that is bound to the namespace.
    pub(crate) cluster_sets: Vec<String>,
    /// Number of requested clusters; unset means every cluster that fits.
    #[schemars(range(min = 0))]
    pub(crate) number_of_clusters: Option<i32>,
    /// Requirements on a cluster; one matching predicate is enough.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) predicates: Vec<Predicate>,
    /// Ranking of the clusters that fit.
    pub(crate) prioritizer_policy: PrioritizerPolicy,
    /// Spread of the selection over topologies. Stored, without effect.
    pub(crate) spread_policy: SpreadPolicy,
    /// The taints of clusters that this placement tolerates.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) tolerations: Vec<Toleration>,
    /// Division of the selected clusters into groups.
    pub(crate) decision_strategy: DecisionStrategy,
    /// The order of the decisions. Stored, without effect.
    #[schemars(extend("enum" = ["ClusterName", "Score"], "default" = "ClusterName"))]
    pub(crate) sort_by: Option<String>,
    /// Interval at which score changes may alter the decisions. Stored, without effect.
    #[schemars(regex(pattern = r"^[0-9]+[hms]$"), extend("default" = "1m"))]
    pub(crate) score_rate_limit: Option<String>,
}

/// A set of requirements on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Predicate {
    /// Requirements on a cluster; all selectors that are set must match.
    pub(crate) required_cluster_selector: ClusterSelector,
}

/// Selectors over one cluster, all of which must match.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterSelector {
    /// A selector over the labels of the cluster.
    pub(crate) label_selector: LabelSelector,
    /// A selector over the claims of the cluster.
    pub(crate) claim_selector: ClaimSelector,
    /// Expressions over the cluster as a whole.
    pub(crate) cel_selector: CelSelector,
}

/// A selector over the claims of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSelector {
    /// Requirements on single claims, all of which must hold.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) match_expressions: Vec<LabelSelectorRequirement>,
}

/// Expressions over a cluster as a whole.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CelSelector {
    /// CEL expressions over the variable managedCluster, all of which must be true.
    pub(crate) cel_expressions: Vec<String>,
}

/// Ranking of the clusters that fit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PrioritizerPolicy {
    /// Additive uses the prioritizers Balance and Steady with weight 1, and the listed prioritizers; a listed
    /// Balance or Steady replaces the default. Exact uses only the listed prioritizers.
    #[schemars(extend("default" = "Additive"))]
    pub(crate) mode: String,
    /// The listed prioritizers, with their weights.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub(crate) configurations: Vec<PrioritizerConfig>,
}

/// One prioritizer with its weight.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PrioritizerConfig {
    /// The name of a built-in prioritizer. Deprecated: use scoreCoordinate, which wins if both are set.
    pub(crate) name: String,
    /// The score of the prioritizer.
    pub(crate) score_coordinate: Option<ScoreCoordinate>,
    /// Factor of the score, from -10 to 10. With 0, the prioritizer is not used; a negative weight prefers
    /// clusters with low scores.
    #[schemars(range(min = -10, max = 10), extend("default" = 1))]
    pub(crate) weight: Option<i32>,
}

/// The score of a prioritizer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["type"]))]
pub(crate) struct ScoreCoordinate {
    /// BuiltIn (also spelled BuildIn) for a built-in prioritizer, AddOn for a score of AddOnPlacementScore
    /// objects.
    #[schemars(extend("enum" = ["BuiltIn", "BuildIn", "AddOn"], "default" = "BuiltIn"))]
    pub(crate) r#type: String,
    /// The built-in prioritizer: Balance, Steady, ResourceAllocatableCPU or ResourceAllocatableMemory.
    pub(crate) built_in: String,
    /// Older spelling of builtIn, from the first versions of the API.
    pub(crate) build_in: String,
    /// The score of AddOnPlacementScore objects, for the type AddOn.
    pub(crate) add_on: Option<AddOnScore>,
}

/// A score of AddOnPlacementScore objects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceName", "scoreName"]))]
pub(crate) struct AddOnScore {
    /// The name of the AddOnPlacementScore in the namespace of each cluster.
    pub(crate) resource_name: String,
    /// The name of the score in the AddOnPlacementScore.
    pub(crate) score_name: String,
}

/// A taint that this placement tolerates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Toleration {
    /// The key of the taint; empty, with the operator Exists, means every key.
    #[schemars(length(max = 316), regex(pattern = QUALIFIED_NAME))]
    pub(crate) key: String,
    /// Comparison with the value of the taint: Equal, or Exists for any value.
    #[schemars(extend("default" = "Equal"))]
    pub(crate) operator: String,
    /// The value of the taint, for the operator Equal.
    #[schemars(length(max = 1024))]
    pub(crate) value: String,
    /// The effect of the taint; empty means every effect.
    #[schemars(extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub(crate) effect: String,
    /// Time for which the taint is tolerated, in seconds after the taint was added; unset means forever.
    pub(crate) toleration_seconds: Option<i64>,
}

/// Spread of the selection over topologies.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadPolicy {
    /// Constraints on the spread, in order of importance.
    #[schemars(length(max = 8))]
    pub(crate) spread_constraints: Vec<SpreadConstraint>,
}

/// One constraint on the spread of the selection.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["topologyKey", "topologyKeyType"]))]
pub(crate) struct SpreadConstraint {
    /// The label or claim whose values are the topologies.
    #[schemars(
        length(max = 316),
        regex(
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
        )
    )]
    pub(crate) topology_key: String,
    /// Whether the key is a label or a claim.
    #[schemars(extend("enum" = ["Label", "Claim"]))]
    pub(crate) topology_key_type: String,
    /// The largest allowed difference between the numbers of clusters in two topologies.
    #[schemars(range(min = 1), extend("default" = 1))]
    pub(crate) max_skew: Option<i32>,
    /// Consequence when the constraint cannot be met.
    #[schemars(extend("enum" = ["DoNotSchedule", "ScheduleAnyway"], "default" = "ScheduleAnyway"))]
    pub(crate) when_unsatisfiable: Option<String>,
}

/// Division of the selected clusters into groups.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DecisionStrategy {
    /// The groups of selected clusters.
    pub(crate) group_strategy: GroupStrategy,
}

/// The groups of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GroupStrategy {
    /// The groups with names, filled in order. Clusters that belong to no named group form groups without a
    /// name.
    pub(crate) decision_groups: Vec<DecisionGroup>,
    /// The largest size of a group: a number of clusters, or a percentage of all selected clusters.
    #[schemars(extend("x-kubernetes-int-or-string" = true, "default" = "100%", "pattern" = r"^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$"))]
    pub(crate) clusters_per_decision_group: Option<Value>,
}

/// A group with a name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["groupClusterSelector", "groupName"]))]
pub(crate) struct DecisionGroup {
    /// The name of the group.
    #[schemars(regex(pattern = r"^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$"))]
    pub(crate) group_name: String,
    /// Selected clusters that belong to the group.
    pub(crate) group_cluster_selector: GroupClusterSelector,
}

/// Selected clusters that belong to a group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GroupClusterSelector {
    /// A selector over the labels of the cluster.
    pub(crate) label_selector: LabelSelector,
    /// A selector over the claims of the cluster.
    pub(crate) claim_selector: ClaimSelector,
}
