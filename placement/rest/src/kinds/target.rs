//! Target: anything a scheduler may place onto, in one shape for all systems.

use berth_apimachinery::kind::{KindInfo, SelectableField};
use berth_apimachinery::{Cell, Column, Object, Schema, Scope};
use berth_dialect_contract::report::Condition;
use schemars::JsonSchema;
use serde_json::Value;

use super::shared::SourceRef;
use super::{INFO, Virtual, cell_at, text_at};

/// A cluster-like object of one of the systems: a ManagedCluster, a Seed, a MemberCluster, an openMCP Cluster or a
/// WorkloadCluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Target {
    /// Which cluster this is.
    pub spec: Option<TargetSpec>,
    /// How it stands for scheduling.
    pub status: Option<TargetStatus>,
}

/// Which cluster a Target is.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TargetSpec {
    /// The scheduling system the cluster belongs to.
    pub dialect: String,
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The object that stands for the cluster.
    pub source_ref: SourceRef,
}

/// How a cluster stands for scheduling.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TargetStatus {
    /// Whether new placements are kept away from it (cordoned, invisible, leaving).
    pub cordoned: bool,
    /// The region, where the system knows one.
    pub region: Option<String>,
    /// The infrastructure provider, where the system knows one.
    pub provider: Option<String>,
    /// What repels placements that do not tolerate it.
    pub taints: Option<Vec<TargetTaint>>,
    /// What is counted on it: how much is used, and how much may be.
    pub capacity: Option<Vec<TargetCapacity>>,
    /// Sentences about what is wrong with it beside that it may not be ready: what does not get there, what does not let go of it.
    pub warnings: Option<Vec<String>>,
    /// Condition Ready says whether it can be used at all.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// A taint, as any of the systems writes it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TargetTaint {
    /// The key.
    pub key: String,
    /// The value, where there is one.
    pub value: Option<String>,
    /// The effect, where the system has effects.
    pub effect: Option<String>,
}

/// One countable thing of a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct TargetCapacity {
    /// What is counted, as the system names it.
    pub name: String,
    /// How many are used.
    pub used: i64,
    /// How many are allowed; absent means unlimited.
    pub limit: Option<i64>,
}

/// The kind of `targets`.
#[must_use]
pub fn kind() -> Virtual {
    let info = KindInfo {
        kind: "Target",
        plural: "targets",
        singular: "target",
        short_names: &["btg"],
        scope: Scope::Cluster,
        verbs: &["get", "list", "watch"],
        ..INFO
    };
    Virtual {
        columns: vec![
            Column::NAME,
            Column::text("System", "The scheduling system the cluster belongs to"),
            Column::text("Ready", "Whether it can be used at all"),
            Column::text("Cordoned", "Whether new placements are kept away from it"),
            Column::text("Region", "The region, where the system knows one"),
            Column::text(
                "Provider",
                "The infrastructure provider, where the system knows one",
            ),
            Column::text(
                "Used",
                "What is counted on it: used, and allowed where there is a limit",
            ),
            Column::text("Taints", "What repels placements that do not tolerate it").wide(),
            Column::text("Reason", "Why it is ready or not").wide(),
            Column::AGE,
        ],
        row,
        selectable: const {
            &[
                SelectableField::at("spec.dialect"),
                SelectableField::at("spec.clusterName"),
            ]
        },
        ..Virtual::new(info, Schema::of::<Target>())
    }
}

fn row(object: &Object) -> Vec<Cell> {
    let value = object.value();
    vec![
        object.meta().name().into(),
        cell_at(value, "/spec/dialect"),
        cell_at(value, "/status/conditions/0/status"),
        cell_at(value, "/status/cordoned"),
        cell_at(value, "/status/region"),
        cell_at(value, "/status/provider"),
        listed(value, "/status/capacity", used),
        listed(value, "/status/taints", taint),
        cell_at(value, "/status/conditions/0/reason"),
        Cell::Age(object.meta().creation_timestamp()),
    ]
}

fn listed(value: &Value, path: &str, show: fn(&Value) -> String) -> Cell {
    let items = value
        .pointer(path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if items.is_empty() {
        return "<none>".into();
    }
    items.iter().map(show).collect::<Vec<_>>().join(",").into()
}

fn used(capacity: &Value) -> String {
    let (name, used) = (text_at(capacity, "/name"), text_at(capacity, "/used"));
    match capacity.get("limit") {
        Some(limit) => format!("{name} {used}/{limit}"),
        None => format!("{name} {used}"),
    }
}

fn taint(taint: &Value) -> String {
    let mut shown = text_at(taint, "/key");
    for (mark, field) in [("=", "/value"), (":", "/effect")] {
        let text = text_at(taint, field);
        if !text.is_empty() {
            shown.push_str(mark);
            shown.push_str(&text);
        }
    }
    shown
}
