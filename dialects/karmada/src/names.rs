//! The names of the system: users, groups, resources, labels, annotations, and the scheduler's condition
//! (docs/systems/karmada.md, "Names").

use berth_apimachinery::GroupResource;

/// The dialect's name.
pub(crate) const DIALECT: &str = "karmada";
/// The detector's user name.
pub(crate) const DETECTOR: &str = "berth:binding-detector";
/// The scheduler's user name.
pub(crate) const ACTOR: &str = "berth:scheduler";
/// The group of clusters.
pub(crate) const CLUSTER_GROUP: &str = "cluster.karmada.io";
/// The group of bindings and Works.
pub(crate) const WORK_GROUP: &str = "work.karmada.io";
/// The group of policies.
pub(crate) const POLICY_GROUP: &str = "policy.karmada.io";
/// The group of WorkloadRebalancers.
pub(crate) const APPS_GROUP: &str = "apps.karmada.io";

/// `clusters`.
pub(crate) const CLUSTERS: GroupResource = GroupResource::new(CLUSTER_GROUP, "clusters");
/// `resourcebindings`.
pub(crate) const BINDINGS: GroupResource = GroupResource::new(WORK_GROUP, "resourcebindings");
/// `clusterresourcebindings`.
pub(crate) const CLUSTER_BINDINGS: GroupResource = GroupResource::new(WORK_GROUP, "clusterresourcebindings");
/// `propagationpolicies`.
pub(crate) const PROPAGATION_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "propagationpolicies");
/// `clusterpropagationpolicies`.
pub(crate) const CLUSTER_PROPAGATION_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "clusterpropagationpolicies");
/// `federatedresourcequotas`.
pub(crate) const QUOTAS: GroupResource = GroupResource::new(POLICY_GROUP, "federatedresourcequotas");
/// `overridepolicies`.
pub(crate) const OVERRIDE_POLICIES: GroupResource = GroupResource::new(POLICY_GROUP, "overridepolicies");
/// `clusteroverridepolicies`.
pub(crate) const CLUSTER_OVERRIDE_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "clusteroverridepolicies");

/// The annotation with the placement of the scheduler's last decision, as JSON.
pub(crate) const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// The labels of claims, without which a binding is not decided: of either kind of policy, or of a
/// MultiClusterService.
pub(crate) const CLAIMS: [&str; 3] = [
    "propagationpolicy.karmada.io/permanent-id",
    "clusterpropagationpolicy.karmada.io/permanent-id",
    "binding.karmada.io/managed-by",
];
/// The scheduler of bindings without a schedulerName.
pub(crate) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The label that protects an object from deletion.
pub(crate) const DELETION_PROTECTED: &str = "resourcetemplate.karmada.io/deletion-protected";

/// The condition that the scheduler writes.
pub(crate) const SCHEDULED: &str = "Scheduled";
