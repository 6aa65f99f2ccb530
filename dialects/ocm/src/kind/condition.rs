//! `metav1.Condition`, as every status here uses it.

use meta::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::QUALIFIED_NAME;

/// One aspect of the current state of the object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["lastTransitionTime", "message", "reason", "status", "type"]))]
pub(crate) struct Condition {
    /// The type of the condition, in CamelCase, possibly with a domain before it.
    #[schemars(length(max = 316), regex(pattern = QUALIFIED_NAME))]
    pub(crate) r#type: Box<str>,
    /// True, False or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub(crate) status: Box<str>,
    /// The generation of the object the condition was made for.
    #[schemars(range(min = 0))]
    pub(crate) observed_generation: Option<i64>,
    /// The instant of the last change of status.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub(crate) last_transition_time: Option<Timestamp>,
    /// A CamelCase token that says why the condition has its status.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    )]
    pub(crate) reason: Box<str>,
    /// A sentence for people with the details.
    #[schemars(length(max = 32768))]
    pub(crate) message: Box<str>,
}

impl Condition {
    /// The condition of `conditions` with this type.
    pub(crate) fn find<'a>(conditions: &'a [Self], r#type: &str) -> Option<&'a Self> {
        conditions.iter().find(|condition| *condition.r#type == *r#type)
    }
}
