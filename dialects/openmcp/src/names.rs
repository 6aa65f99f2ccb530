//! Names of openMCP's API (docs/systems/openmcp.md, "API objects" and "Names and labels").

use berth_apimachinery::GroupResource;

/// The API group.
pub const GROUP: &str = "clusters.openmcp.cloud";
/// The one version.
pub const VERSION: &str = "v1alpha1";
/// `clusters.openmcp.cloud/v1alpha1`.
pub const API_VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
/// The dialect's name, and the name of its configuration object.
pub const DIALECT: &str = "openmcp";
/// The scheduler's user name.
pub const ACTOR: &str = "berth:scheduler";
/// `clusters.clusters.openmcp.cloud`: where requests go.
pub const CLUSTERS: GroupResource = GroupResource::new(GROUP, "clusters");
/// `clusterrequests.clusters.openmcp.cloud`: the demands.
pub const REQUESTS: GroupResource = GroupResource::new(GROUP, "clusterrequests");
/// `clusterprofiles.clusters.openmcp.cloud`: the profiles of Clusters. The scheduler never reads one.
pub const PROFILES: GroupResource = GroupResource::new(GROUP, "clusterprofiles");

/// The scheduler's finalizer on a ClusterRequest.
pub const REQUEST_FINALIZER: &str = "clusters.openmcp.cloud/request";
/// Every request that uses a Cluster has a finalizer on it: this and the request's uid.
pub const USE_FINALIZER: &str = "request.clusters.openmcp.cloud/";
/// A Cluster with exactly the value `true` goes with its last request.
pub const DELETE_LABEL: &str = "clusters.openmcp.cloud/delete-without-requests";
/// A request with the value `true` gets a random name for a new Cluster, not the hash of its own.
pub const RANDOM_LABEL: &str = "clusters.openmcp.cloud/randomize-cluster-name";
/// Labels and annotations of a request that its own Cluster gets begin with this.
pub const PASSED_ON: &str = "metadata.open-control-plane.io/";
/// Clusters carry the name of their provider under this label.
pub const PROVIDER_LABEL: &str = "clusters.openmcp.cloud/provider";
/// Annotation with the operation on a request: `ignore` or, once, `reconcile`.
pub const OPERATION_ANNOTATION: &str = "openmcp.cloud/operation";

/// The phase of a request with a Cluster.
pub const GRANTED: &str = "Granted";
/// The phase of a request without one, or in trouble.
pub const PENDING: &str = "Pending";
/// The condition with the reason why a request is Pending (docs/systems/openmcp.md, "Differences from
/// upstream": upstream gives no cause).
pub const SCHEDULED: &str = "Scheduled";
