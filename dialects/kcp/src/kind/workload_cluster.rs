//! WorkloadCluster: a Kubernetes cluster on which namespaces are placed (docs/systems/kcp.md, "API
//! objects").

use std::collections::BTreeMap;

use berth_apimachinery::types::QuantityText;
use berth_apimachinery::{Column, Definition, Kind, KindInfo, Schema, Scope, Timestamp, described_by};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::condition::Condition;
use crate::names::{RELEASED_GROUP, VERSION, WORKLOADS_GROUP};

/// A Kubernetes cluster on which namespaces can be placed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadCluster {
    /// Whether namespaces may be placed on the cluster.
    pub spec: WorkloadClusterSpec,
    /// The reported state of the cluster.
    pub status: WorkloadClusterStatus,
}

/// Whether namespaces may be placed on a workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadClusterSpec {
    /// Whether the cluster accepts no new namespaces; namespaces on the cluster stay.
    #[schemars(extend("x-default" = false))]
    pub unschedulable: bool,
    /// Time of an eviction: from then on, namespaces leave the cluster, and no namespaces are placed on it.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub evict_after: Option<Timestamp>,
}

/// The reported state of a workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadClusterStatus {
    /// Resources that are available to workloads, by resource name.
    pub allocatable: BTreeMap<String, QuantityText>,
    /// Total resources of the cluster, by resource name.
    pub capacity: BTreeMap<String, QuantityText>,
    /// Conditions of the cluster. Ready summarizes SyncerReady, APIImporterReady and HeartbeatHealthy.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The resources that the syncer syncs, such as deployments.apps.
    pub synced_resources: Vec<String>,
    /// Time of the syncer's last heartbeat.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub last_syncer_heartbeat_time: Option<Timestamp>,
    /// API endpoints at which the syncer reads the objects to sync.
    pub virtual_workspaces: Vec<VirtualWorkspace>,
}

/// An API endpoint at which the syncer reads the objects to sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualWorkspace {
    /// The URL of the endpoint.
    pub url: String,
}

/// The kind WorkloadCluster.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadClusterKind;

static DEFINITION: Definition = Definition {
    columns: &[
        Column::NAME,
        column("Location", "The name of the cluster", 1).at(".metadata.name"),
        column("Ready", "Whether the cluster is ready", 2)
            .at(".status.conditions[?(@.type==\"Ready\")].status"),
        column("Synced API resources", "The resources the syncer syncs", 3).at(".status.syncedResources"),
    ],
    ..Definition::new(
        KindInfo {
            singular: "workloadcluster",
            categories: &["kcp"],
            scope: Scope::Cluster,
            status_subresource: true,
            ..KindInfo::new(WORKLOADS_GROUP, &[VERSION], "WorkloadCluster", "workloadclusters")
        },
        Schema::of::<WorkloadCluster>,
    )
};

/// A column with kcp's priority. All columns except the name have a priority above 0, so they are only shown
/// by `-o wide`.
const fn column(name: &'static str, description: &'static str, priority: i32) -> Column {
    Column {
        priority,
        ..Column::text(name, description)
    }
}

impl Kind for WorkloadClusterKind {
    described_by!(DEFINITION);

    fn other_groups(&self) -> &'static [&'static str] {
        &[RELEASED_GROUP]
    }
}
