//! The conditions of WorkloadClusters, and the condition `NamespaceScheduled` of namespaces
//! (docs/systems/kcp.md, "The namespace's condition").

use berth_apimachinery::Timestamp;
use berth_dialect_contract::wording::Sentences;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::placement::{Form, StoredPlacement};

/// A condition of an object, as kcp writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["status", "type"]))]
pub struct Condition {
    /// Time of the last change of status, severity, reason or message.
    #[schemars(with = "String", extend("format" = "date-time", "nullable" = true))]
    pub last_transition_time: Option<Timestamp>,
    /// Observation, as a sentence.
    pub message: String,
    /// Observation, as a CamelCase token.
    pub reason: String,
    /// Severity while the status is False: Error, Warning, Info or empty.
    #[schemars(extend("enum" = ["Error", "Warning", "Info", ""]))]
    pub severity: String,
    /// True, False or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// Subject of the condition, in CamelCase.
    pub r#type: String,
}

/// The condition with this type in `conditions`.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], r#type: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == r#type)
}

/// The type of the condition about the scheduling of a namespace.
pub const NAMESPACE_SCHEDULED: &str = "NamespaceScheduled";

/// The beginnings of the messages of `NamespaceScheduled`.
const SENTENCES: Sentences = Sentences(&[
    "the namespace is labelled to stay where it is",
    "the placement annotation ",
    "no workload cluster can take the namespace",
]);

/// The content of the condition `NamespaceScheduled`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledCondition {
    /// Whether the namespace counts as scheduled.
    pub status: bool,
    /// The reason token; empty if the status is true.
    pub reason: &'static str,
    /// The message; empty if the status is true.
    pub message: String,
}

/// The condition for a namespace with the placement in `annotation`; `None` leaves the condition unchanged.
/// Unless scheduling is `disabled`, a namespace with any entry in any state counts as scheduled.
#[must_use]
pub fn namespace_scheduled(disabled: bool, annotation: &StoredPlacement) -> Option<ScheduledCondition> {
    let no = |reason, message: String| {
        Some(ScheduledCondition {
            status: false,
            reason,
            message,
        })
    };
    if disabled {
        return no(
            "SchedulingDisabled",
            "the namespace is labelled to stay where it is".to_owned(),
        );
    }
    match &annotation.form {
        Form::Absent => None,
        Form::Malformed(problem) => no("PlacementInvalid", format!("the placement annotation {problem}")),
        // Entries that cannot be parsed count as entries until they are removed.
        Form::Map if !annotation.placement.0.is_empty() || !annotation.dropped.is_empty() => {
            Some(ScheduledCondition {
                status: true,
                reason: "",
                message: String::new(),
            })
        }
        Form::Null | Form::Map => no(
            "Unschedulable",
            "no workload cluster can take the namespace".to_owned(),
        ),
    }
}

impl ScheduledCondition {
    /// The condition as JSON. The transition time of the `stored` condition is kept if its content is equal.
    #[must_use]
    pub fn to_json(&self, stored: Option<&Value>, now: Timestamp) -> Value {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), NAMESPACE_SCHEDULED.into());
        fields.insert(
            "status".to_owned(),
            if self.status { "True" } else { "False" }.into(),
        );
        if !self.reason.is_empty() {
            fields.insert("reason".to_owned(), self.reason.into());
        }
        if !self.message.is_empty() {
            fields.insert("message".to_owned(), self.message.as_str().into());
        }
        let transition_time = stored
            .filter(|stored| self.matches(stored))
            .and_then(|stored| stored["lastTransitionTime"].as_str());
        let transition_time =
            transition_time.map_or_else(|| berth_apimachinery::time::rfc3339(now), str::to_owned);
        fields.insert("lastTransitionTime".to_owned(), transition_time.into());
        Value::Object(fields)
    }

    /// Whether the `stored` condition has the content of this condition, regardless of the transition time.
    #[must_use]
    pub fn matches(&self, stored: &Value) -> bool {
        let text = |field: &str| stored[field].as_str().unwrap_or_default();
        let status = if self.status { "True" } else { "False" };
        text("status") == status
            && text("reason") == self.reason
            && SENTENCES.keeps(text("message"), &self.message)
    }
}

/// The stored condition `NamespaceScheduled` of a namespace.
#[must_use]
pub fn stored(namespace: &Value) -> Option<&Value> {
    let list = namespace.get("status")?.get("conditions")?.as_array()?;
    list.iter()
        .find(|condition| condition["type"] == NAMESPACE_SCHEDULED)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_condition_is_read_off_the_annotation() {
        let of = |disabled, text: Option<&str>| {
            let condition = namespace_scheduled(disabled, &StoredPlacement::of(text));
            condition.map(|condition| (condition.status, condition.reason))
        };
        assert_eq!(
            of(true, Some(r#"{"root+a+x":"Bound"}"#)),
            Some((false, "SchedulingDisabled"))
        );
        assert_eq!(of(false, Some("{")), Some((false, "PlacementInvalid")));
        assert_eq!(
            of(false, Some(r#"{"root+a+x":1}"#)),
            Some((false, "PlacementInvalid"))
        );
        assert_eq!(of(false, Some("{}")), Some((false, "Unschedulable")));
        assert_eq!(of(false, Some("null")), Some((false, "Unschedulable")));
        assert_eq!(of(false, Some(r#"{"root+a+x":"Removing"}"#)), Some((true, "")));
        assert_eq!(of(false, Some(r#"{"what":"ever"}"#)), Some((true, "")));
        assert_eq!(of(false, Some("")), None);
        assert_eq!(of(false, None), None);
    }

    #[test]
    fn the_time_moves_only_with_the_content() {
        let now = berth_apimachinery::time::parse("2021-10-28T09:00:00Z").unwrap();
        let scheduled =
            namespace_scheduled(false, &StoredPlacement::of(Some(r#"{"root+a+x":"Bound"}"#))).unwrap();
        let known = json!({"type": NAMESPACE_SCHEDULED, "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        assert_eq!(scheduled.to_json(Some(&known), now), known);
        let other = json!({"type": NAMESPACE_SCHEDULED, "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        assert_eq!(
            scheduled.to_json(Some(&other), now)["lastTransitionTime"],
            "2021-10-28T09:00:00Z"
        );
    }
}
