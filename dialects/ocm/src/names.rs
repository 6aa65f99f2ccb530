//! The names of Open Cluster Management's group, resources, labels, annotations and conditions
//! (docs/systems/ocm.md, "API objects" and "Conditions").

use berth_apimachinery::GroupResource;

/// The API group of OCM's kinds.
pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";
/// The API group of the permission to accept a cluster.
pub(crate) const REGISTER_GROUP: &str = "register.open-cluster-management.io";
/// `cluster.open-cluster-management.io/v1beta1`: the apiVersion of PlacementDecisions, and of Placements in
/// their owner references.
pub(crate) const PLACEMENT_API_VERSION: &str = "cluster.open-cluster-management.io/v1beta1";

/// The resource of the kind ManagedCluster.
pub(crate) const CLUSTERS: GroupResource = GroupResource::new(GROUP, "managedclusters");
/// The resource of the kind ManagedClusterSet.
pub(crate) const SETS: GroupResource = GroupResource::new(GROUP, "managedclustersets");
/// The resource of the kind ManagedClusterSetBinding.
pub(crate) const BINDINGS: GroupResource = GroupResource::new(GROUP, "managedclustersetbindings");
/// The resource of the kind Placement.
pub(crate) const PLACEMENTS: GroupResource = GroupResource::new(GROUP, "placements");
/// The resource of the kind PlacementDecision.
pub(crate) const DECISIONS: GroupResource = GroupResource::new(GROUP, "placementdecisions");
/// The resource of the kind AddOnPlacementScore.
pub(crate) const SCORES: GroupResource = GroupResource::new(GROUP, "addonplacementscores");
/// The resource of the kind ClusterClaim.
pub(crate) const CLAIMS: GroupResource = GroupResource::new(GROUP, "clusterclaims");

/// The label that puts a cluster into its exclusive set.
pub(crate) const SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// The exclusive set of clusters without a set label.
pub(crate) const DEFAULT_SET: &str = "default";
/// The set of all clusters.
pub(crate) const GLOBAL_SET: &str = "global";
/// The label of a PlacementDecision that names its Placement.
pub(crate) const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// The label of a PlacementDecision with the index of its decision group, from `0`.
pub(crate) const GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";
/// The label of a PlacementDecision with the name of its decision group, empty when unnamed.
pub(crate) const GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// The annotation that makes the scheduler ignore a Placement, if its value is `true`.
pub(crate) const DISABLE_ANNOTATION: &str =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";

/// The condition of a ManagedCluster about reachability and health.
pub(crate) const AVAILABLE: &str = "ManagedClusterConditionAvailable";
/// The condition of a Placement about whether every requested cluster was found.
pub(crate) const SATISFIED: &str = "PlacementSatisfied";
/// The condition of a Placement about the validity of its spec.
pub(crate) const MISCONFIGURED: &str = "PlacementMisconfigured";

/// The largest number of clusters in one PlacementDecision.
pub(crate) const DECISIONS_PER_OBJECT: usize = 100;

/// The largest number of prioritizers in a Placement. Each of them has a score for every feasible cluster.
pub(crate) const MAX_PRIORITIZERS: usize = 100;
/// The largest number of predicates in a Placement, and of named decision groups. A cluster may be compared
/// with all of them.
pub(crate) const MAX_SELECTORS: usize = 1_000;
