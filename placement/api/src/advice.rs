//! SchedulingAdvice: the smallest changes that make targets fit (docs/reference.md, "Advice").

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shared::{AnyValue, SchedulingSpec, Token};

/// The kind.
pub const KIND: &str = "SchedulingAdvice";

/// Changes that would let targets fit that an object does not go to. Every set of changes has been tried on a
/// copy of the world; nothing is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingAdvice {
    /// Object to decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingSpec>,
    /// The advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AdviceStatus>,
}

/// The advice, and the decision it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceStatus {
    /// Outcome of the decision now.
    pub outcome: Token,
    /// Why, as one word.
    pub reason: Token,
    /// The summary for a person.
    pub message: String,
    /// The instant the decision is for.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion of the system's objects up to which everything was taken into account.
    pub inventory_revision: String,
    /// The targets that are advised about, those nearest to fitting first.
    pub targets: Vec<AdvisedTarget>,
    /// Number of further targets that are not in the resulting set.
    #[schemars(with = "i64")]
    pub remaining_targets: usize,
    /// Why the search ended before its time; empty where it did not.
    pub gave_up: String,
}

/// The advice in a Scheduling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortAdvice {
    /// The targets that are advised about, those nearest to fitting first.
    pub targets: Vec<AdvisedTarget>,
    /// Number of further targets that are not in the resulting set.
    #[schemars(with = "i64")]
    pub remaining_targets: usize,
    /// Why the search ended before its time; empty where it did not.
    pub gave_up: String,
}

/// Changes that would let one target fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedTarget {
    /// The name the system itself gives the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object.
    pub target: String,
    /// Whether no plugin refuses it now.
    pub feasible: bool,
    /// Whether it is in the resulting set now.
    pub picked: bool,
    /// Obstacles on it now; or why it is feasible and others are picked.
    pub rejections: Vec<Obstacle>,
    /// The sets of changes, the smallest first, and of those as small the ones that the reader may make.
    pub advice: Vec<AdviceSet>,
    /// Whether there may be more that was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<bool>,
}

/// Obstacle on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// The plugin that refuses; empty where the target is feasible.
    pub plugin: Token,
    /// Why, as one word.
    pub reason: Token,
    /// Why, as a sentence.
    pub message: String,
    /// Why no change of an object is the cure, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A set of changes: with all of them made, the target fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceSet {
    /// Picked, where the target is in the resulting set then; else Feasible.
    pub then: Token,
    /// Whether the reader may make all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// Changes to make, in order.
    pub changes: Vec<AdvisedChange>,
    /// The changes as patches, each object once.
    pub patches: Vec<AdvisedPatch>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedChange {
    /// As a sentence in the imperative.
    pub message: String,
    /// Owner of the change: Request, Target or Fleet.
    pub whose: Token,
}

/// Changes in one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedPatch {
    /// The API version of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; absent where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Owner of the change: Request, Target or Fleet.
    pub whose: Token,
    /// Whether the reader may make it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// json: a JSON patch. create: the whole object. hidden: the paths that change in an object that the
    /// reader may not get.
    pub r#type: Token,
    /// Patch, of the type above.
    pub patch: AnyValue,
    /// The patch as a line for a shell; absent where the patch is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The schema of the `advice` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<SchedulingAdvice>()
}

/// The columns of the table: a row per set of changes.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The Target that is to fit"),
        Column::text("Then", "Picked, or only Feasible, when the changes are made"),
        Column::text("Whose", "Whose the changes are to make"),
        Column::text("Allowed", "Whether you may make all of them").boolean(),
        Column::text("Advice", "What to do"),
        Column::text("Command", "The same as lines for a shell").wide(),
    ]
}

/// The rows of one target; without advice, one row with the reason.
#[must_use]
pub fn rows(advised: &AdvisedTarget) -> Vec<Vec<Cell>> {
    let name: &str = match advised.target.as_str() {
        "" => &advised.cluster_name,
        target => target,
    };
    if advised.advice.is_empty() {
        let why = advised.rejections.iter().map(|obstacle| {
            let text = obstacle.note.as_ref().unwrap_or(&obstacle.message);
            match &*obstacle.plugin {
                "" => text.clone(),
                plugin => format!("{plugin}/{}: {text}", obstacle.reason),
            }
        });
        return vec![no_row(name, why.collect::<Vec<_>>().join("; "))];
    }
    advised.advice.iter().map(|set| row(name, set)).collect()
}

fn row(name: &str, set: &AdviceSet) -> Vec<Cell> {
    let mut whose: Vec<&str> = set.changes.iter().map(|change| &*change.whose).collect();
    whose.sort_unstable();
    whose.dedup();
    let messages: Vec<&str> = set.changes.iter().map(|change| change.message.as_str()).collect();
    let commands = set.patches.iter().map(|patch| patch.command.as_deref());
    let commands: Vec<&str> = commands.map(Option::unwrap_or_default).collect();
    vec![
        name.into(),
        (*set.then).into(),
        whose.join(",").into(),
        Cell::Value(set.allowed.into()),
        messages.join("; ").into(),
        commands.join("; ").into(),
    ]
}

/// The row of a decision without advice.
#[must_use]
pub fn no_row(name: &str, why: String) -> Vec<Cell> {
    vec![
        name.into(),
        "<none>".into(),
        "<none>".into(),
        Cell::Value(Value::Null),
        why.into(),
        "".into(),
    ]
}
