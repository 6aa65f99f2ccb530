//! Decision and ClusterDecision: the state of a placeable object, in one form for all systems.

use std::borrow::Cow;
use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField, json_path};
use berth_dialect_contract::amounts::{self, AmountChange};
use berth_dialect_contract::report::{Condition, ReasonCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{VirtualKind, info};
use super::shared::{SourceRef, Token};
use super::text::part_at;

/// The type of the condition that reports whether an observing Berth would decide the same clusters.
pub const AGREES: &str = "Agrees";

/// The binding of a placeable object (a Placement, a Shoot, a ClusterRequest, ...), or the reason why it is
/// not bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The placeable object of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<DecisionSpec>,
    /// The state of the placeable object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DecisionStatus>,
}

/// The placeable object of a Decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionSpec {
    /// The scheduling system of the object.
    pub dialect: Token,
    /// The placeable object.
    pub source_ref: SourceRef,
}

/// The state of a placeable object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStatus {
    /// Pending, Bound, Partial (bound in part), Unschedulable (no cluster fits), Invalid (the object has
    /// errors; its bindings may stay), Releasing (being deleted, still bound) or Ignored (its system does not
    /// schedule it).
    #[schemars(extend("enum" = ["Pending", "Bound", "Partial", "Unschedulable", "Invalid", "Releasing", "Ignored"]))]
    pub phase: Token,
    /// The reason why the object is not bound, as one word; absent once it is bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The summary of the state for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The requested number of clusters, if the object states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<i64>,
    /// The amount that is divided among the clusters, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<DividedAmount>,
    /// The clusters to which the object is bound. Cluster-decision generators read this list (status list key
    /// `decisions`, match key `clusterName`).
    pub decisions: Vec<ClusterBinding>,
    /// Reasons why targets are refused, while the phase is Unschedulable: each reason with the number of
    /// refused targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejections: Option<Vec<RejectionCount>>,
    /// Changes that Berth would make; absent unless Berth observes the system and would decide differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_change: Option<DecisionDifference>,
    /// Condition Bound is True while everything requested is bound. Condition Agrees, for systems that Berth
    /// observes, reports whether Berth would decide the same clusters; it is Unknown if that cannot be
    /// determined (yet). Condition Contested exists, and is True, only while another program keeps changing
    /// Berth's decision, so that Berth does not restore it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Option<Vec<Condition>>,
}

/// An amount that a system divides among clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DividedAmount {
    /// The name of the divided resource, such as replicas.
    pub name: Token,
    /// The requested amount.
    pub wanted: i64,
    /// The sum of the amounts of the clusters.
    pub placed: i64,
}

/// A cluster to which an object is bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterBinding {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The reason why the cluster was chosen, if the system records one.
    pub reason: Token,
    /// The score of the cluster when it was chosen, if the system records one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The amount of the cluster, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The state of the binding, if the system names states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// True if the object is leaving the cluster: the cluster no longer counts, but still has the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<bool>,
}

/// Changes that Berth would make to another scheduler's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionDifference {
    /// The verdict, as in a plan: Lost, Moved, Shrunk, Grown, Resized or Fits.
    pub verdict: Token,
    /// The summary of the changes for people.
    pub message: String,
    /// The clusters of the decision that Berth would not keep: the first 10 by name.
    pub losses: Vec<ContestedCluster>,
    /// Number of all losses, including unlisted ones.
    #[schemars(with = "i64")]
    pub loss_count: usize,
    /// The clusters that Berth would add: the first 10 by name.
    pub gains: Vec<ContestedCluster>,
    /// Number of all gains, including unlisted ones.
    #[schemars(with = "i64")]
    pub gain_count: usize,
    /// The clusters that Berth would keep with another amount: the first 10 by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resizes: Option<Vec<AmountChange>>,
    /// Number of all resizes, including unlisted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub resize_count: Option<usize>,
    /// The name of a known difference between the other scheduler and Berth that applies here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_difference: Option<Token>,
}

/// A cluster that only one of the two schedulers would choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContestedCluster {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// The reasons why Berth would not choose the cluster; without such reasons, the rank as text.
    pub reasons: Vec<String>,
    /// The rank that Berth gives the cluster, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub rank: Option<usize>,
    /// The score that Berth gives the cluster, if the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The reason and score that the other scheduler recorded for the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<SchedulerRecord>,
}

/// The reason and score that a scheduler recorded for a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerRecord {
    /// The recorded reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The recorded score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
}

/// A reason why targets are refused, and the number of these targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectionCount {
    /// The plugin that refuses the targets.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// Number of refused targets.
    pub targets: i64,
    /// The reason, as a sentence about the first refused target.
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

/// Returns the kind of `decisions`.
#[must_use]
pub fn namespaced() -> VirtualKind {
    kind(KindInfo {
        short_names: &["bdec"],
        ..info("Decision", "decisions", "decision", VERBS)
    })
}

/// Returns the kind of `clusterdecisions`.
#[must_use]
pub fn cluster() -> VirtualKind {
    kind(KindInfo {
        short_names: &["bcdec"],
        scope: Scope::Cluster,
        ..info("ClusterDecision", "clusterdecisions", "clusterdecision", VERBS)
    })
}

const VERBS: &[&str] = &["get", "list", "watch"];

/// JSON path of the status of condition Agrees.
const AGREES_PATH: &str = r#".status.conditions[?(@.type=="Agrees")].status"#;

fn kind(info: KindInfo) -> VirtualKind {
    VirtualKind {
        columns: vec![
            Column::NAME,
            Column::text("Kind", "The kind of the placeable object")
                .at(".spec.sourceRef.kind")
                .or_none(),
            Column::text(
                "Phase",
                "The phase, such as Bound, Partial, Unschedulable or Invalid",
            )
            .at(".status.phase")
            .or_none(),
            Column::text("Clusters", "The clusters to which the object is bound").computed(clusters),
            Column::text(
                "Reason",
                "The reason why the object is not bound, or the number of its clusters and of the requested ones",
            )
            .computed(reason),
            Column::text("Message", "The summary")
                .at(".status.message")
                .or_none()
                .wide(),
            Column::text(
                AGREES,
                "Whether Berth, while observing, would decide the same clusters",
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
        ..VirtualKind::new(info, Schema::of::<Decision>())
    }
}

/// Returns the cell with the reason why the decision is not bound; for a partial binding, `13 of 40`.
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

/// Returns the status of condition Agrees of a Decision; empty without that condition.
fn agrees(decision: &Value) -> String {
    let status = json_path::first(AGREES_PATH, decision).and_then(Value::as_str);
    status.unwrap_or_default().to_owned()
}

/// The fields of an entry of `status.decisions` that the cell of clusters shows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedCluster<'a> {
    #[serde(borrow)]
    cluster_name: Cow<'a, str>,
    /// The amount: a number in a Decision. In a PublishedDecision it is a text, which the cell omits.
    amount: Option<Value>,
}

/// Returns the cell with the first three clusters, and the number of the others.
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
