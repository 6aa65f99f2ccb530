//! The pipeline's plugins: what refuses a cluster and what scores it (docs/systems/fleet.md, "Filters" and "Ranking").

pub(crate) mod filters;
pub(crate) mod scores;
pub(crate) mod spread;

/// The filters in pipeline order. PickFixed stands for the check of named clusters, which runs instead of the others.
pub(crate) static FILTERS: [&str; 6] = [
    CLUSTER_AFFINITY,
    "ClusterEligibility",
    "TaintToleration",
    SAME_PLACEMENT_ANTI_AFFINITY,
    TOPOLOGY_SPREAD_CONSTRAINTS,
    "PickFixed",
];

/// The filter of the required terms and the scorer of the preferred ones.
pub(crate) const CLUSTER_AFFINITY: &str = "ClusterAffinity";
/// The filter that keeps a placement from one cluster twice; as a scorer it prefers clusters of the policy before.
pub(crate) const SAME_PLACEMENT_ANTI_AFFINITY: &str = "SamePlacementAntiAffinity";
/// The filter and scorer of topology spread constraints.
pub(crate) const TOPOLOGY_SPREAD_CONSTRAINTS: &str = "TopologySpreadConstraints";

/// The place of ClusterAffinity in [`FILTERS`].
pub(crate) const AFFINITY: u16 = 0;
/// The place of ClusterEligibility.
pub(crate) const ELIGIBILITY: u16 = 1;
/// The place of TaintToleration.
pub(crate) const TAINTS: u16 = 2;
/// The place of TopologySpreadConstraints.
pub(crate) const SPREAD: u16 = 4;
/// The place of PickFixed.
pub(crate) const FIXED: u16 = 5;
