//! Names in KubeFleet's API: groups, resources, labels, annotations, finalizers and condition types
//! (docs/systems/fleet.md, "API objects" and "Names"), with related limits.

use berth_apimachinery::GroupResource;

/// The name of the dialect.
pub(crate) const DIALECT: &str = "fleet";
/// The user name under which the scheduler writes.
pub(crate) const ACTOR: &str = "berth:scheduler";
/// The API group of MemberCluster.
pub(crate) const CLUSTER_GROUP: &str = "cluster.kubernetes-fleet.io";
/// The API group of all kinds except MemberCluster.
pub(crate) const PLACEMENT_GROUP: &str = "placement.kubernetes-fleet.io";
/// The API versions of both groups, the preferred version first. Objects of these versions differ only in
/// `apiVersion`.
pub(crate) const VERSIONS: &[&str] = &["v1", "v1beta1"];
/// The API versions of the kinds for which KubeFleet has no v1.
pub(crate) const V1BETA1_ONLY: &[&str] = &["v1beta1"];
/// The API version in which objects are stored.
pub(crate) const STORED: &str = "v1beta1";
/// The `apiVersion` of the objects that this dialect writes.
pub(crate) const PLACEMENT_API_VERSION: &str = "placement.kubernetes-fleet.io/v1beta1";

/// The label of every MemberCluster with the name of the cluster as its value.
pub(crate) const MEMBER_NAME_LABEL: &str = "kubernetes-fleet.io/member-name";

/// The resource of MemberClusters.
pub(crate) const CLUSTERS: GroupResource = GroupResource::new(CLUSTER_GROUP, "memberclusters");
/// The resource of ClusterResourcePlacements.
pub(crate) const PLACEMENTS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "clusterresourceplacements");
/// The resource of ClusterSchedulingPolicySnapshots.
pub(crate) const SNAPSHOTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "clusterschedulingpolicysnapshots");
/// The resource of ClusterResourceBindings.
pub(crate) const BINDINGS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "clusterresourcebindings");

/// The resource of ClusterResourcePlacementStatuses, which are copies of the statuses of placements in the
/// selected namespaces.
pub(crate) const STATUS_COPIES: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "clusterresourceplacementstatuses");
/// The resource of Namespaces.
pub(crate) const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");
/// The user name under which statuses are copied to namespaces.
pub(crate) const STATUS_CONTROLLER: &str = "berth:status-controller";
/// The type of the condition of a placement about the copy of the placement's status in the selected
/// namespace.
pub(crate) const STATUS_SYNCED: &str = "ClusterResourcePlacementStatusSynced";

/// The resource of ResourcePlacements.
pub(crate) const RESOURCE_PLACEMENTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "resourceplacements");
/// The resource of SchedulingPolicySnapshots.
pub(crate) const RESOURCE_SNAPSHOTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "schedulingpolicysnapshots");
/// The resource of ResourceBindings.
pub(crate) const RESOURCE_BINDINGS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "resourcebindings");

/// The label with the name of the placement of a snapshot or binding. In spite of its name, the label is also
/// used for a ResourcePlacement.
pub(crate) const PARENT_LABEL: &str = "kubernetes-fleet.io/parent-CRP";
/// The label that has the value `true` on the current policy snapshot.
pub(crate) const LATEST_LABEL: &str = "kubernetes-fleet.io/is-latest-snapshot";
/// The label with the number of a policy snapshot, from 0.
pub(crate) const INDEX_LABEL: &str = "kubernetes-fleet.io/policy-index";
/// The annotation with the generation of the placement for which a policy snapshot was last updated.
pub(crate) const GENERATION_ANNOTATION: &str = "kubernetes-fleet.io/CRP-generation";
/// The annotation of a policy snapshot with the number of clusters that a PickN placement requests now.
pub(crate) const NUMBER_ANNOTATION: &str = "kubernetes-fleet.io/number-of-clusters";
/// The annotation with the state of a binding before it became Unscheduled.
pub(crate) const PREVIOUS_STATE_ANNOTATION: &str = "kubernetes-fleet.io/previous-binding-state";
/// The scheduler's finalizer on placements.
pub(crate) const PLACEMENT_FINALIZER: &str = "kubernetes-fleet.io/scheduler-cleanup";
/// The scheduler's finalizer on bindings.
pub(crate) const BINDING_FINALIZER: &str = "kubernetes-fleet.io/scheduler-crb-cleanup";

/// The finalizer of the controller that creates the Works of a binding.
pub(crate) const WORK_FINALIZER: &str = "kubernetes-fleet.io/work-cleanup";

/// The prefix of the names of properties that are read from `status.resourceUsage`.
pub(crate) const RESOURCE_PROPERTY_PREFIX: &str = "resources.kubernetes-fleet.io/";

/// The type of the condition of a policy snapshot about the result of scheduling.
pub(crate) const SCHEDULED: &str = "Scheduled";
/// The reason of the condition about the result of scheduling if the status is True.
pub(crate) const FULFILLED: &str = "SchedulingPolicyFulfilled";
/// The reason of the condition about the result of scheduling if the status is False.
pub(crate) const UNFULFILLED: &str = "SchedulingPolicyUnfulfilled";
/// The type of a condition that a MemberCluster has if the agent of the cluster collects namespaces.
pub(crate) const NAMESPACES_COLLECTED: &str = "NamespaceCollectionSucceeded";
/// The type of the agent whose reports determine eligibility.
pub(crate) const MEMBER_AGENT: &str = "MemberAgent";

/// The highest number of decisions in the status of a policy snapshot (docs/systems/fleet.md, "What is
/// written").
pub(crate) const MAX_DECISIONS: usize = 1_000;
/// The highest number of unselected clusters in the status of a policy snapshot, except for PickFixed.
pub(crate) const MAX_UNSELECTED: usize = 20;

/// The highest number of topology spread constraints in a policy. Every pick is judged by all of them.
pub(crate) const MAX_CONSTRAINTS: usize = 100;

/// The greatest length of the name of a placement or cluster, in bytes: labels have the name as their value.
pub(crate) const MAX_NAME_LENGTH: usize = 63;
