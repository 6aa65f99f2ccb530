//! Cluster: a Kubernetes cluster that requests may use (docs/systems/openmcp.md, "API objects").

use std::collections::BTreeMap;

use berth_apimachinery::types::Condition;
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, SelectableField, Write, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::names::{GROUP, VERSION};

/// A Kubernetes cluster, which a cluster provider creates and runs. Each request that uses the cluster has a
/// finalizer on it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub struct Cluster {
    /// The requested cluster.
    pub spec: ClusterSpec,
    /// The state of the cluster as reported by the provider. The scheduler does not read it.
    pub status: Option<ClusterStatus>,
}

/// The requested cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["profile", "tenancy"]))]
pub struct ClusterSpec {
    /// The name of the ClusterProfile from which the cluster is created. It cannot change.
    pub profile: String,
    /// Provider-specific objects with more settings, in the namespace of the cluster.
    pub cluster_configs: Vec<ConfigReference>,
    /// The requested version of Kubernetes.
    pub kubernetes: KubernetesConfig,
    /// Purposes of the cluster. Only requests with one of these purposes may use the cluster.
    #[schemars(length(min = 1))]
    pub purposes: Vec<String>,
    /// Exclusive: only one request may use the cluster. Shared: several requests may use it.
    #[schemars(extend("enum" = ["Exclusive", "Shared"]))]
    pub tenancy: String,
}

/// A provider-specific object with settings of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ConfigReference {
    /// The name of the object.
    #[schemars(extend("x-default" = ""))]
    pub name: String,
}

/// The requested version of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KubernetesConfig {
    /// The version of Kubernetes, which may be partial, such as 1.32.
    pub version: String,
}

/// The state of a cluster as reported by the provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["observedGeneration", "phase"]))]
pub struct ClusterStatus {
    /// The generation for which this status was written.
    pub observed_generation: i64,
    /// The state of the cluster as one word, such as Ready or Progressing.
    pub phase: String,
    /// The state of the cluster, one entry per aspect.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The URL of the API server. Newer providers fill in endpoints instead.
    pub api_server: String,
    /// The endpoints of the cluster, such as those of the API server.
    pub endpoints: Vec<Endpoint>,
    /// Data that only the provider understands.
    pub provider_status: Option<BTreeMap<String, Value>>,
}

/// An endpoint of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "url"]))]
pub struct Endpoint {
    /// The name of the endpoint, such as apiserver-external or apiserver-internal.
    pub name: String,
    /// The URL of the endpoint.
    pub url: String,
}

/// Serves Cluster.
#[derive(Clone, Copy, Debug)]
pub struct ClusterKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Purposes", "The purposes of the cluster").at(".spec.purposes"),
        Column::text("Phase", "The state of the cluster").at(".status.phase"),
        Column::text("Version", "The version of Kubernetes")
            .at(".metadata.labels.clusters\\.openmcp\\.cloud/k8sversion"),
        Column::text("Provider", "The provider of the cluster")
            .at(".metadata.labels.clusters\\.openmcp\\.cloud/provider"),
        Column {
            priority: 10,
            ..Column::text("Profile", "The ClusterProfile of the cluster").at(".spec.profile")
        },
        Column {
            priority: 10,
            ..Column::text("Info", "Information from the provider")
                .at(".metadata.annotations.clusters\\.openmcp\\.cloud/providerinfo")
        },
        Column::AGE,
    ],
    selectable: &[SelectableField::at("spec.profile")],
    ..Definition::new(
        KindInfo {
            singular: "cluster",
            status_subresource: true,
            ..KindInfo::new(GROUP, &[VERSION], "Cluster", "clusters")
        },
        Schema::of::<Cluster>,
    )
};

impl Kind for ClusterKind {
    described_by!(DEFINITION);

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let profile = |value: &Value| value.pointer("/spec/profile").cloned();
        match (write.old.and_then(profile), profile(new)) {
            (Some(old), Some(new)) if old != new => {
                vec![FieldError::invalid("spec.profile", new, "profile is immutable")]
            }
            _ => Vec::new(),
        }
    }
}
