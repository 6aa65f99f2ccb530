//! `metav1.Condition`, an element of `status.conditions`.

use std::borrow::Cow;

use berth_apimachinery::{ConditionForm, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

/// One aspect of the current state of the object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Condition {
    pub(crate) r#type: Box<str>,
    pub(crate) status: Box<str>,
    pub(crate) observed_generation: Option<i64>,
    pub(crate) last_transition_time: Option<Timestamp>,
    pub(crate) reason: Box<str>,
    pub(crate) message: Box<str>,
}

impl JsonSchema for Condition {
    fn inline_schema() -> bool {
        ConditionForm::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        ConditionForm::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ConditionForm::json_schema(generator)
    }
}

impl Condition {
    /// The condition with this type in `conditions`.
    pub(crate) fn find<'a>(conditions: &'a [Self], r#type: &str) -> Option<&'a Self> {
        conditions.iter().find(|condition| *condition.r#type == *r#type)
    }
}
