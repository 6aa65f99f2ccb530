//! ClusterResourcePlacementStatus: the copy of a ClusterResourcePlacement's status in the namespace that it
//! selects (docs/systems/fleet.md, "Status in a namespace").

use std::sync::LazyLock;

use berth_apimachinery::types::Time;
use berth_apimachinery::{Column, Kind, KindInfo, Schema};
use schemars::JsonSchema;
use serde::Deserialize;

use super::placement::PlacementStatus;
use crate::names::{BETA_ALONE, PLACEMENT_GROUP, REPORTS, STORED};

/// A copy of the status of a ClusterResourcePlacement, for users who may only read the namespace that it
/// selects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["lastUpdatedTime", "sourceStatus"]))]
pub(crate) struct PlacementReport {
    /// The status of the placement of the same name.
    pub(crate) source_status: PlacementStatus,
    /// Time of the last write of this object.
    pub(crate) last_updated_time: Option<Time>,
}

/// Serves ClusterResourcePlacementStatus.
pub(super) struct PlacementReportKind;

static INFO: KindInfo = KindInfo {
    storage_version: STORED,
    singular: "clusterresourceplacementstatus",
    short_names: &["crps"],
    categories: &["fleet", "fleet-placement"],
    ..KindInfo::new(
        PLACEMENT_GROUP,
        BETA_ALONE,
        "ClusterResourcePlacementStatus",
        REPORTS.resource,
    )
};

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text(
        "Resource-Index",
        "The number of the resource snapshot that the status describes",
    )
    .at(".sourceStatus.observedResourceIndex"),
    Column::text("Last-Updated", "Time of the last update").at(".lastUpdatedTime"),
    Column::AGE,
];

impl Kind for PlacementReportKind {
    fn info(&self) -> &KindInfo {
        &INFO
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<PlacementReport>);
        &SCHEMA
    }

    fn columns(&self) -> &[Column] {
        COLUMNS
    }
}
