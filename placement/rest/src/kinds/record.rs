//! DecisionRecord and ClusterDecisionRecord: one change of a decision (docs/reference.md, "History").

use berth_apimachinery::kind::{KindInfo, SelectableField};
use berth_apimachinery::{Cell, Column, Object, Schema, Scope};
use berth_dialect_contract::amounts::{self, Held};
use schemars::JsonSchema;
use serde_json::Value;

use super::shared::SourceRef;
use super::{INFO, Virtual, cell_at, text_at};

/// How many clusters a row names.
const NAMED: usize = 3;

/// One change of a decision, as it was seen. Berth writes it, and nobody changes it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// The change.
    pub spec: Option<RecordSpec>,
}

/// The history of one decision.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct DecisionHistory {
    /// The records, and how long they are kept.
    pub status: Option<HistoryStatus>,
}

/// The records of one decision.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct HistoryStatus {
    /// Memory (gone when the process ends), Database (the server's database file) or Etcd.
    pub kept_in: String,
    /// How many records of each decision are kept; 0 is none.
    pub per_decision: i64,
    /// How old a record gets, in seconds; 0 is any age.
    pub max_age_seconds: i64,
    /// How many older ones there are, where `?limit=` asked for the newest.
    pub remaining_records: Option<i64>,
    /// The records, newest last.
    pub records: Vec<NamedRecord>,
}

/// A record in a history.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct NamedRecord {
    /// The name of the DecisionRecord.
    pub name: String,
    /// The change.
    #[serde(flatten)]
    pub spec: RecordSpec,
}

/// A change of a decision.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RecordSpec {
    /// The name of the Decision (or ClusterDecision).
    pub decision: String,
    /// The scheduling system.
    pub dialect: String,
    /// The placeable object.
    pub source_ref: SourceRef,
    /// When the change was seen.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// What became of the decision: Bound, Unplaced (new, with or without a place), Fits, Grown, Moved, Shrunk, Lost,
    /// Removed, Resized (the same clusters, with other amounts), or Same (in another phase or for another reason).
    pub change: String,
    /// Where it stood; absent where it is new.
    pub from: Option<Side>,
    /// Where it stands; absent where it is gone.
    pub to: Option<Side>,
    /// The clusters that came and went, at most 50 of each, with what the scheduler said of them.
    pub clusters: Vec<MovedCluster>,
    /// How many clusters came.
    pub joined_count: i64,
    /// How many clusters went.
    pub left_count: i64,
    /// How many targets each reason refuses.
    pub reasons: Vec<ReasonChange>,
    /// Whether they were counted after the change: then no reason means that nothing was refused.
    pub counted: bool,
    /// What made it change.
    pub cause: RecordCause,
    /// Who changed it; empty where nobody saw it.
    pub actor: RecordActor,
    /// Whether Berth would have decided the same clusters; absent where it decides by itself.
    pub agreement: Option<RecordAgreement>,
}

/// Where a decision stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Side {
    /// The phase.
    pub phase: String,
    /// Why it is not bound, as one word.
    pub reason: Option<String>,
    /// The summary for a person.
    pub message: Option<String>,
    /// How many clusters it is bound to.
    pub cluster_count: i64,
    /// The clusters, the first 50 by name.
    pub clusters: Vec<RecordedCluster>,
}

/// A cluster an object is bound to.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RecordedCluster {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The score it was chosen with, where the system records that.
    pub score: Option<i64>,
    /// The amount it has, where the system divides one.
    pub amount: Option<i64>,
    /// The state of the binding, where the system names states.
    pub state: Option<String>,
    /// True where it is on its way out.
    pub leaving: Option<bool>,
}

/// A cluster that came or went.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct MovedCluster {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// Joined or Left.
    #[schemars(extend("enum" = ["Joined", "Left"]))]
    pub change: String,
    /// The weighted total, where the system adds scores.
    pub score: Option<i64>,
    /// What each scorer gave.
    pub scores: Option<Vec<ScorePart>>,
    /// Why it is refused.
    pub rejections: Option<Vec<Refusal>>,
}

/// What one scorer gave.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ScorePart {
    /// The scorer, as the system names it.
    pub plugin: String,
    /// Value times weight.
    pub weighted: i64,
}

/// Why a cluster is refused.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Refusal {
    /// The plugin that refuses.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
}

/// One reason and how many targets it refuses; absent where nobody counted.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ReasonChange {
    /// The plugin that refuses.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// How many targets it refused before.
    pub from: Option<i64>,
    /// How many targets it refuses after the change.
    pub to: Option<i64>,
}

/// What made a decision change.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RecordCause {
    /// Object (an object changed), Request (somebody created a Binding), Time (no object changed: its time came, or it was
    /// tried again) or Unseen (it changed while no server recorded).
    #[schemars(extend("enum" = ["Object", "Request", "Time", "Unseen"]))]
    pub r#type: String,
    /// Created, Updated or Deleted.
    pub verb: Option<String>,
    /// The apiVersion of the object.
    pub api_version: Option<String>,
    /// The kind of the object.
    pub kind: Option<String>,
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// The name of the object. It, the namespace and the field manager are left out of an object in another namespace than
    /// the decision, unless it describes a cluster.
    pub name: Option<String>,
    /// The resourceVersion that the change left.
    pub resource_version: Option<String>,
    /// Who owns the newest fields of the object.
    pub field_manager: Option<String>,
    /// How many further changes had made the decision due.
    pub more: Option<i64>,
}

/// Who changed a decision.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RecordActor {
    /// The user who asked for a binding, or as whom Berth wrote the decision.
    pub user: Option<String>,
    /// Where Berth did not write it: the field manager of the object that changed.
    pub field_manager: Option<String>,
}

/// Whether Berth, which observed, would have decided the same clusters.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RecordAgreement {
    /// True, False or Unknown, when the change was recorded: without the time that condition Agrees of a Decision leaves the
    /// other scheduler.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Changes that Berth would have made, or why that cannot be said.
    pub message: Option<String>,
}

/// The kind of `decisionrecords`.
#[must_use]
pub fn namespaced() -> Virtual {
    kind(KindInfo {
        kind: "DecisionRecord",
        plural: "decisionrecords",
        singular: "decisionrecord",
        short_names: &["bdr"],
        scope: Scope::Namespaced,
        ..INFO
    })
}

/// The kind of `clusterdecisionrecords`.
#[must_use]
pub fn cluster() -> Virtual {
    kind(KindInfo {
        kind: "ClusterDecisionRecord",
        plural: "clusterdecisionrecords",
        singular: "clusterdecisionrecord",
        short_names: &["bcdr"],
        scope: Scope::Cluster,
        ..INFO
    })
}

/// The schema of the `history` subresource.
#[must_use]
pub fn history() -> Schema {
    Schema::of::<DecisionHistory>()
}

fn kind(info: KindInfo) -> Virtual {
    Virtual {
        columns: columns(),
        row,
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
        ..Virtual::new(
            KindInfo {
                verbs: &["get", "list", "watch"],
                ..info
            },
            Schema::of::<DecisionRecord>(),
        )
    }
}

/// The columns of records, in their own table and in that of a history.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column {
            priority: 1,
            ..Column::NAME
        },
        Column::text("Decision", "The decision that changed"),
        Column::text("Change", "What changed, as in a plan"),
        Column::text("Phase", "The phase after the change"),
        Column::text("Clusters", "The clusters that came and went"),
        Column::text("Cause", "The cause of the change"),
        Column::text("Actor", "Who changed it").wide(),
        Column::text(
            "Agrees",
            "Whether Berth, which observed, would have decided the same clusters",
        )
        .wide(),
        Column::AGE,
    ]
}

/// The cells under [`columns`].
pub fn row(object: &Object) -> Vec<Cell> {
    let value = object.value();
    let spec = &value["spec"];
    vec![
        object.meta().name().into(),
        cell_at(spec, "/decision"),
        cell_at(spec, "/change"),
        cell_at(spec, "/to/phase"),
        clusters(spec).into(),
        cause(&spec["cause"]).into(),
        actor(&spec["actor"]).into(),
        cell_at(spec, "/agreement/status"),
        Cell::Age(object.meta().creation_timestamp()),
    ]
}

/// `+cluster2 -cluster1 ~cluster3:4`, the first of each, and how many more there are.
fn clusters(spec: &Value) -> String {
    let list = spec["clusters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let part = |change: &str, sign: char, count: &Value| {
        let moved = list.iter().filter(|cluster| cluster["change"] == change);
        let mut words: Vec<String> = moved
            .take(NAMED)
            .map(|cluster| format!("{sign}{}", text_at(cluster, "/clusterName")))
            .collect();
        let more = count
            .as_u64()
            .unwrap_or_default()
            .saturating_sub(words.len() as u64);
        if more > 0 {
            words.push(format!("{sign}{more} more"));
        }
        words
    };
    let mut words = part("Joined", '+', &spec["joinedCount"]);
    words.extend(part("Left", '-', &spec["leftCount"]));
    let resized = amounts::resized(&held(&spec["from"]), &held(&spec["to"])).into_iter();
    words.extend(
        resized
            .take(NAMED)
            .map(|entry| format!("~{}", amounts::cell(&entry.cluster_name, entry.to))),
    );
    match words.is_empty() {
        true => "<none>".to_owned(),
        false => words.join(" "),
    }
}

/// The clusters of one side of a record that stay, with their amounts.
fn held(side: &Value) -> Held {
    let places = side["clusters"].as_array().into_iter().flatten();
    places
        .filter(|place| place["leaving"] != true)
        .map(|place| (text_at(place, "/clusterName"), place["amount"].as_i64()))
        .collect()
}

/// `ManagedCluster cluster1 Updated`, or the type of another cause.
fn cause(cause: &Value) -> String {
    let text = |field: &str| text_at(cause, &format!("/{field}"));
    match text("type").as_str() {
        "Object" => {
            let words = ["kind", "name", "verb"].map(text);
            let known: Vec<&str> = words
                .iter()
                .map(String::as_str)
                .filter(|word| !word.is_empty())
                .collect();
            known.join(" ")
        }
        other => other.to_owned(),
    }
}

fn actor(actor: &Value) -> String {
    let known = ["/user", "/fieldManager"].map(|path| text_at(actor, path));
    let first = known.into_iter().find(|text| !text.is_empty());
    first.unwrap_or_else(|| "<none>".to_owned())
}
