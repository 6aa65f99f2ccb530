//! Names of kcp's APIs, in the spelling of kcp's documentation (docs/systems/kcp.md, "API objects" and
//! "Keys"): the domain is `workloads.kcp.dev`, plural, both as API group and in labels.

use berth_apimachinery::GroupResource;

/// The group of Location.
pub const SCHEDULING_GROUP: &str = "scheduling.kcp.dev";
/// The group of WorkloadCluster, and the domain of the syncing keys.
pub const WORKLOADS_GROUP: &str = "workloads.kcp.dev";
/// The group of WorkloadCluster in kcp's releases v0.4 to v0.10.
pub const RELEASED_GROUP: &str = "workload.kcp.dev";
/// The only version of both groups.
pub const VERSION: &str = "v1alpha1";
/// The name of kcp's dialect, and of the dialect's configuration object.
pub const DIALECT: &str = "kcp";

/// The resource of Namespaces, which are the demands.
pub const NAMESPACES: GroupResource = GroupResource::new("", "namespaces");
/// The resource of Locations, which group the targets.
pub const LOCATIONS: GroupResource = GroupResource::new(SCHEDULING_GROUP, "locations");
/// The resource of WorkloadClusters, which are the targets.
pub const WORKLOAD_CLUSTERS: GroupResource = GroupResource::new(WORKLOADS_GROUP, "workloadclusters");

/// The annotation of a namespace with its placement: a JSON object of location strings and states.
pub const PLACEMENT: &str = "scheduling.kcp.dev/placement";
/// The annotation of a Location with its labels as one text, for printing.
pub const LOCATION_LABELS: &str = "scheduling.kcp.dev/labels";
/// Prefix of the labels and annotations that only the scheduler writes.
pub const INTERNAL_SCHEDULING: &str = "internal.scheduling.kcp.dev/";
/// Prefix of the label about a syncer's access to an object; the identifier of the syncer's cluster follows.
pub const STATE: &str = "state.internal.workloads.kcp.dev/";
/// Prefix of the annotation that requests the release of an object from a cluster's syncer; the identifier of
/// the cluster follows.
pub const DELETION: &str = "deletion.internal.workloads.kcp.dev/";
/// Prefix of the annotation with the soft finalizers for one cluster, comma-separated; the identifier of the
/// cluster follows.
pub const SOFT_FINALIZERS: &str = "finalizers.workloads.kcp.dev/";
/// Prefix of a syncer's finalizer on an object; the identifier of the syncer's cluster follows.
pub const SYNCER_FINALIZER: &str = "workloads.kcp.dev/syncer-";
/// The label of a namespace that makes the placement controller ignore the namespace, if its value is exactly
/// `true`.
pub const SCHEDULING_DISABLED: &str = "experimental.workloads.kcp.dev/scheduling-disabled";
/// Prefix of the annotation with the status that one cluster reported; the identifier of the cluster follows.
pub const STATUS_OF: &str = "experimental.status.workloads.kcp.dev/";
/// Prefix of the annotation with a JSON patch of `spec` for one cluster; the identifier of the cluster
/// follows.
pub const SPEC_DIFF: &str = "experimental.spec-diff.workloads.kcp.dev/";
/// The annotation of an object in a syncer's view with the reason why the object must not be synced.
pub const PROBLEM: &str = "internal.workloads.kcp.dev/problem";
/// The annotation of a WorkloadCluster that allows a different status and spec per cluster, if its value is
/// `true`.
pub const ADVANCED_SCHEDULING: &str = "featuregates.experimental.workloads.kcp.dev/advancedscheduling";
/// The label of a downstream object with the identifier of the WorkloadCluster that owns the object.
pub const DOWNSTREAM_CLUSTER: &str = "internal.workloads.kcp.dev/cluster";
/// The annotation of a downstream namespace with the upstream namespace.
pub const NAMESPACE_LOCATOR: &str = "kcp.dev/namespace-locator";
/// The annotation of a downstream namespace with the WorkloadCluster for which it was created, as JSON.
pub const REGISTRATION: &str = "internal.workloads.kcp.dev/registration";
/// The domain of internal keys, which have this domain or a subdomain before the slash.
pub const INTERNAL_WORKLOADS: &str = "internal.workloads.kcp.dev";

/// The name of the virtual location, which has all clusters if there is no Location.
pub const DEFAULT_LOCATION: &str = "default";
/// The first segment of location strings, unless configured otherwise.
pub const DEFAULT_LOCATION_CLUSTER: &str = "root:compute";

/// The maximum length of an identifier in bytes: `syncer-<identifier>` is the name part of a finalizer.
pub const LONGEST_IDENTIFIER: usize = 56;

/// Whether `name` is one of Kubernetes' own namespaces, which are never placed.
#[must_use]
pub fn is_system_namespace(name: &str) -> bool {
    name.starts_with("kube-")
}

/// The resources that follow their namespace, unless configured otherwise.
pub const SYNCED_BY_DEFAULT: [GroupResource; 5] = [
    GroupResource::new("", "configmaps"),
    GroupResource::new("", "secrets"),
    GroupResource::new("", "serviceaccounts"),
    GroupResource::new("", "services"),
    GroupResource::new("apps", "deployments"),
];
