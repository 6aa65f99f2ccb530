//! The names of the system: groups, resources, labels, annotations, finalizers, condition types
//! (docs/systems/fleet.md, "API objects" and "Names").

use berth_apimachinery::GroupResource;

/// The dialect's name.
pub(crate) const DIALECT: &str = "fleet";
/// The scheduler's user name.
pub(crate) const ACTOR: &str = "berth:scheduler";
/// The group of MemberCluster.
pub(crate) const CLUSTER_GROUP: &str = "cluster.kubernetes-fleet.io";
/// The group of all other kinds.
pub(crate) const PLACEMENT_GROUP: &str = "placement.kubernetes-fleet.io";
/// The versions of both groups, the preferred one first. They differ only in `apiVersion`.
pub(crate) const VERSIONS: &[&str] = &["v1", "v1beta1"];
/// The versions of the kinds for which KubeFleet has no v1.
pub(crate) const BETA_ALONE: &[&str] = &["v1beta1"];
/// The stored version.
pub(crate) const STORED: &str = "v1beta1";
/// The `apiVersion` of the objects that this dialect writes.
pub(crate) const PLACEMENT_API_VERSION: &str = "placement.kubernetes-fleet.io/v1beta1";

/// The label of every member cluster with its own name.
pub(crate) const MEMBER_NAME_LABEL: &str = "kubernetes-fleet.io/member-name";

/// `memberclusters`.
pub(crate) const CLUSTERS: GroupResource = GroupResource::new(CLUSTER_GROUP, "memberclusters");
/// `clusterresourceplacements`.
pub(crate) const PLACEMENTS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "clusterresourceplacements");
/// `clusterschedulingpolicysnapshots`.
pub(crate) const SNAPSHOTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "clusterschedulingpolicysnapshots");
/// `clusterresourcebindings`.
pub(crate) const BINDINGS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "clusterresourcebindings");

/// `clusterresourceplacementstatuses`: copies of placements' statuses in the namespaces that they select.
pub(crate) const REPORTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "clusterresourceplacementstatuses");
/// `namespaces`.
pub(crate) const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");
/// The user that copies statuses to namespaces.
pub(crate) const REPORTER: &str = "berth:status-controller";
/// The condition of a placement about the copy of its status in the namespace that it selects.
pub(crate) const REPORTED: &str = "ClusterResourcePlacementStatusSynced";

/// `resourceplacements`.
pub(crate) const RESOURCE_PLACEMENTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "resourceplacements");
/// `schedulingpolicysnapshots`.
pub(crate) const RESOURCE_SNAPSHOTS: GroupResource =
    GroupResource::new(PLACEMENT_GROUP, "schedulingpolicysnapshots");
/// `resourcebindings`.
pub(crate) const RESOURCE_BINDINGS: GroupResource = GroupResource::new(PLACEMENT_GROUP, "resourcebindings");

/// Label with the placement of a snapshot or binding, also for a ResourcePlacement.
pub(crate) const PARENT_LABEL: &str = "kubernetes-fleet.io/parent-CRP";
/// The label with the value `true` on the current snapshot.
pub(crate) const LATEST_LABEL: &str = "kubernetes-fleet.io/is-latest-snapshot";
/// The label with the number of a snapshot, from 0.
pub(crate) const INDEX_LABEL: &str = "kubernetes-fleet.io/policy-index";
/// The annotation with the generation of the placement for which a snapshot was last updated.
pub(crate) const GENERATION_ANNOTATION: &str = "kubernetes-fleet.io/CRP-generation";
/// The annotation with the number of clusters that a PickN placement requests now.
pub(crate) const NUMBER_ANNOTATION: &str = "kubernetes-fleet.io/number-of-clusters";
/// The annotation with the state of a binding before it became Unscheduled.
pub(crate) const PREVIOUS_STATE_ANNOTATION: &str = "kubernetes-fleet.io/previous-binding-state";
/// The scheduler's finalizer on placements.
pub(crate) const PLACEMENT_FINALIZER: &str = "kubernetes-fleet.io/scheduler-cleanup";
/// The scheduler's finalizer on bindings.
pub(crate) const BINDING_FINALIZER: &str = "kubernetes-fleet.io/scheduler-crb-cleanup";

/// The finalizer of the controller that creates the Works of a binding.
pub(crate) const WORK_FINALIZER: &str = "kubernetes-fleet.io/work-cleanup";

/// The prefix of properties that are read from `status.resourceUsage`.
pub(crate) const RESOURCE_PROPERTY_PREFIX: &str = "resources.kubernetes-fleet.io/";

/// The condition of a policy snapshot.
pub(crate) const SCHEDULED: &str = "Scheduled";
/// The reason of a True condition.
pub(crate) const FULFILLED: &str = "SchedulingPolicyFulfilled";
/// The reason of a False condition.
pub(crate) const UNFULFILLED: &str = "SchedulingPolicyUnfulfilled";
/// The condition of a member cluster whose agent collects namespaces.
pub(crate) const NAMESPACES_COLLECTED: &str = "NamespaceCollectionSucceeded";
/// The type of the agent whose reports count.
pub(crate) const MEMBER_AGENT: &str = "MemberAgent";

/// Highest number of decisions in the status of a snapshot (docs/systems/fleet.md, "What is written").
pub(crate) const DECISIONS_LISTED: usize = 1_000;
/// Highest number of unselected clusters in the status of a snapshot.
pub(crate) const UNSELECTED_LISTED: usize = 20;

/// The longest name of a placement and of a cluster, in bytes.
pub(crate) const LONGEST_NAME: usize = 63;
