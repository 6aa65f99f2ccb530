//! CloudProfile: the allowed settings of the shoots of one infrastructure, and their possible seeds.

use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, described_by,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::common::{SeedSelector, check_required};
use crate::kind::view;
use crate::names::{GROUP, VERSION};

/// The fields of a CloudProfile beside its metadata.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CloudProfile {
    /// Settings that the profile allows for shoots, and their possible seeds.
    pub spec: CloudProfileSpec,
    /// Status of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<CloudProfileStatus>,
}

/// Status of a profile, in which Gardener reports the supported versions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CloudProfileStatus {}

/// Settings that a profile allows for shoots, and their possible seeds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct CloudProfileSpec {
    /// The provider type, such as aws or openstack. Shoots with this profile must have the same provider
    /// type.
    pub r#type: String,
    /// The seeds to which shoots with this profile may be scheduled; by default, all seeds of the shoot's own
    /// provider type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_selector: Option<SeedSelector>,
    /// The regions in which shoots with this profile may be. If absent, shoots may be in any region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regions: Option<Vec<Region>>,
    /// Settings that the profile allows for the control planes of shoots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ProfileControlPlane>,
}

/// Settings that a profile allows for the control planes of shoots.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct ProfileControlPlane {
    /// Whether shoots may set spec.controlPlane.zones.
    pub allow_zone_pinning: bool,
}

/// A region in which shoots with a profile may be.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name"], "x-kubernetes-preserve-unknown-fields" = true))]
pub struct Region {
    /// The name of the region.
    pub name: String,
}

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Provider", "The provider type of the profile").at(".spec.type"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            singular: "cloudprofile",
            short_names: &["cprofile", "cpfl"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(GROUP, &[VERSION], "CloudProfile", "cloudprofiles")
        },
        Schema::of::<CloudProfile>,
    )
};

/// The kind CloudProfile.
#[derive(Clone, Copy, Debug)]
pub struct CloudProfileKind;

impl Kind for CloudProfileKind {
    described_by!(DEFINITION);

    fn validate(&self, _write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        let profile: CloudProfile = match view(self.schema(VERSION), new) {
            Ok(profile) => profile,
            Err(errors) => return errors,
        };
        let mut errors = Vec::new();
        check_required(
            &mut errors,
            "spec.type",
            &profile.spec.r#type,
            "must be the provider type, such as \"aws\"",
        );
        if let Some(selector) = &profile.spec.seed_selector {
            errors.extend(selector.compile("spec.seedSelector").err().into_iter().flatten());
        }
        errors
    }
}
