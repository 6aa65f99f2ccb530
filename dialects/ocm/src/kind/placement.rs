//! Placement v1beta1 and v1alpha1: a request for clusters (docs/systems/ocm.md, "API objects" and "Placement
//! spec"). The two versions differ only in `apiVersion`.

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Column, Definition, FieldError, Kind, KindInfo, Schema, Timestamp, Write, WriteOperation, described_by,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Condition, PlacementSpec, placement_rules};
use crate::names::GROUP;

/// A request for clusters from the sets that are bound to the namespace. The selected clusters are in
/// PlacementDecision objects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Placement {
    /// The requested clusters, and their number.
    pub(crate) spec: PlacementSpec,
    /// Result of scheduling.
    pub(crate) status: PlacementStatus,
}

impl Placement {
    /// Frees the spare capacity of the lists: parsing the first item reserves room for four.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.spec.cluster_sets.shrink_to_fit();
        self.spec.predicates.shrink_to_fit();
        self.spec.prioritizer_policy.configurations.shrink_to_fit();
        self.spec.tolerations.shrink_to_fit();
        self.status.conditions.shrink_to_fit();
        self.status.decision_groups.shrink_to_fit();
    }
}

/// Result of scheduling.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementStatus {
    /// Number of clusters that are selected.
    pub(crate) number_of_selected_clusters: i32,
    /// The groups of selected clusters, with the objects that list them.
    pub(crate) decision_groups: Vec<DecisionGroupStatus>,
    /// Whether the placement is satisfied, and whether its spec is valid.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// Time at which scores last changed the decisions. Stored, but not written by Berth.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub(crate) last_score_update_time: Option<Timestamp>,
}

/// One group of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DecisionGroupStatus {
    /// The index of the group, from 0.
    pub(crate) decision_group_index: i32,
    /// The name of the group; empty for groups without a name.
    pub(crate) decision_group_name: String,
    /// The names of the PlacementDecisions that list the clusters of the group.
    pub(crate) decisions: Vec<String>,
    /// Number of clusters in the group.
    #[schemars(extend("x-default" = 0))]
    pub(crate) cluster_count: i32,
}

/// Serves Placement.
pub(super) struct PlacementKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        Column::text("Succeeded", "Whether all requested clusters were found")
            .at(".status.conditions[?(@.type==\"PlacementSatisfied\")].status"),
        Column::text("Reason", "The reason why the placement is satisfied or not")
            .at(".status.conditions[?(@.type==\"PlacementSatisfied\")].reason"),
        Column::text("SelectedClusters", "Number of selected clusters")
            .integer()
            .at(".status.numberOfSelectedClusters"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "placement",
            status_subresource: true,
            ..KindInfo::new(GROUP, &["v1beta1", "v1alpha1"], "Placement", "placements")
        },
        Schema::of::<Placement>,
    )
};

impl Kind for PlacementKind {
    described_by!(DEFINITION);

    fn own_rules(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        if matches!(write.operation, WriteOperation::Subresource(_)) {
            return Vec::new();
        }
        // The schema has refused an object that cannot be parsed.
        new.get("spec")
            .and_then(|spec| PlacementSpec::deserialize(spec).ok())
            .map(|spec| placement_rules::errors(write.old, new, &spec))
            .unwrap_or_default()
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        berth_apimachinery::name::dns_subdomain(name)?;
        // The name becomes a label value on every PlacementDecision.
        if name.len() > 63 {
            let detail = "must be no more than 63 characters: it is a label value of PlacementDecisions";
            return Err(NameError::Own(detail.to_owned()));
        }
        Ok(())
    }
}
