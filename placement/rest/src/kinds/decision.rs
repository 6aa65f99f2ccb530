//! Decision and ClusterDecision: where a placeable object stands, in one shape for all systems.

use berth_apimachinery::kind::{KindInfo, SelectableField};
use berth_apimachinery::{Cell, Column, Object, Schema, Scope};
use berth_dialect_contract::amounts;
use berth_dialect_contract::report::Condition;
use schemars::JsonSchema;
use serde_json::Value;

use super::shared::SourceRef;
use super::{INFO, Virtual, cell_at, text_at};

/// The type of the condition that says whether Berth, which observes, would decide the same clusters.
pub const AGREES: &str = "Agrees";

/// Where a placeable object (a Placement, a Shoot, a ClusterRequest, ...) is bound, and if nowhere, why.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Decision {
    /// Which object this is about.
    pub spec: Option<DecisionSpec>,
    /// Where it stands.
    pub status: Option<DecisionStatus>,
}

/// Which object a Decision is about.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DecisionSpec {
    /// The scheduling system the object belongs to.
    pub dialect: String,
    /// The placeable object.
    pub source_ref: SourceRef,
}

/// Where a placeable object stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DecisionStatus {
    /// Pending, Bound, Partial (bound in part), Unschedulable (the scheduler finds no place), Invalid (it cannot be
    /// understood; what it is bound to may stay), Releasing (being deleted, still bound) or Ignored (left alone by its system).
    #[schemars(extend("enum" = ["Pending", "Bound", "Partial", "Unschedulable", "Invalid", "Releasing", "Ignored"]))]
    pub phase: String,
    /// Why it is not bound, as one word; absent once it is.
    pub reason: Option<String>,
    /// The summary for a person.
    pub message: Option<String>,
    /// How many clusters it asks for, where it names a number.
    pub wanted: Option<i64>,
    /// The amount that is divided among its clusters, where the system divides one.
    pub amount: Option<DividedAmount>,
    /// The clusters it is bound to. This is the list a cluster-decision generator reads (status list key `decisions`,
    /// match key `clusterName`).
    pub decisions: Vec<ClusterBinding>,
    /// What keeps targets away while it is Unschedulable: each reason with the number of targets it refuses.
    pub rejections: Option<Vec<RejectionCount>>,
    /// Changes that Berth would make, where it observes and would decide otherwise.
    pub would_change: Option<WouldChange>,
    /// Condition Bound is True while all that is wanted is bound. Condition Agrees, of systems that are observed, says whether
    /// Berth would decide the same clusters; it is Unknown where that cannot be said (yet). Condition Contested is there and True
    /// while another program keeps changing what Berth decided, so that Berth leaves it alone.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// An amount that a system divides among clusters.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DividedAmount {
    /// The thing divided, such as replicas.
    pub name: String,
    /// How much is wanted.
    pub wanted: i64,
    /// How much its clusters have together.
    pub placed: i64,
}

/// One cluster an object is bound to.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ClusterBinding {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// Why it was chosen, where the system records that.
    pub reason: String,
    /// The score it was chosen with, where the system records that.
    pub score: Option<i64>,
    /// The amount it has, where the system divides one.
    pub amount: Option<i64>,
    /// The state of the binding, where the system names states.
    pub state: Option<String>,
    /// True where it is on its way out: no place any more, though still occupied.
    pub leaving: Option<bool>,
}

/// Changes that Berth would make of a decision of another scheduler.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct WouldChange {
    /// Verdict, as in a plan: Lost, Moved, Shrunk, Grown, Resized or Fits.
    pub verdict: String,
    /// The summary for a person.
    pub message: String,
    /// The clusters that it has and Berth would not keep, by name, at most 10.
    pub losses: Vec<Contested>,
    /// How many there are.
    pub loss_count: i64,
    /// The clusters that Berth would add, by name, at most 10.
    pub gains: Vec<Contested>,
    /// How many there are.
    pub gain_count: i64,
    /// The clusters that Berth would keep with another amount, by name, at most 10.
    pub resizes: Option<Vec<Resize>>,
    /// How many there are.
    pub resize_count: Option<i64>,
    /// Behaviour of the other scheduler that is known to differ here.
    pub known_difference: Option<String>,
}

/// A cluster that stays, with another amount.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Resize {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The amount it has.
    pub from: Option<i64>,
    /// The amount it would have.
    pub to: Option<i64>,
}

/// A cluster that one scheduler would choose and the other not.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Contested {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// Why Berth would not choose it, or its rank.
    pub reasons: Vec<String>,
    /// The rank Berth gives it, from 1.
    pub rank: Option<i64>,
    /// The score Berth gives it, where the system adds scores.
    pub score: Option<i64>,
    /// Record that the other scheduler stored with it.
    pub recorded: Option<Recorded>,
}

/// Record that a scheduler stored with a cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Recorded {
    /// The reason.
    pub reason: Option<String>,
    /// The score.
    pub score: Option<i64>,
}

/// One reason and how many targets it refuses.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RejectionCount {
    /// The plugin that refuses.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// How many targets it refuses.
    pub targets: i64,
    /// Why, as a sentence about the first of them.
    pub message: Option<String>,
}

/// The kind of `decisions`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        kind: "Decision",
        plural: "decisions",
        singular: "decision",
        short_names: &["bdec"],
        scope: Scope::Namespaced,
        ..INFO
    })
}

/// The kind of `clusterdecisions`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        kind: "ClusterDecision",
        plural: "clusterdecisions",
        singular: "clusterdecision",
        short_names: &["bcdec"],
        scope: Scope::Cluster,
        ..INFO
    })
}

fn kind(info: KindInfo) -> Virtual {
    Virtual {
        columns: vec![
            Column::NAME,
            Column::text("Kind", "The kind of the object that is placed"),
            Column::text(
                "Phase",
                "The phase: Bound, Partial, Unschedulable, Invalid and others",
            ),
            Column::text("Clusters", "The clusters it is bound to"),
            Column::text(
                "Reason",
                "Why it is not bound, or how many clusters of those that it asks for it has",
            ),
            Column::text("Message", "The summary").wide(),
            Column::text(
                AGREES,
                "Whether Berth, which observes, would decide the same clusters",
            )
            .wide(),
            Column::AGE,
        ],
        row,
        selectable: const {
            &[
                SelectableField::at("spec.dialect"),
                SelectableField::at("status.phase"),
                SelectableField::computed("status.agrees", agrees),
            ]
        },
        ..Virtual::new(
            KindInfo {
                verbs: &["get", "list", "watch"],
                ..info
            },
            Schema::of::<Decision>(),
        )
    }
}

fn row(object: &Object) -> Vec<Cell> {
    let value = object.value();
    vec![
        object.meta().name().into(),
        cell_at(value, "/spec/sourceRef/kind"),
        cell_at(value, "/status/phase"),
        clusters(value),
        reason(value),
        cell_at(value, "/status/message"),
        match agrees(value) {
            text if text.is_empty() => "<none>".into(),
            text => text.into(),
        },
        Cell::Age(object.meta().creation_timestamp()),
    ]
}

/// Why it is not bound; of what is bound in part, `13 of 40`.
fn reason(value: &Value) -> Cell {
    let have = value
        .pointer("/status/decisions")
        .and_then(Value::as_array)
        .map_or(0, |places| {
            let stay = places.iter().filter(|place| place["leaving"] != true);
            stay.count()
        });
    match value.pointer("/status/wanted").and_then(Value::as_i64) {
        Some(wanted) if value["status"]["phase"] == "Partial" => format!("{have} of {wanted}").into(),
        _ => cell_at(value, "/status/reason"),
    }
}

/// The status of the condition Agrees of a Decision; empty where it has none.
pub(crate) fn agrees(value: &Value) -> String {
    let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let condition = conditions.find(|condition| condition["type"] == AGREES);
    condition.map_or_else(String::new, |condition| text_at(condition, "/status"))
}

/// The first three clusters, and how many more there are.
pub(super) fn clusters(value: &Value) -> Cell {
    let list = value
        .pointer("/status/decisions")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let names: Vec<String> = list
        .iter()
        .take(3)
        .map(|item| amounts::cell(&text_at(item, "/clusterName"), item["amount"].as_i64()))
        .collect();
    match list.len() {
        0 => "<none>".into(),
        count @ 1..=3 => names[..count].join(",").into(),
        count => format!("{} + {} more", names.join(","), count - 3).into(),
    }
}
