//! SchedulingAdvice: the smallest changes that make targets fit (docs/reference.md, "Advice").

use std::sync::Arc;

use berth_apimachinery::{Cell, Column, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shared::{AnyValue, SchedulingSpec, Token};

/// The kind of the object that the `advice` subresource returns.
pub const KIND: &str = "SchedulingAdvice";

/// Changes after which further targets would fit. Every set of changes has been evaluated on a copy of the
/// inventory; nothing is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingAdvice {
    /// The object to schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<SchedulingSpec>,
    /// The advice, and the decision to which it applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<AdviceStatus>,
}

/// The advice, and the decision to which it applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceStatus {
    /// The current outcome of the decision.
    pub outcome: Token,
    /// The reason for the outcome, as one word.
    pub reason: Token,
    /// The summary of the outcome for people.
    pub message: String,
    /// The instant for which the decision was computed.
    #[schemars(extend("format" = "date-time"))]
    pub evaluated_at: String,
    /// The resourceVersion up to which changes of the system's objects were taken into account.
    pub inventory_revision: String,
    /// The targets with advice, the nearest to fitting first.
    pub targets: Vec<AdvisedTarget>,
    /// Number of further targets that are not in the resulting set; 0 if `?cluster=` or `?target=` names one.
    #[schemars(with = "i64")]
    pub remaining_targets: usize,
    /// The reason why the search ended early; empty if it was completed.
    pub gave_up: String,
}

/// The advice in the status of a Scheduling.
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
    /// The refusals of the target; for a feasible target, the reason why it is not picked.
    pub rejections: Vec<Obstacle>,
    /// The sets of changes, the smallest first. Among sets of equal size, those come first that the
    /// requesting user may make.
    pub advice: Vec<AdviceSet>,
    /// Whether the search for this target ended early, so that there may be further sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<bool>,
}

/// The reason why a target is refused, or why a feasible target is not picked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// The plugin that refuses the target; empty if the target is feasible.
    pub plugin: Token,
    /// The reason, as one word.
    pub reason: Token,
    /// The reason, as a sentence.
    pub message: String,
    /// The reason why no change of an object removes the obstacle; absent if a change may remove it, or if no
    /// reason is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A set of changes after which the target fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceSet {
    /// Picked if the target is in the resulting set after the changes; otherwise Feasible.
    pub then: Token,
    /// Whether the requesting user may make all changes of the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// The changes to make, in order.
    pub changes: Vec<AdvisedChange>,
    /// The changes as patches: one patch for each changed object.
    pub patches: Vec<AdvisedPatch>,
}

/// A change that is part of an advised set.
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
    /// Whether the requesting user may make the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// Type of the patch. json: a JSON patch. create: the whole object, to create. hidden: only the changed
    /// paths, since the requesting user may not get the object.
    pub r#type: Token,
    /// The patch, in the form that `type` names.
    pub patch: AnyValue,
    /// The patch as a shell command; absent if the patch is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Returns the schema of the `advice` subresource.
#[must_use]
pub fn schema() -> Schema {
    Schema::of::<SchedulingAdvice>()
}

/// Returns the columns of the table of advice, which has one row for each set of changes.
#[must_use]
pub fn columns() -> Vec<Column> {
    vec![
        Column::text("Target", "The Target of the advice"),
        Column::text(
            "Then",
            "Picked or Feasible: the state of the Target after the changes",
        ),
        Column::text("Whose", "The owners of the changes"),
        Column::text("Allowed", "Whether you may make all of the changes").boolean(),
        Column::text("Advice", "The changes to make"),
        Column::text("Command", "The changes as shell commands").wide(),
    ]
}

/// Returns the rows of one target. A target without advice has one row with the reason.
#[must_use]
pub fn rows(advised: &AdvisedTarget) -> Vec<Vec<Cell>> {
    let name: &str = match advised.target.as_str() {
        "" => &advised.cluster_name,
        target => target,
    };
    if advised.advice.is_empty() {
        let reasons = advised.rejections.iter().map(|obstacle| {
            let text = obstacle.note.as_ref().unwrap_or(&obstacle.message);
            match &*obstacle.plugin {
                "" => text.clone(),
                plugin => format!("{plugin}/{}: {text}", obstacle.reason),
            }
        });
        return vec![empty_row(name, reasons.collect::<Vec<_>>().join("; "))];
    }
    advised.advice.iter().map(|set| row(name, set)).collect()
}

fn row(name: &str, set: &AdviceSet) -> Vec<Cell> {
    let mut whose: Vec<&str> = set.changes.iter().map(|change| &*change.whose).collect();
    whose.sort_unstable();
    whose.dedup();
    let messages: Vec<&str> = set.changes.iter().map(|change| change.message.as_str()).collect();
    // A hidden patch has no command.
    let commands = set.patches.iter().map(|patch| patch.command.as_deref());
    let commands: Vec<&str> = commands.flatten().collect();
    vec![
        name.into(),
        (*set.then).into(),
        whose.join(",").into(),
        Cell::Value(set.allowed.into()),
        messages.join("; ").into(),
        commands.join("; ").into(),
    ]
}

/// Returns the row of a target or decision that has no advice, for the given reason.
#[must_use]
pub fn empty_row(name: &str, reason: String) -> Vec<Cell> {
    vec![
        name.into(),
        "<none>".into(),
        "<none>".into(),
        Cell::Value(Value::Null),
        reason.into(),
        "".into(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_the_commands_of_the_patches_that_have_one() {
        let patch = |name: &str, command: Option<&str>| AdvisedPatch {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: name.to_owned(),
            whose: "Fleet".into(),
            allowed: None,
            r#type: command.map_or("hidden", |_| "json").into(),
            patch: AnyValue(json!([])),
            command: command.map(str::to_owned),
        };
        for (commands, expected) in [
            ([None, Some("kubectl patch b")], "kubectl patch b"),
            ([None, None], ""),
            (
                [Some("kubectl patch a"), Some("kubectl patch b")],
                "kubectl patch a; kubectl patch b",
            ),
        ] {
            let set = AdviceSet {
                then: "Picked".into(),
                allowed: None,
                changes: Vec::new(),
                patches: vec![patch("a", commands[0]), patch("b", commands[1])],
            };
            assert_eq!(row("eu-1", &set).last(), Some(&Cell::from(expected)));
        }
    }
}
