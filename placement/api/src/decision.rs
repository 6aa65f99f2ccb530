//! Decision and ClusterDecision: the state of a placeable object, in one form for all systems.

use std::borrow::Cow;
use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField, json_path};
use berth_dialect_contract::amounts::{self, AmountChange};
use berth_dialect_contract::report::{Condition, ReasonCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{Virtual, info};
use super::shared::{SourceRef, Token};
use super::text::part_at;

/// The type of the condition that reports whether an observing Berth would decide the same clusters.
pub const AGREES: &str = "Agrees";

/// Binding of a placeable object (a Placement, a Shoot, a ClusterRequest, ...), or the reason why it has
/// none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Object of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<DecisionSpec>,
    /// State of the placeable object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DecisionStatus>,
}

/// Object of a Decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionSpec {
    /// The scheduling system the object belongs to.
    pub dialect: Token,
    /// The placeable object.
    pub source_ref: SourceRef,
}

/// State of a placeable object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStatus {
    /// Pending, Bound, Partial (bound in part), Unschedulable (the scheduler finds no place), Invalid (it
    /// cannot be understood; what it is bound to may stay), Releasing (being deleted, still bound) or Ignored
    /// (left alone by its system).
    #[schemars(extend("enum" = ["Pending", "Bound", "Partial", "Unschedulable", "Invalid", "Releasing", "Ignored"]))]
    pub phase: Token,
    /// Why it is not bound, as one word; absent once it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The summary for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Number of clusters it asks for, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<i64>,
    /// The amount that is divided among its clusters, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<DividedAmount>,
    /// The clusters it is bound to. This is the list a cluster-decision generator reads (status list key
    /// `decisions`, match key `clusterName`).
    pub decisions: Vec<ClusterBinding>,
    /// Reasons that keep targets away while it is Unschedulable: each reason with the number of targets it
    /// refuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejections: Option<Vec<RejectionCount>>,
    /// Changes that Berth would make, where it observes and would decide otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_change: Option<WouldChange>,
    /// Condition Bound is True while all that is wanted is bound. Condition Agrees, of systems that are
    /// observed, says whether Berth would decide the same clusters; it is Unknown where that cannot be said
    /// (yet). Condition Contested is there and True while another program keeps changing what Berth decided,
    /// so that Berth leaves it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// An amount that a system divides among clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DividedAmount {
    /// The thing divided, such as replicas.
    pub name: Token,
    /// Wanted amount.
    pub wanted: i64,
    /// Amount that its clusters have together.
    pub placed: i64,
}

/// One cluster an object is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBinding {
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// Why it was chosen, where the system records that.
    pub reason: Token,
    /// The score it was chosen with, where the system records that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The amount it has, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The state of the binding, where the system names states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// True where it is on its way out: no place any more, though still occupied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<bool>,
}

/// Changes that Berth would make of a decision of another scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WouldChange {
    /// Verdict, as in a plan: Lost, Moved, Shrunk, Grown, Resized or Fits.
    pub verdict: Token,
    /// The summary for a person.
    pub message: String,
    /// The clusters that it has and Berth would not keep, by name, at most 10.
    pub losses: Vec<ContestedCluster>,
    /// Number of all losses, the unlisted ones included.
    #[schemars(with = "i64")]
    pub loss_count: usize,
    /// The clusters that Berth would add, by name, at most 10.
    pub gains: Vec<ContestedCluster>,
    /// Number of all gains, the unlisted ones included.
    #[schemars(with = "i64")]
    pub gain_count: usize,
    /// The clusters that Berth would keep with another amount, by name, at most 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resizes: Option<Vec<AmountChange>>,
    /// Number of all resizes, the unlisted ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub resize_count: Option<usize>,
    /// Behaviour of the other scheduler that is known to differ here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_difference: Option<Token>,
}

/// A cluster that one scheduler would choose and the other not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContestedCluster {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// Why Berth would not choose it, or its rank.
    pub reasons: Vec<String>,
    /// The rank Berth gives it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub rank: Option<usize>,
    /// The score Berth gives it, where the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// Record that the other scheduler stored with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<SchedulerRecord>,
}

/// Record that a scheduler stored with a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerRecord {
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

/// One reason and how many targets it refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectionCount {
    /// The plugin that refuses.
    pub plugin: Token,
    /// Why, as one word.
    pub reason: Token,
    /// Number of targets that it refuses.
    pub targets: i64,
    /// Why, as a sentence about the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl From<ReasonCount> for RejectionCount {
    fn from(count: ReasonCount) -> Self {
        let ReasonCount {
            plugin,
            reason,
            targets,
            message,
        } = count;
        Self {
            plugin,
            reason,
            targets,
            message: Some(message),
        }
    }
}

/// The kind of `decisions`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        short_names: &["bdec"],
        ..info("Decision", "decisions", "decision", VERBS)
    })
}

/// The kind of `clusterdecisions`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        short_names: &["bcdec"],
        scope: Scope::Cluster,
        ..info("ClusterDecision", "clusterdecisions", "clusterdecision", VERBS)
    })
}

const VERBS: &[&str] = &["get", "list", "watch"];

/// Path of the status of condition Agrees.
const AGREES_PATH: &str = r#".status.conditions[?(@.type=="Agrees")].status"#;

fn kind(info: KindInfo) -> Virtual {
    Virtual {
        columns: vec![
            Column::NAME,
            Column::text("Kind", "The kind of the object that is placed")
                .at(".spec.sourceRef.kind")
                .or_none(),
            Column::text(
                "Phase",
                "The phase: Bound, Partial, Unschedulable, Invalid and others",
            )
            .at(".status.phase")
            .or_none(),
            Column::text("Clusters", "The clusters it is bound to").computed(clusters),
            Column::text(
                "Reason",
                "Why it is not bound, or how many clusters of those that it asks for it has",
            )
            .computed(reason),
            Column::text("Message", "The summary")
                .at(".status.message")
                .or_none()
                .wide(),
            Column::text(
                AGREES,
                "Whether Berth, which observes, would decide the same clusters",
            )
            .at(AGREES_PATH)
            .or_none()
            .wide(),
            Column::AGE,
        ],
        selectable: const {
            &[
                SelectableField::at("spec.dialect"),
                SelectableField::at("status.phase"),
                SelectableField::computed("status.agrees", agrees),
            ]
        },
        ..Virtual::new(info, Schema::of::<Decision>())
    }
}

/// Reason why the decision is not bound; for a partial binding, `13 of 40`.
fn reason(decision: &Object) -> Cell {
    match part_at::<DecisionStatus>(decision.value(), "/status") {
        Some(status) if status.phase == "Partial" && status.wanted.is_some() => {
            let staying = status
                .decisions
                .iter()
                .filter(|place| place.leaving != Some(true));
            format!("{} of {}", staying.count(), status.wanted.unwrap_or_default()).into()
        }
        Some(DecisionStatus {
            reason: Some(reason), ..
        }) => reason.into(),
        _ => "<none>".into(),
    }
}

/// The status of the condition Agrees of a Decision; empty where it has none.
fn agrees(decision: &Value) -> String {
    let status = json_path::first(AGREES_PATH, decision).and_then(Value::as_str);
    status.unwrap_or_default().to_owned()
}

/// The fields of a cluster of `status.decisions` that a cell shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedCluster<'a> {
    #[serde(borrow)]
    cluster_name: Cow<'a, str>,
    /// A number in a Decision; a text in a PublishedDecision, whose cells leave it out.
    amount: Option<Value>,
}

/// The first three clusters, and the number of the rest.
pub(super) fn clusters(decision: &Object) -> Cell {
    let list: Vec<NamedCluster<'_>> = part_at(decision.value(), "/status/decisions").unwrap_or_default();
    let cell = |cluster: &NamedCluster<'_>| {
        let amount = cluster.amount.as_ref().and_then(Value::as_i64);
        amounts::cell(&cluster.cluster_name, amount)
    };
    let names = list.iter().take(3).map(cell);
    let names = names.collect::<Vec<_>>().join(",");
    match list.len() {
        0 => "<none>".into(),
        1..=3 => names.into(),
        count => format!("{names} + {} more", count - 3).into(),
    }
}
