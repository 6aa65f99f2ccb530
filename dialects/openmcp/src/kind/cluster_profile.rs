//! ClusterProfile: settings by which a provider creates clusters (docs/systems/openmcp.md, "API objects").
//! Decisions do not read ClusterProfiles.

use berth_apimachinery::{Column, Definition, Kind, KindInfo, Schema, Scope, SelectableField, described_by};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::names::{GROUP, VERSION};

/// The provider, the configuration and the versions of clusters with this profile. Cluster providers publish
/// ClusterProfiles.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub struct ClusterProfile {
    /// Settings by which clusters are created.
    pub spec: ClusterProfileSpec,
}

/// Settings by which clusters are created.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["providerConfigRef", "providerRef", "supportedVersions"]))]
pub struct ClusterProfileSpec {
    /// The provider that creates the clusters.
    pub provider_ref: Reference,
    /// The configuration of the provider.
    pub provider_config_ref: Reference,
    /// The versions of Kubernetes that clusters may have.
    pub supported_versions: Vec<SupportedVersion>,
}

/// A reference to an object by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct Reference {
    /// The name of the object.
    #[schemars(extend("x-default" = ""))]
    pub name: String,
}

/// A version of Kubernetes that clusters may have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["version"]))]
pub struct SupportedVersion {
    /// The version of Kubernetes.
    #[schemars(length(min = 5))]
    pub version: String,
    /// Whether new clusters should not use the version.
    pub deprecated: bool,
}

/// The kind ClusterProfile.
#[derive(Clone, Copy, Debug)]
pub struct ClusterProfileKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Provider", "The provider of the clusters").at(".spec.providerRef.name"),
        Column::text("Config", "The provider's own configuration").at(".spec.providerConfigRef.name"),
    ],
    selectable: &[
        SelectableField::at("spec.providerRef.name"),
        SelectableField::at("spec.providerConfigRef.name"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "clusterprofile",
            short_names: &["cprof", "profile"],
            scope: Scope::Cluster,
            ..KindInfo::new(GROUP, &[VERSION], "ClusterProfile", "clusterprofiles")
        },
        Schema::of::<ClusterProfile>,
    )
};

impl Kind for ClusterProfileKind {
    described_by!(DEFINITION);

    /// True, as for every custom resource, although the kind has no status.
    fn counts_generation(&self) -> bool {
        true
    }
}
