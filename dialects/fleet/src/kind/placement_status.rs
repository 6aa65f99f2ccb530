//! ClusterResourcePlacementStatus: the copy of the status of a ClusterResourcePlacement in the namespace that
//! the placement selects (docs/systems/fleet.md, "Status in a namespace").

use berth_apimachinery::types::Time;
use berth_apimachinery::{Column, Definition, KindInfo, Schema};
use schemars::JsonSchema;
use serde::Deserialize;

use super::placement::PlacementStatus;
use crate::names::{PLACEMENT_GROUP, STATUS_COPIES, STORED, V1BETA1_ONLY};

/// A copy of the status of a ClusterResourcePlacement in the namespace that the placement selects, for users
/// who may only read that namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["lastUpdatedTime", "sourceStatus"]))]
pub(crate) struct PlacementStatusCopy {
    /// The status of the ClusterResourcePlacement with the name of this object.
    pub(crate) source_status: PlacementStatus,
    /// The time of the last update of the copy.
    pub(crate) last_updated_time: Option<Time>,
}

/// The definition of the kind ClusterResourcePlacementStatus.
pub(super) static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text(
            "Resource-Index",
            "The number of the resource snapshot that the status describes",
        )
        .at(".sourceStatus.observedResourceIndex"),
        Column::text("Last-Updated", "Time of the last update").at(".lastUpdatedTime"),
        Column::AGE,
    ],
    ..Definition::new(
        KindInfo {
            storage_version: STORED,
            singular: "clusterresourceplacementstatus",
            short_names: &["crps"],
            categories: &["fleet", "fleet-placement"],
            ..KindInfo::new(
                PLACEMENT_GROUP,
                V1BETA1_ONLY,
                "ClusterResourcePlacementStatus",
                STATUS_COPIES.resource,
            )
        },
        Schema::of::<PlacementStatusCopy>,
    )
};
