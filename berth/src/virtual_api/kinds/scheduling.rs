//! Scheduling: what the scheduler would decide now, and every reason for it (docs/api.md, "The scheduling report").

use meta::{Cell, Column, Schema};
use schemars::JsonSchema;
use serde_json::Value;

use super::shared::{AnyObject, Condition, SourceRef};
use super::text_at;

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

/// What is decided.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct SchedulingSpec {
    /// The scheduling system that decides.
    pub dialect: String,
    /// The placeable object.
    pub source_ref: SourceRef,
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
    /// The conditions the system itself would report.
    pub conditions: Vec<Condition>,
    /// Exactly what binding would write, in order.
    pub writes: Vec<PlannedWrite>,
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
        Column::text("Reason", "Why it is refused, or why others were better"),
        Column::text("Message", "The reasons as sentences").wide(),
    ]
}

/// The cells under [`columns`] of one candidate, given as an entry of `status.candidates`.
#[must_use]
pub fn row(candidate: &Value) -> Vec<Cell> {
    let number = |field: &str| match candidate.get(field) {
        Some(number) => Cell::Value(number.clone()),
        None => Cell::Value(Value::Null),
    };
    let flag = |field: &str| Cell::Value(candidate.get(field).cloned().unwrap_or_default());
    let target = match text_at(candidate, "/target") {
        empty if empty.is_empty() => text_at(candidate, "/clusterName"),
        target => target,
    };
    let (reason, message) = reasons(candidate);
    vec![
        target.into(),
        flag("feasible"),
        number("rank"),
        number("score"),
        flag("picked"),
        reason.into(),
        message.into(),
    ]
}

/// The tokens (`Plugin/Reason`) and the sentences of a candidate's rejections.
fn reasons(candidate: &Value) -> (String, String) {
    let list = candidate
        .get("rejections")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let token = |item: &Value| match (text_at(item, "/plugin"), text_at(item, "/reason")) {
        (plugin, reason) if plugin.is_empty() => reason,
        (plugin, reason) => format!("{plugin}/{reason}"),
    };
    let tokens: Vec<String> = list.iter().map(token).collect();
    let messages: Vec<String> = list.iter().map(|item| text_at(item, "/message")).collect();
    (tokens.join(","), messages.join("; "))
}
