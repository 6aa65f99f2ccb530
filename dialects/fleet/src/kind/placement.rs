//! ClusterResourcePlacement and ResourcePlacement: requests to place resources on clusters
//! (docs/systems/fleet.md, "API objects" and "Placement policy").

mod rules;

use std::sync::LazyLock;

use berth_apimachinery::name::NameError;
use berth_apimachinery::selector::LabelSelector;
use berth_apimachinery::types::Condition;
use berth_apimachinery::{
    Column, ConditionForm, Definition, FieldError, Kind, KindInfo, Schema, Scope, Write, WriteOperation,
};
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
    /// The resources to place, and the rules for choosing clusters.
    pub(crate) spec: PlacementSpec,
    /// The progress of the placement.
    pub(crate) status: PlacementStatus,
}

/// The resources to place, and the rules for choosing clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["resourceSelectors"]))]
pub(crate) struct PlacementSpec {
    /// Selectors of the resources to place. Scheduling does not depend on the selected resources.
    #[schemars(length(min = 1, max = 100))]
    pub(crate) resource_selectors: Vec<ResourceSelector>,
    /// The rules for choosing clusters; if absent, every cluster that fits is picked.
    pub(crate) policy: Option<PlacementPolicy>,
    /// The strategy by which changes reach the chosen clusters. The rollout uses it; scheduling does not.
    #[schemars(with = "Option<RolloutStrategy>")]
    pub(crate) strategy: IgnoredAny,
    /// The number of policy snapshots to keep, including the current one.
    #[schemars(range(min = 1, max = 1000), extend("default" = 10))]
    pub(crate) revision_history_limit: Option<i32>,
    /// The objects with the status: ClusterScopeOnly reports the status only in the placement itself,
    /// NamespaceAccessible also in a copy in the selected namespace.
    #[schemars(extend("enum" = ["ClusterScopeOnly", NAMESPACE_ACCESSIBLE], "default" = "ClusterScopeOnly"))]
    pub(crate) status_reporting_scope: Option<String>,
}

/// A selector of resources to place, by kind and by name or labels.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["group", "kind", "version"]))]
pub(crate) struct ResourceSelector {
    /// The API group of the selected resources; empty for the core group.
    pub(crate) group: String,
    /// The API version of the selected resources.
    pub(crate) version: String,
    /// The kind of the selected resources.
    pub(crate) kind: String,
    /// The name of the selected resource; empty to select by labels, or all resources of the kind.
    pub(crate) name: String,
    /// A selector over the labels of the resources. Not allowed together with name.
    pub(crate) label_selector: Option<LabelSelector>,
    /// The resources that are placed with a selected namespace: none (NamespaceOnly), all resources in the
    /// namespace (NamespaceWithResources), or the resources in the namespace that other selectors select
    /// (NamespaceWithResourceSelectors).
    #[schemars(extend(
        "enum" = ["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResourceSelectors"],
        "default" = "NamespaceWithResources",
    ))]
    pub(crate) selection_scope: Option<String>,
}

/// The value of `statusReportingScope` with which the status is copied to the selected namespace.
pub(crate) const NAMESPACE_ACCESSIBLE: &str = "NamespaceAccessible";

impl PlacementSpec {
    /// The selectors with the kind Namespace, each with its index in `resourceSelectors`.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = (usize, &ResourceSelector)> {
        let selectors = self.resource_selectors.iter().enumerate();
        selectors.filter(|(_, selector)| selector.kind == "Namespace")
    }
}

/// The progress of the placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlacementStatus {
    /// The progress of the placement, with one condition per step.
    #[schemars(with = "Vec<ConditionForm>", extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
    /// The number of the resource snapshot that the status describes.
    pub(crate) observed_resource_index: Option<String>,
    /// The resources that the selectors have selected.
    #[schemars(with = "Option<Vec<ResourceIdentifier>>")]
    pub(crate) selected_resources: IgnoredAny,
    /// The progress on each chosen cluster, with one entry for each requested cluster that was not found.
    #[schemars(with = "Option<Vec<PerClusterPlacementStatus>>")]
    pub(crate) placement_statuses: IgnoredAny,
}

/// The table columns of the kind `$kind`, whose condition types begin with the name of the kind.
macro_rules! columns {
    ($kind:literal) => {
        &[
            Column::NAME,
            Column::text("Gen", "The generation of the placement")
                .at(".metadata.generation")
                .integer(),
            Column::text("Type", "The type of the placement policy")
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
                "Whether the resources have been handed to the agents of all chosen clusters",
            )
            .at(concat!(
                ".status.conditions[?(@.type==\"",
                $kind,
                "WorkSynchronized\")].status"
            ))
            .wide(),
            Column::text(
                "Work-Synchronized-Gen",
                "The generation whose resources have been handed to the agents",
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

/// The served kind ClusterResourcePlacement or ResourcePlacement.
pub(super) struct PlacementKind(&'static Definition);

/// The kind ClusterResourcePlacement.
pub(super) const CLUSTER_SCOPED: PlacementKind = PlacementKind(&DEFINITION);
/// The kind ResourcePlacement.
pub(super) const NAMESPACED: PlacementKind = PlacementKind(&NAMESPACED_DEFINITION);

static DEFINITION: Definition = Definition {
    columns: columns!("ClusterResourcePlacement"),
    ..Definition::new(
        KindInfo {
            storage_version: STORED,
            singular: "clusterresourceplacement",
            short_names: &["crp"],
            categories: &["fleet", "fleet-placement"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(
                PLACEMENT_GROUP,
                VERSIONS,
                "ClusterResourcePlacement",
                "clusterresourceplacements",
            )
        },
        Schema::of::<Placement>,
    )
};

static NAMESPACED_DEFINITION: Definition = Definition {
    columns: columns!("ResourcePlacement"),
    ..Definition::new(
        KindInfo {
            storage_version: STORED,
            singular: "resourceplacement",
            short_names: &["rp"],
            categories: &["fleet", "fleet-placement"],
            status_subresource: true,
            ..KindInfo::new(
                PLACEMENT_GROUP,
                VERSIONS,
                "ResourcePlacement",
                "resourceplacements",
            )
        },
        Schema::of::<Placement>,
    )
};

impl Kind for PlacementKind {
    fn info(&self) -> &KindInfo {
        &self.0.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(DEFINITION.schema);
        &SCHEMA
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        match write.operation {
            WriteOperation::Subresource(_) => Vec::new(),
            WriteOperation::Create | WriteOperation::Update => {
                rules::errors(write.old, new, self.0.info.scope)
            }
        }
    }

    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        short_subdomain(name, "labels of snapshots and bindings have it as their value")
    }

    fn columns(&self) -> &[Column] {
        self.0.columns
    }
}
