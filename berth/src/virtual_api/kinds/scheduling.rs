//! Scheduling: what the scheduler would decide now, and every reason for it (docs/api.md, "The scheduling report").

use dialect_contract::report::Candidate;
use meta::{Cell, Column, Schema};
use schemars::JsonSchema;
use serde_json::Value;

use super::advice::ShortAdvice;
use super::shared::{AnyObject, Condition, SchedulingSpec};

/// What the scheduler would decide about an object now, with every candidate and every reason. Reading it changes
/// nothing; binding the object does what it says.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Scheduling {
    /// What is decided.
    pub spec: Option<SchedulingSpec>,
    /// The decision.
    pub status: Option<SchedulingStatus>,
}

/// A decision with everything that led to it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct SchedulingStatus {
    /// Scheduled, Partial, Unschedulable, Provision, Unchanged, Invalid, Ignored or Released.
    pub outcome: String,
    /// Why, as one word.
    pub reason: String,
    /// The summary for a person.
    pub message: String,
    /// The instant the decision is for.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion of the system's objects up to which everything was taken into account.
    pub inventory_revision: String,
    /// The resulting clusters, those kept included, best first.
    pub picked: Vec<Picked>,
    /// Where the object is bound now.
    pub current: Vec<Current>,
    /// What would happen to each cluster.
    pub changes: Vec<Change>,
    /// Every target considered, best first, the infeasible ones by name at the end.
    pub candidates: Vec<CandidateReport>,
    /// How many more there are, where `?limit=` asked for the first ones.
    pub remaining_candidates: Option<i64>,
    /// How many targets each reason refuses, where `?reasons=counts` asked for it.
    pub reason_counts: Option<Vec<ReasonCount>>,
    /// The conditions the system itself would report.
    pub conditions: Vec<Condition>,
    /// Exactly what binding would write, in order.
    pub writes: Vec<PlannedWrite>,
    /// What may be done so that targets fit, where `?advice=true` asked for it.
    pub advice: Option<ShortAdvice>,
}

/// How many targets one reason refuses.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct ReasonCount {
    /// The plugin that refuses.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// How many targets.
    pub targets: i64,
}

/// A cluster of the resulting set.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Picked {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The name of the Target object.
    pub target: Option<String>,
    /// The place in the ranking, from 1.
    pub rank: Option<i64>,
    /// The weighted total, where the system adds scores.
    pub score: Option<i64>,
    /// What each scorer gave.
    pub scores: Option<Vec<Score>>,
    /// Picked, Kept or Created.
    pub reason: String,
}

/// What one scorer gave.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Score {
    /// The scorer, as the system names it.
    pub plugin: String,
    /// The value; absent where the scorer has none for this cluster.
    pub value: Option<i64>,
    /// The weight.
    pub weight: i64,
    /// Value times weight.
    pub weighted: i64,
}

/// A cluster the object is bound to now.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Current {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The name of the Target object, while there is one.
    pub target: Option<String>,
    /// The state of the binding, as the system names it.
    pub state: Option<String>,
}

/// What would happen to one cluster.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Change {
    /// Bind, Keep, Unbind, Create or Restore.
    pub action: String,
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The state before, as the system names it.
    pub from: Option<String>,
    /// The state after, as the system names it.
    pub to: Option<String>,
}

/// One target as the scheduler sees it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct CandidateReport {
    /// The name the system itself gives the cluster.
    pub cluster_name: String,
    /// The name of the Target object.
    pub target: Option<String>,
    /// Whether no plugin refuses it.
    pub feasible: bool,
    /// Whether it is in the resulting set.
    pub picked: bool,
    /// The place in the ranking, from 1; absent for the infeasible.
    pub rank: Option<i64>,
    /// The weighted total, where the system adds scores.
    pub score: Option<i64>,
    /// What each scorer gave.
    pub scores: Option<Vec<Score>>,
    /// Every plugin that refuses it; or why it is feasible and still not picked.
    pub rejections: Vec<Rejection>,
}

/// Why a target is refused.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Rejection {
    /// The plugin that refuses; empty where the target is feasible and others were better.
    pub plugin: String,
    /// Why, as one word.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
}

/// One write a binding would make.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct PlannedWrite {
    /// create, update or delete.
    pub verb: String,
    /// The subresource it goes through, where it does.
    pub subresource: Option<String>,
    /// The object as it would be; of one that the reader may not get, kind, namespace and name.
    pub object: AnyObject,
    /// Where such an object changes, as JSON pointers.
    pub changed_paths: Option<Vec<String>>,
}

/// The schema of the `scheduling` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<Scheduling>()
}

/// The columns of candidates, in a Scheduling's table and in that of `candidates`.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The Target that is judged"),
        Column {
            r#type: "boolean",
            ..Column::text("Feasible", "Whether no plugin refuses it")
        },
        Column::text("Rank", "The place in the ranking, from 1").integer(),
        Column::text("Score", "The weighted total, where the system adds scores").integer(),
        Column {
            r#type: "boolean",
            ..Column::text("Picked", "Whether it is in the resulting set")
        },
        Column::text("Reason", "Why it is refused, or why others rank higher"),
        Column::text("Message", "The reasons as sentences").wide(),
    ]
}

/// What a row of candidates shows of one.
pub struct Judged<'a> {
    /// The Target, or the cluster where there is none.
    pub name: &'a str,
    /// Whether no plugin refuses it.
    pub feasible: Value,
    /// The place in the ranking, or null.
    pub rank: Value,
    /// The weighted total, or null.
    pub score: Value,
    /// Whether it is in the resulting set.
    pub picked: Value,
    /// Plugin, token and sentence of every refusal.
    pub reasons: Vec<[&'a str; 3]>,
}

impl<'a> Judged<'a> {
    /// What there is to show of `candidate`.
    #[must_use]
    pub fn of(candidate: &'a Candidate) -> Self {
        let rejections = candidate.rejections.iter();
        Self {
            name: match candidate.target.as_str() {
                "" => &candidate.cluster_name,
                target => target,
            },
            feasible: candidate.feasible.into(),
            rank: candidate.rank.into(),
            score: candidate.score.into(),
            picked: candidate.picked.into(),
            reasons: rejections
                .map(|entry| [entry.plugin, entry.reason, &entry.message])
                .collect(),
        }
    }

    /// The cells under [`columns`].
    #[must_use]
    pub fn row(self) -> Vec<Cell> {
        let token = |[plugin, reason, _]: &[&str; 3]| match *plugin {
            "" => (*reason).to_owned(),
            plugin => format!("{plugin}/{reason}"),
        };
        let tokens: Vec<String> = self.reasons.iter().map(token).collect();
        let messages: Vec<&str> = self.reasons.iter().map(|[.., message]| *message).collect();
        vec![
            self.name.into(),
            Cell::Value(self.feasible),
            Cell::Value(self.rank),
            Cell::Value(self.score),
            Cell::Value(self.picked),
            tokens.join(",").into(),
            messages.join("; ").into(),
        ]
    }
}

/// The row of a decision without candidates.
#[must_use]
pub fn no_row(reason: &str, message: &str) -> Vec<Cell> {
    let none = || Cell::Value(Value::Null);
    vec![
        "<none>".into(),
        none(),
        none(),
        none(),
        none(),
        reason.into(),
        message.into(),
    ]
}
