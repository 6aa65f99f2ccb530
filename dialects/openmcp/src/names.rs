//! Names of openMCP's API (docs/systems/openmcp.md, "API objects" and "Names and labels").

use berth_apimachinery::GroupResource;

/// The API group of openMCP's kinds.
pub const GROUP: &str = "clusters.openmcp.cloud";
/// The only version of the API group.
pub const VERSION: &str = "v1alpha1";
/// The apiVersion of all kinds.
pub const API_VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
/// The name of the dialect, and of its SchedulerConfiguration.
pub const DIALECT: &str = "openmcp";
/// The scheduler's user name.
pub const ACTOR: &str = "berth:scheduler";
/// The resource of Clusters, which are the targets.
pub const CLUSTERS: GroupResource = GroupResource::new(GROUP, "clusters");
/// The resource of ClusterRequests, which are the demands.
pub const REQUESTS: GroupResource = GroupResource::new(GROUP, "clusterrequests");
/// The resource of ClusterProfiles, which the scheduler never reads.
pub const PROFILES: GroupResource = GroupResource::new(GROUP, "clusterprofiles");

/// The scheduler's finalizer on a ClusterRequest.
pub const REQUEST_FINALIZER: &str = "clusters.openmcp.cloud/request";
/// The prefix of the finalizers of requests on a Cluster. Every request that uses the Cluster has such a
/// finalizer, which ends with the uid of the request.
pub const USE_FINALIZER: &str = "request.clusters.openmcp.cloud/";
/// The label that requests the deletion of a Cluster with its last request, if its value is exactly `true`.
pub const DELETE_LABEL: &str = "clusters.openmcp.cloud/delete-without-requests";
/// The label of a ClusterRequest whose new Cluster gets a random name instead of a hash, if its value is
/// `true`.
pub const RANDOM_LABEL: &str = "clusters.openmcp.cloud/randomize-cluster-name";
/// The prefix of labels and annotations that are copied from a request to its exclusive Cluster.
pub const REQUEST_METADATA_PREFIX: &str = "metadata.open-control-plane.io/";
/// The label of Clusters with the name of their provider.
pub const PROVIDER_LABEL: &str = "clusters.openmcp.cloud/provider";
/// The annotation with the operation on a request: `ignore` or `reconcile`. The scheduler removes `reconcile`
/// after the decision.
pub const OPERATION_ANNOTATION: &str = "openmcp.cloud/operation";

/// The phase of a request with a granted Cluster.
pub const GRANTED: &str = "Granted";
/// The phase of a request without a Cluster, or with a problem.
pub const PENDING: &str = "Pending";
/// The condition with the reason why a request is Pending. openMCP itself has no such condition
/// (docs/systems/openmcp.md, "Differences from upstream").
pub const SCHEDULED: &str = "Scheduled";
