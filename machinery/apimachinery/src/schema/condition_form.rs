//! `metav1.Condition` with the schema of CustomResourceDefinitions: every field except `observedGeneration`
//! is required. The type for parsing is more lenient ([`Condition`](super::types::Condition)).

#![expect(dead_code, reason = "the type is only the source of a schema")]

use schemars::JsonSchema;

use super::types::Time;

/// Pattern of the type: a name, with an optional domain and slash before it.
const TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// Pattern of the reason.
const REASON: &str = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// A condition of an object.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Condition", rename_all = "camelCase")]
pub struct ConditionForm {
    /// Time of the last change of the status from one value to another.
    last_transition_time: Time,
    /// A message for people that explains the status; may be empty.
    #[schemars(length(max = 32768))]
    message: String,
    /// The generation of the object for which the condition was computed.
    #[schemars(range(min = 0))]
    observed_generation: Option<i64>,
    /// The reason for the status, as a token in CamelCase.
    #[schemars(length(min = 1, max = 1024), regex(pattern = REASON))]
    reason: String,
    /// The status of the condition: True, False or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    status: String,
    /// The type of the condition, in CamelCase. A list has at most one condition of each type.
    #[schemars(length(max = 316), regex(pattern = TYPE))]
    r#type: String,
}
