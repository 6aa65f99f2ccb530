//! Names of Karmada's API: groups, resources, labels, annotations and a condition (docs/systems/karmada.md,
//! "Names"), and the names of the dialect and its users.

use berth_apimachinery::GroupResource;

/// The name of the dialect, and of its configuration object.
pub(crate) const DIALECT: &str = "karmada";
/// The user that writes claims and bindings for the detector.
pub(crate) const DETECTOR: &str = "berth:binding-detector";
/// The user that writes decisions (docs/concepts.md, "Actors").
pub(crate) const ACTOR: &str = "berth:scheduler";
/// The API group of Clusters.
pub(crate) const CLUSTER_GROUP: &str = "cluster.karmada.io";
/// The API group of bindings and Works.
pub(crate) const WORK_GROUP: &str = "work.karmada.io";
/// The API group of policies and quotas.
pub(crate) const POLICY_GROUP: &str = "policy.karmada.io";
/// The API group of WorkloadRebalancers.
pub(crate) const APPS_GROUP: &str = "apps.karmada.io";

/// `clusters.cluster.karmada.io`: the targets.
pub(crate) const CLUSTERS: GroupResource = GroupResource::new(CLUSTER_GROUP, "clusters");
/// `resourcebindings.work.karmada.io`: the demands for namespaced templates.
pub(crate) const BINDINGS: GroupResource = GroupResource::new(WORK_GROUP, "resourcebindings");
/// `clusterresourcebindings.work.karmada.io`: the demands for cluster-scoped templates.
pub(crate) const CLUSTER_BINDINGS: GroupResource = GroupResource::new(WORK_GROUP, "clusterresourcebindings");
/// `propagationpolicies.policy.karmada.io`: the policies for templates of one namespace.
pub(crate) const PROPAGATION_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "propagationpolicies");
/// `clusterpropagationpolicies.policy.karmada.io`: the policies for templates of all namespaces, and for
/// cluster-scoped templates.
pub(crate) const CLUSTER_PROPAGATION_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "clusterpropagationpolicies");
/// `federatedresourcequotas.policy.karmada.io`: the quotas of namespaces.
pub(crate) const QUOTAS: GroupResource = GroupResource::new(POLICY_GROUP, "federatedresourcequotas");
/// `overridepolicies.policy.karmada.io`: changes of templates for single clusters.
pub(crate) const OVERRIDE_POLICIES: GroupResource = GroupResource::new(POLICY_GROUP, "overridepolicies");
/// `clusteroverridepolicies.policy.karmada.io`: changes of templates of all namespaces for single clusters.
pub(crate) const CLUSTER_OVERRIDE_POLICIES: GroupResource =
    GroupResource::new(POLICY_GROUP, "clusteroverridepolicies");

/// The annotation with the placement of the scheduler's last decision, as JSON.
pub(crate) const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// The labels with which a PropagationPolicy, a ClusterPropagationPolicy or a MultiClusterService claims a
/// binding. A binding with none of these labels is not decided.
pub(crate) const CLAIMS: [&str; 3] = [
    "propagationpolicy.karmada.io/permanent-id",
    "clusterpropagationpolicy.karmada.io/permanent-id",
    "binding.karmada.io/managed-by",
];
/// The scheduler of bindings without a schedulerName.
pub(crate) const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The label that protects an object from deletion.
pub(crate) const DELETION_PROTECTED: &str = "resourcetemplate.karmada.io/deletion-protected";

/// The type of the condition that the scheduler writes.
pub(crate) const SCHEDULED: &str = "Scheduled";
