//! The kinds ClusterProfile and PlacementDecision: schemas, names, columns, and the owners of fields.
//!
//! The schemas are upstream's, so that fields of other writers, such as further entries in lists of the
//! status, are preserved.

use berth_apimachinery::types::{Condition, Time};
use berth_apimachinery::{Column, Keeper, Kind, KindInfo, Schema, Scope};
use schemars::JsonSchema;

use crate::{GROUP, MANAGER, USER, VERSION};

/// A cluster of a multi-cluster system, in a form that is common to many tools.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", extend("required" = ["spec"]))]
pub struct ClusterProfile {
    /// The cluster, and its manager.
    pub spec: ClusterProfileSpec,
    /// Status of the cluster.
    pub status: Option<ClusterProfileStatus>,
}

/// Cluster of a ClusterProfile.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ClusterProfileSpec {
    /// A name of the cluster for people.
    pub display_name: Option<String>,
    /// Manager of the cluster and of this object. Immutable.
    pub cluster_manager: ClusterManager,
}

/// Manager of a cluster.
#[derive(JsonSchema)]
pub struct ClusterManager {
    /// Name of the manager, which is also the value of the label x-k8s.io/cluster-manager.
    pub name: String,
}

/// Status of a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ClusterProfileStatus {
    /// Conditions of the cluster. ControlPlaneHealthy is True while the cluster can be used.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
    /// The versions that the cluster runs.
    pub version: Option<ClusterVersion>,
    /// Properties that the cluster reports.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub properties: Option<Vec<Property>>,
    /// Ways to reach the API server. They contain no credentials.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub access_providers: Option<Vec<AccessProvider>>,
    /// Former name of the field accessProviders. An entry in accessProviders takes precedence over an entry
    /// with an equal name in this field. Berth does not write this field.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub credential_providers: Option<Vec<AccessProvider>>,
}

/// The versions that a cluster runs.
#[derive(JsonSchema)]
pub struct ClusterVersion {
    /// The version of Kubernetes.
    pub kubernetes: Option<String>,
}

/// A property of a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Property {
    /// The name of the property.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The value of the property.
    #[schemars(length(min = 1, max = 1024))]
    pub value: String,
    /// Time of the last observation on the cluster.
    pub last_observed_time: Option<Time>,
}

/// A way to reach the API server of a cluster.
#[derive(JsonSchema)]
pub struct AccessProvider {
    /// Name of the access provider. Consumers have a configuration of credentials for each name.
    pub name: String,
    /// Address of the API server.
    pub cluster: Option<AccessCluster>,
}

/// Address of an API server, as in a kubeconfig.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub struct AccessCluster {
    /// The URL of the API server.
    pub server: Option<String>,
    /// The CA bundle of the API server, in PEM.
    #[schemars(extend("format" = "byte"))]
    pub certificate_authority_data: Option<String>,
    /// The path of a file with the CA bundle.
    pub certificate_authority: Option<String>,
    /// The server name to verify the certificate against; the host of the URL if omitted.
    pub tls_server_name: Option<String>,
    /// Whether the certificate is not verified.
    pub insecure_skip_tls_verify: Option<bool>,
    /// The URL of the proxy for requests to the API server.
    pub proxy_url: Option<String>,
    /// Whether responses are not compressed.
    pub disable_compression: Option<bool>,
    /// Further data about the cluster for consumers, such as the configuration of an exec plugin.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub extensions: Option<Vec<Extension>>,
}

/// Further data for a consumer, by name.
#[derive(JsonSchema)]
pub struct Extension {
    /// The name of the extension.
    pub name: String,
    /// The data of the extension.
    pub extension: AnyObject,
}

/// Any object.
#[derive(JsonSchema)]
#[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
pub struct AnyObject {}

/// A slice of a decision: clusters that were chosen for a workload.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", extend("required" = ["decisions"]))]
pub struct PlacementDecision {
    /// The chosen clusters. Slices with an equal label multicluster.x-k8s.io/decision-key form one decision.
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub decisions: Vec<ClusterDecision>,
    /// Scheduler that made the decision.
    pub scheduler_name: Option<String>,
}

/// A chosen cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ClusterDecision {
    /// The ClusterProfile of the cluster.
    pub cluster_profile_ref: ClusterProfileRef,
    /// The reason why the cluster was chosen.
    pub reason: Option<String>,
}

/// A reference to a ClusterProfile.
#[derive(JsonSchema)]
pub struct ClusterProfileRef {
    /// The name of the ClusterProfile.
    pub name: String,
    /// The namespace of the ClusterProfile.
    pub namespace: Option<String>,
}

/// A kind of published objects: Berth creates and deletes the objects, and owns the fields that it writes.
/// Other clients may add fields.
pub struct PublishedKind {
    info: KindInfo,
    schema: Schema,
    columns: Vec<Column>,
}

impl Kind for PublishedKind {
    fn info(&self) -> &KindInfo {
        &self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        &self.schema
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns true: generations are counted as for custom resources, with or without a status.
    fn counts_generation(&self) -> bool {
        true
    }

    fn keeper(&self) -> Option<Keeper> {
        Some(Keeper {
            user: USER,
            manager: MANAGER,
        })
    }
}

/// The kind of `clusterprofiles`.
#[must_use]
pub fn cluster_profile() -> PublishedKind {
    PublishedKind {
        info: KindInfo {
            status_subresource: true,
            ..info("ClusterProfile", "clusterprofiles", "clusterprofile")
        },
        schema: Schema::of::<ClusterProfile>(),
        columns: vec![
            Column::NAME,
            Column::text("Manager", "The manager of the cluster").at(".spec.clusterManager.name"),
            Column::text("Healthy", "Whether the cluster can be used")
                .at(".status.conditions[?(@.type==\"ControlPlaneHealthy\")].status"),
            Column::text("Version", "The version of Kubernetes").at(".status.version.kubernetes"),
            Column::AGE,
        ],
    }
}

/// The kind of `placementdecisions`.
#[must_use]
pub fn placement_decision() -> PublishedKind {
    PublishedKind {
        info: info("PlacementDecision", "placementdecisions", "placementdecision"),
        schema: Schema::of::<PlacementDecision>(),
        columns: vec![
            Column::NAME,
            Column::text("Scheduler", "The scheduler that made the decision").at(".schedulerName"),
            Column::text("First", "The first cluster, by name").at(".decisions[*].clusterProfileRef.name"),
            Column::AGE,
        ],
    }
}

const fn info(kind: &'static str, plural: &'static str, singular: &'static str) -> KindInfo {
    let all = KindInfo::new(GROUP, &[VERSION], kind, plural);
    KindInfo {
        singular,
        scope: Scope::Namespaced,
        verbs: &["get", "list", "patch", "update", "watch"],
        ..all
    }
}
