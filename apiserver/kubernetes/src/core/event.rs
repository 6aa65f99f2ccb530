//! The kind Event in two APIs, `v1` and `events.k8s.io/v1`. Both APIs serve the same stored objects, whose
//! form is the form of `v1`.

mod convert;
mod row;
pub(crate) mod rules;

use berth_apimachinery::name::NameError;
use berth_apimachinery::{
    Definition, FieldError, GroupResource, Kind, KindInfo, Object, Schema, SelectableField, Write,
    described_by, name,
};
use schemars::JsonSchema;
use serde_json::Value;

use crate::core::service_account::Reference;
use crate::core::value;

/// API group `events.k8s.io`.
pub const GROUP: &str = "events.k8s.io";
/// Resource under which events of both APIs are stored.
pub const STORED: GroupResource = GroupResource::new("", "events");

/// The fields of an Event in `v1`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoreEventFields {
    /// The object that the event is about.
    pub involved_object: Option<Reference>,
    /// Reason of the event, as a word such as FailedScheduling.
    pub reason: Option<String>,
    /// Human-readable message.
    pub message: Option<String>,
    /// The component that reports the event.
    pub source: Option<Source>,
    /// Time of the first occurrence.
    #[schemars(extend("format" = "date-time"))]
    pub first_timestamp: Option<String>,
    /// Time of the last occurrence.
    #[schemars(extend("format" = "date-time"))]
    pub last_timestamp: Option<String>,
    /// Number of occurrences.
    pub count: Option<i32>,
    /// Type of the event: Normal or Warning.
    pub r#type: Option<String>,
    /// Time of the first occurrence, to the microsecond.
    #[schemars(extend("format" = "date-time"))]
    pub event_time: Option<String>,
    /// The series of a repeated event.
    pub series: Option<Series>,
    /// Action that was taken or failed, as a word such as Binding.
    pub action: Option<String>,
    /// A second object that the event is about.
    pub related: Option<Reference>,
    /// Name of the controller that reports the event, such as `example.com/controller`.
    pub reporting_component: Option<String>,
    /// Instance of the controller that reports the event.
    pub reporting_instance: Option<String>,
}

/// The fields of an Event in `events.k8s.io/v1`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventFields {
    /// Time of the first occurrence, to the microsecond. Required.
    #[schemars(extend("format" = "date-time"))]
    pub event_time: Option<String>,
    /// The series of a repeated event.
    pub series: Option<Series>,
    /// Name of the controller that reports the event, such as `example.com/controller`.
    pub reporting_controller: Option<String>,
    /// Instance of the controller that reports the event.
    pub reporting_instance: Option<String>,
    /// Action that was taken or failed, as a word such as Binding.
    pub action: Option<String>,
    /// Reason of the event, as a word such as FailedScheduling.
    pub reason: Option<String>,
    /// The object that the event is about.
    pub regarding: Option<Reference>,
    /// A second object that the event is about.
    pub related: Option<Reference>,
    /// Human-readable message of at most 1,024 bytes.
    pub note: Option<String>,
    /// Type of the event: Normal or Warning.
    pub r#type: Option<String>,
    /// The component that reports the event: the field `source` of `v1`.
    pub deprecated_source: Option<Source>,
    /// Time of the first occurrence: the field `firstTimestamp` of `v1`.
    #[schemars(extend("format" = "date-time"))]
    pub deprecated_first_timestamp: Option<String>,
    /// Time of the last occurrence: the field `lastTimestamp` of `v1`.
    #[schemars(extend("format" = "date-time"))]
    pub deprecated_last_timestamp: Option<String>,
    /// Number of occurrences: the field `count` of `v1`.
    pub deprecated_count: Option<i32>,
}

/// The component that reports an event.
#[derive(JsonSchema)]
pub struct Source {
    /// Name of the component.
    pub component: Option<String>,
    /// Name of the node on which the component runs.
    pub host: Option<String>,
}

/// Series of a repeated event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// Number of occurrences in the series.
    pub count: Option<i32>,
    /// Time of the last occurrence, to the microsecond.
    #[schemars(extend("format" = "date-time"))]
    pub last_observed_time: Option<String>,
}

/// The kind Event of `v1`.
#[derive(Clone, Copy, Debug)]
pub struct CoreEvent;

/// The kind Event of `events.k8s.io/v1`.
#[derive(Clone, Copy, Debug)]
pub struct Event;

/// Selectable fields: the path in the API, and the path in the stored form.
macro_rules! fields {
    ($($path:literal => $($names:literal).+),+ $(; $more:expr)?) => {
        &[
            $(SelectableField::computed($path, |event| value::text(event, &[$($names),+]).to_owned())),+
            $(, $more)?
        ]
    };
}

/// Selectable fields of `v1`.
const CORE_SELECTABLE: &[SelectableField] = fields![
        "involvedObject.kind" => "involvedObject"."kind",
        "involvedObject.namespace" => "involvedObject"."namespace",
        "involvedObject.name" => "involvedObject"."name",
        "involvedObject.uid" => "involvedObject"."uid",
        "involvedObject.apiVersion" => "involvedObject"."apiVersion",
        "involvedObject.resourceVersion" => "involvedObject"."resourceVersion",
        "involvedObject.fieldPath" => "involvedObject"."fieldPath",
        "reason" => "reason",
        "reportingComponent" => "reportingComponent",
        "type" => "type";
        // The source defaults to the reporting controller.
        SelectableField::computed("source", |event| row::component(event).to_owned())
];

/// Selectable fields of `events.k8s.io/v1`, with their paths in the stored form.
const EVENTS_SELECTABLE: &[SelectableField] = fields![
        "regarding.kind" => "involvedObject"."kind",
        "regarding.namespace" => "involvedObject"."namespace",
        "regarding.name" => "involvedObject"."name",
        "regarding.uid" => "involvedObject"."uid",
        "regarding.apiVersion" => "involvedObject"."apiVersion",
        "regarding.resourceVersion" => "involvedObject"."resourceVersion",
        "regarding.fieldPath" => "involvedObject"."fieldPath",
        "reason" => "reason",
        "reportingController" => "reportingComponent",
        "type" => "type"
];

static CORE: Definition = definition("", Schema::of::<CoreEventFields>, CORE_SELECTABLE);
static EVENTS: Definition = definition(GROUP, Schema::of::<EventFields>, EVENTS_SELECTABLE);

const fn definition(
    group: &'static str,
    schema: fn() -> Schema,
    selectable: &'static [SelectableField],
) -> Definition {
    Definition {
        columns: row::COLUMNS,
        selectable,
        ..Definition::new(
            KindInfo {
                singular: "event",
                short_names: &["ev"],
                unconditional_update: true,
                strategic_merge_patch: true,
                ..KindInfo::new(group, &["v1"], "Event", "events")
            },
            schema,
        )
    }
}

impl Kind for CoreEvent {
    described_by!(CORE);

    fn prepare(&self, _write: &Write<'_>, new: &mut Value) {
        rules::to_utc(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        rules::core_errors(write, new)
    }

    /// Accepts uppercase letters too, because older reporters name events after objects that may have them.
    fn validate_name(&self, name: &str) -> Result<(), NameError> {
        name::path_segment(name)
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn has_dependents(&self) -> bool {
        false
    }
}

impl Kind for Event {
    described_by!(EVENTS);

    fn prepare(&self, _write: &Write<'_>, new: &mut Value) {
        rules::to_utc(new);
    }

    fn validate(&self, write: &Write<'_>, new: &Value) -> Vec<FieldError> {
        // `new` is in the stored form, so the schema of `v1` applies.
        let mut errors = CoreEvent.schema("v1").validate(new);
        errors.extend(rules::events_api_errors(write, new));
        for error in &mut errors {
            error.path = convert::served_path(&error.path);
        }
        errors
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn has_dependents(&self) -> bool {
        false
    }

    fn stored_in(&self) -> GroupResource {
        STORED
    }

    fn to_stored(&self, _: &str, value: &mut Value) {
        convert::to_core(value);
    }

    fn to_served(&self, _: &str, object: &Object) -> Option<Value> {
        let mut value = object.parse();
        convert::to_new(&mut value);
        value["apiVersion"] = EVENTS.info.api_version("v1").into();
        Some(value)
    }
}

#[cfg(test)]
mod tests;
