//! ClusterClaim v1alpha1: a statement of a managed cluster about itself, which OCM's agent copies into the
//! status of its ManagedCluster (docs/systems/ocm.md, "API objects"). Decisions do not read ClusterClaims.

use berth_apimachinery::{Definition, Kind, KindInfo, Schema, described_by};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::names::GROUP;

/// A claim of a managed cluster about itself. The name of the object says what is claimed, such as id.k8s.io.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ClusterClaim {
    /// The content of the claim.
    pub(crate) spec: ClusterClaimSpec,
}

/// The content of a claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ClusterClaimSpec {
    /// The value, whose meaning depends on the claim.
    #[schemars(length(min = 1, max = 1024))]
    pub(crate) value: String,
}

/// Serves ClusterClaim.
pub(super) struct ClusterClaimKind;

static DEFINITION: Definition = Definition::new(
    KindInfo {
        singular: "clusterclaim",
        scope: berth_apimachinery::Scope::Cluster,
        ..KindInfo::new(GROUP, &["v1alpha1"], "ClusterClaim", "clusterclaims")
    },
    Schema::of::<ClusterClaim>,
);

impl Kind for ClusterClaimKind {
    described_by!(DEFINITION);
}
