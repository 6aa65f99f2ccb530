//! DecisionRecord and ClusterDecisionRecord: one change of a decision (docs/reference.md, "History").

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, KindInfo, Object, Schema, Scope, SelectableField};
use berth_dialect_contract::amounts::{self, AmountsByCluster};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::{Virtual, info};
use super::shared::{SourceRef, Token};
use super::text::{joined, part_at, text_at};

/// Most clusters that a row names.
const NAMED: usize = 3;

/// One change of a decision, as it was seen. Berth writes it, and nobody changes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord<Spec = RecordSpec> {
    /// The change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<Spec>,
}

/// The history of one decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionHistory<Record = NamedRecord> {
    /// The records, and how long they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<HistoryStatus<Record>>,
}

/// The records of one decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryStatus<Record = NamedRecord> {
    /// Memory (gone when the process ends), Database (the server's database file) or Etcd.
    pub kept_in: Token,
    /// Number of records of each decision that are kept; 0 is none.
    #[schemars(with = "i64")]
    pub per_decision: usize,
    /// Age of the oldest record, in seconds; 0 is any age.
    #[schemars(with = "i64")]
    pub max_age_seconds: u64,
    /// Number of older records, where `?limit=` asked for the newest.
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
    /// The change.
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
    /// The scheduling system.
    pub dialect: Arc<str>,
    /// The placeable object.
    #[serde(default)]
    pub source_ref: Arc<SourceRef>,
    /// When the change was seen.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// Change of the decision: Bound, Unplaced (new, with or without a place), Fits, Grown, Moved, Shrunk,
    /// Lost, Removed, Resized (the same clusters, with other amounts), or Same (in another phase or for
    /// another reason).
    pub change: Token,
    /// State before; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Side>,
    /// State after; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Side>,
    /// The clusters that came and went, at most 50 of each, with what the scheduler said of them.
    #[serde(default)]
    pub clusters: Vec<MovedCluster>,
    /// Number of clusters that came.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub joined_count: usize,
    /// Number of clusters that went.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub left_count: usize,
    /// Numbers of targets that each reason refuses.
    #[serde(default)]
    pub reasons: Vec<ReasonChange>,
    /// Whether they were counted after the change: then no reason means that nothing was refused.
    #[serde(default)]
    pub counted: bool,
    /// Cause of the change.
    pub cause: RecordCause,
    /// Actor of the change; empty where nobody saw it.
    #[serde(default)]
    pub actor: RecordActor,
    /// Whether Berth would have decided the same clusters; absent where it decides by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<RecordAgreement>,
}

/// State of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// The phase.
    pub phase: String,
    /// Why it is not bound, as one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub reason: String,
    /// The summary for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
    /// Number of clusters it is bound to.
    #[schemars(with = "i64")]
    pub cluster_count: usize,
    /// The clusters, the first 50 by name.
    pub clusters: Vec<RecordedCluster>,
}

/// A cluster an object is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedCluster {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The score it was chosen with, where the system records that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The amount it has, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The state of the binding, where the system names states.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub state: String,
    /// True where it is on its way out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub leaving: bool,
}

/// The clusters of a record that stay, with their amounts.
#[must_use]
pub fn held(clusters: &[RecordedCluster]) -> AmountsByCluster {
    let stay = clusters.iter().filter(|place| !place.leaving);
    stay.map(|place| (place.cluster_name.clone(), place.amount))
        .collect()
}

/// A cluster that came or went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovedCluster {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// Joined or Left.
    #[schemars(with = "String", extend("enum" = ["Joined", "Left"]))]
    pub change: Move,
    /// The weighted total, where the system adds scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// Points of each scorer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<ScorePart>>")]
    pub scores: Vec<ScorePart>,
    /// Why it is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<Refusal>>")]
    pub rejections: Vec<Refusal>,
}

impl MovedCluster {
    /// A cluster without further data.
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

/// Change of a cluster in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// The object is bound to it now.
    Joined,
    /// The object is not bound to it any more.
    Left,
}

/// Points of one scorer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScorePart {
    /// The scorer, as the system names it.
    pub plugin: String,
    /// Value times weight.
    pub weighted: i64,
}

/// Why a cluster is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The plugin that refuses.
    pub plugin: Token,
    /// Why, as one word.
    pub reason: Token,
    /// Why, as a sentence.
    pub message: String,
}

/// One reason and how many targets it refuses; absent where nobody counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReasonChange {
    /// The plugin that refuses.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// Number of targets it refused before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Number of targets it refuses after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// Cause of a change of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordCause {
    /// Object (an object changed), Request (somebody created a Binding), Time (no object changed: its time
    /// came, or it was tried again) or Unseen (it changed while no server recorded).
    #[schemars(with = "String", extend("enum" = ["Object", "Request", "Time", "Unseen"]))]
    pub r#type: CauseType,
    /// Created, Updated or Deleted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub verb: String,
    /// The apiVersion of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub api_version: String,
    /// The kind of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub kind: String,
    /// The namespace of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub namespace: String,
    /// The name of the object. It, the namespace and the field manager are left out of an object in another
    /// namespace than the decision, unless it describes a cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub name: String,
    /// The resourceVersion that the change left.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub resource_version: String,
    /// Owner of the newest fields of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub field_manager: String,
    /// Number of further changes that had made the decision due.
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
    /// A cause other than an object.
    #[must_use]
    pub fn of(r#type: CauseType) -> Self {
        Self {
            r#type,
            ..Self::default()
        }
    }
}

/// Sort of cause.
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
    /// The token.
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

/// Actor of a change of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordActor {
    /// The user who asked for a binding, or as whom Berth wrote the decision.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub user: String,
    /// Field manager, where Berth did not write it: the field manager of the object that changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub field_manager: String,
}

/// Whether Berth, which observed, would have decided the same clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordAgreement {
    /// True, False or Unknown, when the change was recorded: without the time that condition Agrees of a
    /// Decision leaves the other scheduler.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Changes that Berth would have made, or why that cannot be said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Option<String>")]
    pub message: String,
}

/// The kind of `decisionrecords`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        short_names: &["bdr"],
        ..info("DecisionRecord", "decisionrecords", "decisionrecord", VERBS)
    })
}

/// The kind of `clusterdecisionrecords`.
#[must_use]
pub fn cluster() -> Virtual {
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

/// The schema of the `history` subresource.
#[must_use]
pub fn history() -> Schema {
    Schema::of::<DecisionHistory>()
}

fn kind(info: KindInfo) -> Virtual {
    Virtual {
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
        ..Virtual::new(info, Schema::of::<DecisionRecord>())
    }
}

/// The columns of records, in their own table and in that of a history.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::NAME.wide(),
        Column::text("Decision", "The decision that changed")
            .at(".spec.decision")
            .or_none(),
        Column::text("Change", "What changed, as in a plan")
            .at(".spec.change")
            .or_none(),
        Column::text("Phase", "The phase after the change")
            .at(".spec.to.phase")
            .or_none(),
        Column::text("Clusters", "The clusters that came and went").computed(clusters),
        Column::text("Cause", "The cause of the change").computed(cause),
        Column::text("Actor", "Who changed it").computed(actor).wide(),
        Column::text(
            "Agrees",
            "Whether Berth, which observed, would have decided the same clusters",
        )
        .at(".spec.agreement.status")
        .or_none()
        .wide(),
        Column::AGE,
    ]
}

/// The cells under [`columns`].
#[must_use]
pub fn row(record: &Object) -> Vec<Cell> {
    columns().iter().map(|column| column.cell(record)).collect()
}

/// `+cluster2 -cluster1 ~cluster3:4`: the first clusters of each change, and the number of the rest.
fn clusters(record: &Object) -> Cell {
    let spec = &record.value()["spec"];
    let list: Vec<MovedCluster> = part_at(spec, "/clusters").unwrap_or_default();
    let part = |change: Move, sign: char, count: &str| {
        let moved = list.iter().filter(|cluster| cluster.change == change);
        let mut words: Vec<String> = moved
            .take(NAMED)
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
    let resized = amounts::resized(&of("/from/clusters"), &of("/to/clusters")).into_iter();
    words.extend(
        resized
            .take(NAMED)
            .map(|entry| format!("~{}", amounts::cell(&entry.cluster_name, entry.to))),
    );
    joined(&words, " ").into()
}

/// `ManagedCluster cluster1 Updated`, or the type of another cause.
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
