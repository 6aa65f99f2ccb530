//! Target: a cluster that a scheduler may pick, in one form for all systems.

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::report::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{VirtualKind, info};
use super::shared::{SourceRef, Token};
use super::text::{joined, part_at};

/// A cluster of one of the systems: a ManagedCluster, a Seed, a MemberCluster, a Karmada or openMCP Cluster,
/// or a WorkloadCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The cluster of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<TargetSpec>,
    /// The state of the cluster for scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TargetStatus>,
}

/// The cluster of a Target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetSpec {
    /// The scheduling system of the cluster.
    pub dialect: Token,
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The object that represents the cluster.
    pub source_ref: SourceRef,
}

/// The state of a cluster for scheduling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatus {
    /// Whether the cluster accepts no new placements (cordoned, invisible, leaving).
    pub cordoned: bool,
    /// The region of the cluster, if the system states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The infrastructure provider of the cluster, if the system states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The taints of the cluster, which placements must tolerate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<TargetTaint>>,
    /// The counted resources of the cluster, with usage and limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Vec<TargetCapacity>>,
    /// Warnings about the cluster beyond readiness, such as objects that do not reach the cluster or block
    /// the removal of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// Condition Ready reports whether the cluster can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// A taint, in the form that is common to all systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetTaint {
    /// The key of the taint.
    pub key: String,
    /// The value of the taint, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The effect of the taint, if the system has effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A counted resource of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetCapacity {
    /// The system's name of the resource.
    pub name: Token,
    /// The used amount of the resource.
    pub used: i64,
    /// The maximum amount of the resource; absent if unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// Returns the kind of `targets`.
#[must_use]
pub fn kind() -> VirtualKind {
    let info = KindInfo {
        short_names: &["btg"],
        scope: Scope::Cluster,
        ..info("Target", "targets", "target", &["get", "list", "watch"])
    };
    VirtualKind {
        columns: columns(),
        selectable: const {
            &[
                SelectableField::at("spec.dialect"),
                SelectableField::at("spec.clusterName"),
            ]
        },
        ..VirtualKind::new(info, Schema::of::<Target>())
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::NAME,
        Column::text("System", "The scheduling system of the cluster")
            .at(".spec.dialect")
            .or_none(),
        Column::text("Ready", "Whether the cluster can be used")
            .at(r#".status.conditions[?(@.type=="Ready")].status"#)
            .or_none(),
        Column::text("Cordoned", "Whether the cluster accepts no new placements")
            .at(".status.cordoned")
            .or_none(),
        Column::text("Region", "The region, if the system states one")
            .at(".status.region")
            .or_none(),
        Column::text(
            "Provider",
            "The infrastructure provider, if the system states one",
        )
        .at(".status.provider")
        .or_none(),
        Column::text("Used", "The counted resources: used amounts, with their limits").computed(used),
        Column::text("Taints", "Taints, which placements must tolerate")
            .computed(taints)
            .wide(),
        Column::text("Reason", "The reason why the cluster is ready or not")
            .at(r#".status.conditions[?(@.type=="Ready")].reason"#)
            .or_none()
            .wide(),
        Column::AGE,
    ]
}

fn used(target: &Object) -> Cell {
    let capacity: Vec<TargetCapacity> = part_at(target.value(), "/status/capacity").unwrap_or_default();
    let capacity = capacity.iter().map(|capacity| {
        let TargetCapacity { name, used, limit } = capacity;
        match limit {
            Some(limit) => format!("{name} {used}/{limit}"),
            None => format!("{name} {used}"),
        }
    });
    joined(&capacity.collect::<Vec<_>>(), ",").into()
}

fn taints(target: &Object) -> Cell {
    let taints: Vec<TargetTaint> = part_at(target.value(), "/status/taints").unwrap_or_default();
    let taints = taints.into_iter().map(|taint| {
        let mut label = taint.key;
        for (mark, text) in [("=", taint.value), (":", taint.effect)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                label.push_str(mark);
                label.push_str(&text);
            }
        }
        label
    });
    joined(&taints.collect::<Vec<_>>(), ",").into()
}
