//! DecisionRecord and ClusterDecisionRecord: one change of a decision (docs/reference.md, "History").

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::amounts::{self, AmountsByCluster};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{VirtualKind, info};
use super::shared::{SourceRef, Token};
use super::text::{joined, part_at, text_at};

/// Highest number of clusters that a row names for each kind of change.
const MOST_CLUSTERS: usize = 3;

/// One observed change of a decision. Berth writes records; they are immutable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord<Spec = RecordSpec> {
    /// The change of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Spec>,
}

/// The history of one decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionHistory<Record = NamedRecord> {
    /// The records, and the limits of their retention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HistoryStatus<Record>>,
}

/// The records of one decision, and the limits of their retention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryStatus<Record = NamedRecord> {
    /// The storage of records: Memory (lost when the process ends), Database (the server's database file) or
    /// Etcd.
    pub kept_in: Token,
    /// Maximum number of records that are kept for each decision; 0 keeps none.
    #[schemars(with = "i64")]
    pub per_decision: usize,
    /// Maximum age of records, in seconds; 0 means no limit.
    #[schemars(with = "i64")]
    pub max_age_seconds: u64,
    /// Number of older records that the response omits, if `?limit=` requested only the newest records.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub remaining_records: Option<usize>,
    /// The records, newest last.
    pub records: Vec<Record>,
}

/// A record in a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedRecord<Spec = RecordSpec> {
    /// The name of the DecisionRecord.
    pub name: String,
    /// The change of the decision.
    #[serde(flatten)]
    pub spec: Spec,
}

/// A change of a decision.
// Records of older servers lack the fields that have a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = [
    "decision", "dialect", "sourceRef", "at", "change", "clusters", "joinedCount", "leftCount", "reasons", "counted", "cause", "actor",
]))]
pub struct RecordSpec {
    /// The name of the Decision (or ClusterDecision).
    pub decision: String,
    /// The scheduling system of the decision.
    pub dialect: Arc<str>,
    /// The placeable object of the decision.
    #[serde(default)]
    pub source_ref: Arc<SourceRef>,
    /// The time at which the change was observed.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// The kind of change: Bound, Unplaced (new, bound or not), Fits, Grown, Moved, Shrunk, Lost,
    /// Removed, Resized (the same clusters, with other amounts), or Same (only the phase or the reason
    /// differs).
    pub change: Token,
    /// The state of the decision before the change; absent if the decision is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RecordedState>,
    /// The state of the decision after the change; absent if the decision was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<RecordedState>,
    /// The clusters that joined and the clusters that left, at most 50 of each, with the scheduler's
    /// verdicts.
    #[serde(default)]
    pub clusters: Vec<MovedCluster>,
    /// Number of clusters that joined.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub joined_count: usize,
    /// Number of clusters that left.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub left_count: usize,
    /// The reasons why targets are refused, with the numbers of refused targets before and after the change.
    #[serde(default)]
    pub reasons: Vec<ReasonChange>,
    /// Whether refusals were counted after the change. If true, an empty list of reasons means that no target
    /// was refused.
    #[serde(default)]
    pub counted: bool,
    /// The cause of the change.
    pub cause: RecordCause,
    /// The actor of the change; empty if unknown.
    #[serde(default)]
    pub actor: RecordActor,
    /// Whether Berth would have decided the same clusters; absent if Berth decides the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<RecordAgreement>,
}

/// The state of a decision before or after a recorded change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedState {
    /// The phase of the decision.
    pub phase: String,
    /// The reason why the object is not bound, as one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub reason: String,
    /// The summary of the state for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
    /// Number of clusters to which the object is bound, without clusters that it is leaving.
    #[schemars(with = "i64")]
    pub cluster_count: usize,
    /// The clusters: the first 50 by name to which the object is bound, and the first 50 that it is leaving.
    pub clusters: Vec<RecordedCluster>,
}

/// A cluster to which an object is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCluster {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// The score of the cluster when it was chosen, if the system records one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The amount of the cluster, if the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The state of the binding, if the system names states.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub state: String,
    /// True if the object is leaving the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub leaving: bool,
}

/// Returns the clusters that the object is not leaving, with their amounts.
#[must_use]
pub fn held(clusters: &[RecordedCluster]) -> AmountsByCluster {
    let stay = clusters.iter().filter(|place| !place.leaving);
    stay.map(|place| (place.cluster_name.clone(), place.amount))
        .collect()
}

/// A cluster that joined or left a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedCluster {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// Joined (the object is now bound to the cluster) or Left (it no longer is).
    #[schemars(with = "String", extend("enum" = ["Joined", "Left"]))]
    pub change: Move,
    /// The weighted total of the cluster's scores, if the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The weighted score of each scorer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<ScorePart>>")]
    pub scores: Vec<ScorePart>,
    /// The reasons why the cluster is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Refusal>>")]
    pub rejections: Vec<Refusal>,
}

impl MovedCluster {
    /// Creates a cluster without scores and rejections.
    #[must_use]
    pub fn named(name: &str, change: Move) -> Self {
        Self {
            cluster_name: name.to_owned(),
            change,
            score: None,
            scores: Vec::new(),
            rejections: Vec::new(),
        }
    }
}

/// The change of a cluster in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// The object is bound to the cluster now.
    Joined,
    /// The object is not bound to the cluster any more.
    Left,
}

/// The weighted score of one scorer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScorePart {
    /// The system's name of the scorer.
    pub plugin: String,
    /// The score, multiplied by the weight of the scorer.
    pub weighted: i64,
}

/// The reason why a cluster is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The plugin that refuses the cluster.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The reason, as a sentence.
    pub message: String,
}

/// A reason why targets are refused, with the numbers of refused targets before and after a change. A number
/// is absent if it was not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonChange {
    /// The plugin that refuses the targets.
    pub plugin: String,
    /// The reason, as one word.
    pub reason: String,
    /// Number of refused targets before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Number of refused targets after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// The cause of a change of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordCause {
    /// Object (an object changed), Request (a user created a Binding), Time (a time was reached, or the
    /// decision was retried) or Unseen (the change happened while no server was recording).
    #[schemars(with = "String", extend("enum" = ["Object", "Request", "Time", "Unseen"]))]
    pub r#type: CauseType,
    /// The change of the object that is the cause: Created, Updated or Deleted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub verb: String,
    /// The apiVersion of the object that is the cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub api_version: String,
    /// The kind of the object that is the cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub kind: String,
    /// The namespace of the object that is the cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub namespace: String,
    /// The name of the object that is the cause. Name, namespace and field manager are omitted for an object
    /// in another namespace than the decision's, unless the object describes a cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub name: String,
    /// The resourceVersion of the object after the change.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub resource_version: String,
    /// The field manager that last changed the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub field_manager: String,
    /// Number of further changes that were pending for the same decision.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(with = "Option<i64>")]
    pub more: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives fields by reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RecordCause {
    /// Creates a cause of `type` that names no object.
    #[must_use]
    pub fn of(r#type: CauseType) -> Self {
        Self {
            r#type,
            ..Self::default()
        }
    }
}

/// The type of a cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CauseType {
    /// An object changed.
    Object,
    /// A user created a Binding.
    Request,
    /// No object changed: the decision depends on time, or a failed write was tried again.
    Time,
    /// The decision changed while no server recorded it: no server was running, or none was the leader.
    #[default]
    Unseen,
}

impl CauseType {
    /// Returns the type as in a record.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Object => "Object",
            Self::Request => "Request",
            Self::Time => "Time",
            Self::Unseen => "Unseen",
        }
    }
}

/// The actor of a change of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordActor {
    /// The user that requested the binding; for a decision of Berth, the user name under which Berth wrote
    /// it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub user: String,
    /// The field manager of the object that another program changed; absent if Berth wrote the decision.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub field_manager: String,
}

/// Whether Berth, while observing, would have decided the same clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordAgreement {
    /// True, False or Unknown, at the time of the record. The grace period that condition Agrees of a
    /// Decision gives the other scheduler only counts while the object has no clusters.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// The changes that Berth would have made, or the reason why the status is Unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// Returns the kind of `decisionrecords`.
#[must_use]
pub fn namespaced() -> VirtualKind {
    kind(KindInfo {
        short_names: &["bdr"],
        ..info("DecisionRecord", "decisionrecords", "decisionrecord", VERBS)
    })
}

/// Returns the kind of `clusterdecisionrecords`.
#[must_use]
pub fn cluster() -> VirtualKind {
    kind(KindInfo {
        short_names: &["bcdr"],
        scope: Scope::Cluster,
        ..info(
            "ClusterDecisionRecord",
            "clusterdecisionrecords",
            "clusterdecisionrecord",
            VERBS,
        )
    })
}

const VERBS: &[&str] = &["get", "list", "watch"];

/// Returns the schema of the `history` subresource.
#[must_use]
pub fn history() -> Schema {
    Schema::of::<DecisionHistory>()
}

fn kind(info: KindInfo) -> VirtualKind {
    VirtualKind {
        columns: columns(),
        selectable: const {
            &[
                SelectableField::computed("decision", |value| text_at(value, "/spec/decision")),
                SelectableField::computed("system", |value| text_at(value, "/spec/dialect")),
                SelectableField::at("spec.decision"),
                SelectableField::at("spec.dialect"),
                SelectableField::at("spec.change"),
                SelectableField::at("spec.cause.type"),
                SelectableField::at("spec.cause.kind"),
                SelectableField::at("spec.cause.name"),
                SelectableField::at("spec.actor.user"),
                SelectableField::at("spec.agreement.status"),
            ]
        },
        ..VirtualKind::new(info, Schema::of::<DecisionRecord>())
    }
}

/// Returns the columns of records, for tables of records and of a history.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::NAME.wide(),
        Column::text("Decision", "The decision that changed")
            .at(".spec.decision")
            .or_none(),
        Column::text("Change", "The kind of the change, as in a plan")
            .at(".spec.change")
            .or_none(),
        Column::text("Phase", "The phase after the change")
            .at(".spec.to.phase")
            .or_none(),
        Column::text("Clusters", "The clusters that joined and left").computed(clusters),
        Column::text("Cause", "The cause of the change").computed(cause),
        Column::text("Actor", "The actor of the change")
            .computed(actor)
            .wide(),
        Column::text(
            "Agrees",
            "Whether Berth, while observing, would have decided the same clusters",
        )
        .at(".spec.agreement.status")
        .or_none()
        .wide(),
        Column::AGE,
    ]
}

/// Returns the cells of `record` for [`columns`].
#[must_use]
pub fn row(record: &Object) -> Vec<Cell> {
    columns().iter().map(|column| column.cell(record)).collect()
}

/// Returns a cell such as `+cluster2 -cluster1 ~cluster3:4`: the first clusters that joined and left, with
/// the number of the others, and the first clusters with another amount.
fn clusters(record: &Object) -> Cell {
    let spec = &record.value()["spec"];
    let list: Vec<MovedCluster> = part_at(spec, "/clusters").unwrap_or_default();
    let part = |change: Move, sign: char, count: &str| {
        let moved = list.iter().filter(|cluster| cluster.change == change);
        let mut words: Vec<String> = moved
            .take(MOST_CLUSTERS)
            .map(|cluster| format!("{sign}{}", cluster.cluster_name))
            .collect();
        let count: u64 = part_at(spec, count).unwrap_or_default();
        let more = count.saturating_sub(words.len() as u64);
        if more > 0 {
            words.push(format!("{sign}{more} more"));
        }
        words
    };
    let mut words = part(Move::Joined, '+', "/joinedCount");
    words.extend(part(Move::Left, '-', "/leftCount"));
    let of = |side: &str| held(&part_at::<Vec<RecordedCluster>>(spec, side).unwrap_or_default());
    let resized = amounts::changes(&of("/from/clusters"), &of("/to/clusters")).into_iter();
    words.extend(
        resized
            .take(MOST_CLUSTERS)
            .map(|entry| format!("~{}", amounts::cell(&entry.cluster_name, entry.to))),
    );
    joined(&words, " ").into()
}

/// Returns a cell such as `ManagedCluster cluster1 Updated`, or the type of a cause without an object.
fn cause(record: &Object) -> Cell {
    let cause: RecordCause = part_at(record.value(), "/spec/cause").unwrap_or_default();
    match cause.r#type {
        CauseType::Object => {
            let mut words = vec![cause.kind, cause.name, cause.verb];
            words.retain(|word| !word.is_empty());
            words.join(" ").into()
        }
        other => other.as_str().into(),
    }
}

fn actor(record: &Object) -> Cell {
    let actor: RecordActor = part_at(record.value(), "/spec/actor").unwrap_or_default();
    let mut known = [actor.user, actor.field_manager].into_iter();
    let first = known.find(|text| !text.is_empty());
    first.unwrap_or_else(|| "<none>".to_owned()).into()
}
