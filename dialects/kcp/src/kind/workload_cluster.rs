//! WorkloadCluster: a Kubernetes cluster on which namespaces are placed (docs/systems/kcp.md, "API
//! objects").

use std::collections::BTreeMap;

use berth_apimachinery::types::QuantityText;
use berth_apimachinery::{Column, Definition, Kind, KindInfo, Schema, Scope, Timestamp, described_by};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::condition::Condition;
use crate::names::{RELEASED_GROUP, VERSION, WORKLOADS_GROUP};

/// The desired state and the reported state of one workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadCluster {
    /// Whether namespaces may be placed on the cluster.
    pub spec: WorkloadClusterSpec,
    /// Status of the cluster.
    pub status: WorkloadClusterStatus,
}

/// Whether namespaces may be placed on the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadClusterSpec {
    /// Whether the cluster accepts no new namespaces; namespaces on the cluster stay.
    #[schemars(extend("x-default" = false))]
    pub unschedulable: bool,
    /// The instant from which on namespaces on the cluster are moved away, and no new ones are placed on it.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub evict_after: Option<Timestamp>,
}

/// Status of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct WorkloadClusterStatus {
    /// Resources for workload, by resource name.
    pub allocatable: BTreeMap<String, QuantityText>,
    /// The total resources, by resource name.
    pub capacity: BTreeMap<String, QuantityText>,
    /// The state of the cluster, one entry per aspect; Ready summarizes them.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The resources that the syncer syncs, such as deployments.apps.
    pub synced_resources: Vec<String>,
    /// Time of the syncer's last heartbeat.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub last_syncer_heartbeat_time: Option<Timestamp>,
    /// Addresses at which the syncer finds the objects to sync.
    pub virtual_workspaces: Vec<VirtualWorkspace>,
}

/// An API endpoint for the syncer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct VirtualWorkspace {
    /// The URL.
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
            status: true,
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
