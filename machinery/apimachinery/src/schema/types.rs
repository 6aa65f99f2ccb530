//! Common types for the fields of many kinds, with Kubernetes' schemas.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::quantity;
use jiff::Timestamp;

use crate::time;

/// An instant in the form of `metav1.Time`: RFC 3339 in UTC, serialized in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Time(pub Timestamp);

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::rfc3339(self.0))
    }
}

/// An instant in the form of `metav1.MicroTime`: RFC 3339 in UTC, serialized with six digits of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct MicroTime(pub Timestamp);

impl Serialize for MicroTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::rfc3339_micro(self.0))
    }
}

/// A number or a text, such as a port or a percentage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number, such as a port.
    Int(i64),
    /// A text, such as a percentage.
    Text(String),
}

/// A quantity (`500m`, `2Gi`) in an object: a string or a plain number, parsed by [`QuantityText::parse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum QuantityText {
    /// A string, such as `500m`.
    Text(String),
    /// A plain number.
    Number(serde_json::Number),
}

impl QuantityText {
    /// Parses the quantity.
    ///
    /// # Errors
    /// When the text or number is not a quantity.
    pub fn parse(&self) -> Result<quantity::Quantity, quantity::QuantityError> {
        match self {
            Self::Text(text) => quantity::Quantity::parse(text),
            Self::Number(number) => quantity::Quantity::parse(&number.to_string()),
        }
    }
}

macro_rules! inline_schema {
    ($type:ty, $name:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> schemars::Schema {
                json_schema!($schema)
            }
        }
    };
}

inline_schema!(Time, "Time", {"type": "string", "format": "date-time"});
inline_schema!(MicroTime, "MicroTime", {"type": "string", "format": "date-time"});
inline_schema!(IntOrString, "IntOrString", {"x-kubernetes-int-or-string": true});
inline_schema!(QuantityText, "Quantity", {
    "x-kubernetes-int-or-string": true,
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
});

/// `metav1.Condition`: a condition of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Time of the last change of the status from one value to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// A message for people that explains the status; may be empty.
    #[serde(default)]
    #[schemars(length(max = 32768))]
    pub message: String,
    /// The generation of the object for which the condition was computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// The reason for the status, as a token in CamelCase.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub reason: String,
    /// The status of the condition: True, False or Unknown.
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: String,
    /// The type of the condition, in CamelCase. A list has at most one condition of each type.
    #[serde(rename = "type")]
    #[schemars(length(max = 316))]
    pub r#type: String,
}

impl Condition {
    /// Whether the status is `True`.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }
}

/// Returns the condition of the type `type`, if the list has one.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], r#type: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == r#type)
}

/// `core/v1` ObjectReference: a reference to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectReference {
    /// The API version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// A part of the object, such as `spec.containers{name}`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// The kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace of the object; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The resource version of the object at the time of the reference.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}
