//! Names of openMCP's API (docs/systems/openmcp.md, "API objects" and "Names and labels").

use berth_apimachinery::GroupResource;

/// The API group.
pub const GROUP: &str = "clusters.openmcp.cloud";
/// The only version.
pub const VERSION: &str = "v1alpha1";
/// Group and version: `clusters.openmcp.cloud/v1alpha1`.
pub const API_VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
/// The dialect's name, and the name of its configuration object.
pub const DIALECT: &str = "openmcp";
/// The scheduler's user name.
pub const ACTOR: &str = "berth:scheduler";
/// `clusters.clusters.openmcp.cloud`: the targets.
pub const CLUSTERS: GroupResource = GroupResource::new(GROUP, "clusters");
/// `clusterrequests.clusters.openmcp.cloud`: the demands.
pub const REQUESTS: GroupResource = GroupResource::new(GROUP, "clusterrequests");
/// `clusterprofiles.clusters.openmcp.cloud`: the profiles of Clusters. The scheduler never reads them.
pub const PROFILES: GroupResource = GroupResource::new(GROUP, "clusterprofiles");

/// The scheduler's finalizer on a ClusterRequest.
pub const REQUEST_FINALIZER: &str = "clusters.openmcp.cloud/request";
/// Prefix of requests' finalizers on a Cluster: every request that uses the Cluster has one, which ends with
/// the uid of the request.
pub const USE_FINALIZER: &str = "request.clusters.openmcp.cloud/";
/// The label that requests the deletion of a Cluster with its last request, if its value is exactly `true`.
pub const DELETE_LABEL: &str = "clusters.openmcp.cloud/delete-without-requests";
/// The label of a ClusterRequest whose new Cluster gets a random name instead of a hash, if its value is
/// `true`.
pub const RANDOM_LABEL: &str = "clusters.openmcp.cloud/randomize-cluster-name";
/// Prefix of labels and annotations that are copied from a request to its exclusive Cluster.
pub const PASSED_ON: &str = "metadata.open-control-plane.io/";
/// The label of Clusters with the name of their provider.
pub const PROVIDER_LABEL: &str = "clusters.openmcp.cloud/provider";
/// The annotation with the operation on a request: `ignore`, or `reconcile`, which the scheduler
/// removes again.
pub const OPERATION_ANNOTATION: &str = "openmcp.cloud/operation";

/// The phase of a request with a granted Cluster.
pub const GRANTED: &str = "Granted";
/// The phase of a request without a Cluster, or with a problem.
pub const PENDING: &str = "Pending";
/// The condition with the reason why a request is Pending (docs/systems/openmcp.md, "Differences from
/// upstream": upstream gives no cause).
pub const SCHEDULED: &str = "Scheduled";
