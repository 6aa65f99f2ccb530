//! ClusterResourcePlacement and ResourcePlacement: requests to place resources on clusters
//! (docs/systems/fleet.md, "API objects" and "Placement policy").

mod rules;

use std::sync::LazyLock;

use berth_apimachinery::name::NameError;
use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use berth_apimachinery::{Column, ConditionForm, FieldError, Kind, KindInfo, Schema, Scope, Via, Write};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::member_cluster::short_subdomain;
use super::policy::PlacementPolicy;
use super::rollout::{PerClusterPlacementStatus, ResourceIdentifier, RolloutStrategy};
use crate::names::{PLACEMENT_GROUP, STORED, VERSIONS};

/// A request to place resources on clusters. A ClusterResourcePlacement places cluster-scoped resources and
/// namespaces, a ResourcePlacement the resources of its namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["spec"]))]
pub(crate) struct Placement {
    /// Resources to place, and rules for clusters.
    pub(crate) spec: PlacementSpec,
    /// Status of the placement.
    pub(crate) status: PlacementStatus,
}

/// Resources to place, and rules for clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceSelectors"]))]
pub(crate) struct PlacementSpec {
    /// Resources that are placed. Scheduling does not depend on them.
    #[schemars(length(min = 1, max = 100))]
    pub(crate) resource_selectors: Vec<ResourceSelector>,
    /// Rules for clusters; if absent, every cluster that fits is picked.
    pub(crate) policy: Option<PlacementPolicy>,
    /// Strategy by which changes reach the chosen clusters. Kept for the rollout, not for scheduling.
    #[schemars(with = "Option<RolloutStrategy>")]
    pub(crate) strategy: IgnoredAny,
    /// Number of snapshots that are kept, including the current one.
    #[schemars(range(min = 1, max = 1000), extend("default" = 10))]
    pub(crate) revision_history_limit: Option<i32>,
    /// Readers of the status.
    #[schemars(extend("enum" = ["ClusterScopeOnly", NAMESPACE_ACCESSIBLE], "default" = "ClusterScopeOnly"))]
    pub(crate) status_reporting_scope: Option<String>,
}

/// Resources that are placed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["group", "kind", "version"]))]
pub(crate) struct ResourceSelector {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The kind.
    pub(crate) kind: String,
    /// The name of the selected resource.
    pub(crate) name: String,
    /// A selector over the labels of the resources. Not together with name.
    pub(crate) label_selector: Option<LabelSelector>,
    /// Whether a selected namespace is placed alone, with all its resources, or with those that other
    /// selectors select.
    #[schemars(extend(
        "enum" = ["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"],
        "default" = "NamespaceWithResources",
    ))]
    pub(crate) selection_scope: Option<String>,
}

/// The reporting scope for which the status is copied to the selected namespace.
pub(crate) const NAMESPACE_ACCESSIBLE: &str = "NamespaceAccessible";

impl PlacementSpec {
    /// The selectors of Namespaces, with their indices.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = (usize, &ResourceSelector)> {
        let selectors = self.resource_selectors.iter().enumerate();
        selectors.filter(|(_, selector)| selector.kind == "Namespace")
    }
}

/// Status of the placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementStatus {
    /// The progress of the placement, one entry per step.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The number of the resource snapshot that the status describes.
    pub(crate) observed_resource_index: Option<String>,
    /// The resources that the selectors found.
    #[schemars(with = "Option<Vec<ResourceIdentifier>>")]
    pub(crate) selected_resources: IgnoredAny,
    /// The progress on each chosen cluster, and the clusters that could not be chosen.
    #[schemars(with = "Option<Vec<PerClusterPlacementStatus>>")]
    pub(crate) placement_statuses: IgnoredAny,
}

/// The columns of a kind whose condition types begin with its name.
macro_rules! columns {
    ($kind:literal) => {
        &[
            Column::NAME,
            Column::text("Gen", "The generation of the placement")
                .at(".metadata.generation")
                .integer(),
            Column::text("Type", "The way in which clusters are chosen")
                .at(".spec.policy.placementType")
                .wide(),
            Column::text("Scheduled", "Whether all requested clusters were found").at(concat!(
                ".status.conditions[?(@.type==\"",
                $kind,
                "Scheduled\")].status"
            )),
            Column::text("Scheduled-Gen", "The generation that was scheduled")
                .at(concat!(
                    ".status.conditions[?(@.type==\"",
                    $kind,
                    "Scheduled\")].observedGeneration"
                ))
                .integer(),
            Column::text(
                "Work-Synchronized",
                "Whether the work reached the member namespaces",
            )
            .at(concat!(
                ".status.conditions[?(@.type==\"",
                $kind,
                "WorkSynchronized\")].status"
            ))
            .wide(),
            Column::text(
                "Work-Synchronized-Gen",
                "The generation whose work was synchronized",
            )
            .at(concat!(
                ".status.conditions[?(@.type==\"",
                $kind,
                "WorkSynchronized\")].observedGeneration"
            ))
            .integer()
            .wide(),
            Column::text("Available", "Whether the resources are available").at(concat!(
                ".status.conditions[?(@.type==\"",
                $kind,
                "Available\")].status"
            )),
            Column::text("Available-Gen", "The generation that is available")
                .at(concat!(
                    ".status.conditions[?(@.type==\"",
                    $kind,
                    "Available\")].observedGeneration"
                ))
                .integer(),
            Column::AGE,
        ]
    };
}

/// Serves ClusterResourcePlacement, or ResourcePlacement.
pub(super) struct PlacementKind {
    info: &'static KindInfo,
    columns: &'static [Column],
}

/// Serves ClusterResourcePlacement.
pub(super) const OF_HUB: PlacementKind = PlacementKind {
    info: &INFO,
    columns: columns!("ClusterResourcePlacement"),
};
/// Serves ResourcePlacement.
pub(super) const OF_NAMESPACE: PlacementKind = PlacementKind {
    info: &IN_NAMESPACE,
    columns: columns!("ResourcePlacement"),
};

static INFO: KindInfo = KindInfo {
    storage_version: STORED,
    singular: "clusterresourceplacement",
    short_names: &["crp"],
    categories: &["fleet", "fleet-placement"],
    scope: Scope::Cluster,
    status: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        VERSIONS,
        "ClusterResourcePlacement",
        "clusterresourceplacements",
    )
};

static IN_NAMESPACE: KindInfo = KindInfo {
    storage_version: STORED,
    singular: "resourceplacement",
    short_names: &["rp"],
    categories: &["fleet", "fleet-placement"],
    status: true,
    ..KindInfo::new(
        PLACEMENT_GROUP,
        VERSIONS,
        "ResourcePlacement",
        "resourceplacements",
    )
};

impl Kind for PlacementKind {
    fn info(&self) -> &KindInfo {
        self.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Placement>);
        &SCHEMA
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.via {
            Via::Subresource(_) => Vec::new(),
            Via::Create | Via::Update => rules::errors(write.old, new, self.info.scope),
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        short_subdomain(name, "snapshots and bindings carry it as a label value")
    }

    fn columns(&self) -> &[Column] {
        self.columns
    }
}
