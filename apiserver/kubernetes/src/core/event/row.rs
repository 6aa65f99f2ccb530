//! How an Event is shown: `LAST SEEN TYPE REASON OBJECT MESSAGE`, more with `-o wide`.

use berth_apimachinery::{Cell, Column, Object};
use serde_json::Value;

use crate::core::value::{instant, text};

/// The columns. An event's name says nothing, so it comes last.
pub(crate) const COLUMNS: &[Column] = &[
    Column::text("Last Seen", "The time since it was last seen"),
    Column::text("Type", "Normal or Warning"),
    Column::text("Reason", "Why it happened"),
    Column::text("Object", "What it is about"),
    Column::text("Subobject", "The part of the object it is about").wide(),
    Column::text("Source", "Who reports it").wide(),
    Column::text("Message", "What happened"),
    Column::text("First Seen", "The time since it was first seen").wide(),
    Column::text("Count", "How often it was seen").wide(),
    Column::NAME.wide(),
];

/// The reporting component: the source's, or the reporting controller.
pub(crate) fn component(event: &Value) -> &str {
    match text(event, &["source", "component"]) {
        "" => text(event, &["reportingComponent"]),
        component => component,
    }
}

/// The cells of a stored event.
pub(crate) fn cells(object: &Object) -> Vec<Cell> {
    let event = object.value();
    let first = instant(event, &["firstTimestamp"]).or_else(|| instant(event, &["eventTime"]));
    let mut last = instant(event, &["lastTimestamp"]).or(first);
    let mut count = event["count"].as_i64().filter(|&count| count != 0).unwrap_or(1);
    if event["series"].is_object() {
        last = instant(event, &["series", "lastObservedTime"]);
        count = event["series"]["count"].as_i64().unwrap_or_default();
    }
    vec![
        Cell::Age(last),
        text(event, &["type"]).into(),
        text(event, &["reason"]).into(),
        target(event).into(),
        text(event, &["involvedObject", "fieldPath"]).into(),
        source(event).into(),
        text(event, &["message"]).trim().into(),
        Cell::Age(first),
        Cell::Value(count.into()),
        object.meta().name().into(),
    ]
}

fn target(event: &Value) -> String {
    let kind = text(event, &["involvedObject", "kind"]).to_lowercase();
    match text(event, &["involvedObject", "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(event: &Value) -> String {
    let controller = text(event, &["reportingComponent"]);
    let component = if controller.is_empty() {
        text(event, &["source", "component"])
    } else {
        controller
    };
    let instance = text(event, &["reportingInstance"]);
    let host = if instance.is_empty() {
        text(event, &["source", "host"])
    } else {
        instance
    };
    if host.is_empty() {
        component.to_owned()
    } else {
        format!("{component}, {host}")
    }
}
