//! Target: anything a scheduler may place onto, in one shape for all systems.

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::report::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Virtual, info};
use super::shared::{SourceRef, Token};
use super::text::{joined, part_at};

/// A cluster-like object of one of the systems: a ManagedCluster, a Seed, a MemberCluster, an openMCP Cluster
/// or a WorkloadCluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<TargetSpec>,
    /// State of the target for scheduling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TargetStatus>,
}

/// Cluster of a Target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetSpec {
    /// The scheduling system the cluster belongs to.
    pub dialect: Token,
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// The object that stands for the cluster.
    pub source_ref: SourceRef,
}

/// State of a cluster for scheduling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatus {
    /// Whether new placements are kept away from it (cordoned, invisible, leaving).
    pub cordoned: bool,
    /// The region, where the system knows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The infrastructure provider, where the system knows one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Taints, which repel placements that do not tolerate them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<TargetTaint>>,
    /// Counted resources: how much is used, and how much may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Vec<TargetCapacity>>,
    /// Sentences about what is wrong with it beside that it may not be ready: what does not get there, what
    /// does not let go of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// Condition Ready says whether it can be used at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// A taint, as any of the systems writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetTaint {
    /// The key.
    pub key: String,
    /// The value, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The effect, where the system has effects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// One countable thing of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetCapacity {
    /// Name of the counted resource in the system.
    pub name: Token,
    /// Used amount.
    pub used: i64,
    /// Allowed amount; absent means unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// The kind of `targets`.
#[must_use]
pub fn kind() -> Virtual {
    let info = KindInfo {
        short_names: &["btg"],
        scope: Scope::Cluster,
        ..info("Target", "targets", "target", &["get", "list", "watch"])
    };
    Virtual {
        columns: columns(),
        selectable: const {
            &[
                SelectableField::at("spec.dialect"),
                SelectableField::at("spec.clusterName"),
            ]
        },
        ..Virtual::new(info, Schema::of::<Target>())
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::NAME,
        Column::text("System", "The scheduling system the cluster belongs to")
            .at(".spec.dialect")
            .or_none(),
        Column::text("Ready", "Whether it can be used at all")
            .at(r#".status.conditions[?(@.type=="Ready")].status"#)
            .or_none(),
        Column::text("Cordoned", "Whether new placements are kept away from it")
            .at(".status.cordoned")
            .or_none(),
        Column::text("Region", "The region, where the system knows one")
            .at(".status.region")
            .or_none(),
        Column::text(
            "Provider",
            "The infrastructure provider, where the system knows one",
        )
        .at(".status.provider")
        .or_none(),
        Column::text(
            "Used",
            "What is counted on it: used, and allowed where there is a limit",
        )
        .computed(used),
        Column::text("Taints", "What repels placements that do not tolerate it")
            .computed(taints)
            .wide(),
        Column::text("Reason", "Why it is ready or not")
            .at(r#".status.conditions[?(@.type=="Ready")].reason"#)
            .or_none()
            .wide(),
        Column::AGE,
    ]
}

fn used(target: &Object) -> Cell {
    let counted: Vec<TargetCapacity> = part_at(target.value(), "/status/capacity").unwrap_or_default();
    let counted = counted.iter().map(|counted| {
        let TargetCapacity { name, used, limit } = counted;
        match limit {
            Some(limit) => format!("{name} {used}/{limit}"),
            None => format!("{name} {used}"),
        }
    });
    joined(&counted.collect::<Vec<_>>(), ",").into()
}

fn taints(target: &Object) -> Cell {
    let taints: Vec<TargetTaint> = part_at(target.value(), "/status/taints").unwrap_or_default();
    let taints = taints.into_iter().map(|taint| {
        let mut shown = taint.key;
        for (mark, text) in [("=", taint.value), (":", taint.effect)] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                shown.push_str(mark);
                shown.push_str(&text);
            }
        }
        shown
    });
    joined(&taints.collect::<Vec<_>>(), ",").into()
}
