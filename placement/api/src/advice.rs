//! SchedulingAdvice: the smallest changes that make targets fit (docs/reference.md, "Advice").

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shared::{AnyValue, SchedulingSpec, Token};

/// The kind.
pub const KIND: &str = "SchedulingAdvice";

/// Changes after which targets would fit that the object is not bound to. Every set of changes has been
/// evaluated on a copy of the inventory; nothing is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingAdvice {
    /// The object to schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingSpec>,
    /// The advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AdviceStatus>,
}

/// The advice, and the decision to which it applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceStatus {
    /// The current outcome of the decision.
    pub outcome: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The summary for people.
    pub message: String,
    /// The instant for which the decision was computed.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion up to which changes of the system's objects were taken into account.
    pub inventory_revision: String,
    /// The targets with advice, the nearest to fitting first.
    pub targets: Vec<AdvisedTarget>,
    /// Number of further targets that are not in the resulting set.
    #[schemars(with = "i64")]
    pub remaining_targets: usize,
    /// The reason why the search ended early; empty if it was completed.
    pub gave_up: String,
}

/// The advice in a Scheduling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShortAdvice {
    /// The targets with advice, the nearest to fitting first.
    pub targets: Vec<AdvisedTarget>,
    /// Number of further targets that are not in the resulting set.
    #[schemars(with = "i64")]
    pub remaining_targets: usize,
    /// The reason why the search ended early; empty if it was completed.
    pub gave_up: String,
}

/// Changes after which one target would fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedTarget {
    /// The system's own name of the cluster.
    pub cluster_name: Arc<str>,
    /// The name of the Target object.
    pub target: String,
    /// Whether no plugin refuses the target now.
    pub feasible: bool,
    /// Whether the target is in the resulting set now.
    pub picked: bool,
    /// Current obstacles on the target; or the reason why a feasible target is not picked.
    pub rejections: Vec<Obstacle>,
    /// The sets of changes, the smallest first; among sets of the same size, those that the reader may make
    /// come first.
    pub advice: Vec<AdviceSet>,
    /// Whether the search ended early, so that there may be further sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<bool>,
}

/// Obstacle on a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// The plugin that refuses the target; empty if the target is feasible.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The reason, as a sentence.
    pub message: String,
    /// The reason why no change of an object removes the obstacle; absent if a change can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A set of changes, with all of which the target fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceSet {
    /// Picked if the target is then in the resulting set; Feasible otherwise.
    pub then: Token,
    /// Whether the reader may make all of the changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// Changes to make, in order.
    pub changes: Vec<AdvisedChange>,
    /// The changes as patches, each object once.
    pub patches: Vec<AdvisedPatch>,
}

/// A change to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedChange {
    /// The change, as a sentence in the imperative.
    pub message: String,
    /// Owner of the change: Request, Target or Fleet.
    pub whose: Token,
}

/// The patch of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdvisedPatch {
    /// The API version of the object.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object; absent for cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// Owner of the change: Request, Target or Fleet.
    pub whose: Token,
    /// Whether the reader may make the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// Type of the patch. json: a JSON patch. create: the whole object. hidden: the changed paths of an
    /// object that the reader may not get.
    pub r#type: Token,
    /// The patch, of the type above.
    pub patch: AnyValue,
    /// The patch as a shell command; absent if the patch is hidden.
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
        Column::text("Target", "The Target of the advice"),
        Column::text(
            "Then",
            "Picked or Feasible: the state of the Target after the changes",
        ),
        Column::text("Whose", "The owners of the changes"),
        Column::text("Allowed", "Whether you may make all of them").boolean(),
        Column::text("Advice", "The changes to make"),
        Column::text("Command", "The changes as shell commands").wide(),
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

/// The row of a target or decision without advice.
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
