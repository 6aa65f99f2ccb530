//! Table of Events: `LAST SEEN TYPE REASON OBJECT MESSAGE`, and further columns with `-o wide`.

use berth_apimachinery::{Cell, Column, Object, Timestamp};
use serde_json::Value;

use crate::core::value::{instant, text};

/// Columns of the table. The name of an event is generated and says little, so it comes last.
pub(crate) const COLUMNS: &[Column] = &[
    Column::text("Last Seen", "The time since the last occurrence").computed(last_seen),
    Column::text("Type", "Normal or Warning").at(".type"),
    Column::text("Reason", "The reason of the event").at(".reason"),
    Column::text("Object", "The object of the event").computed(involved_object),
    Column::text("Subobject", "The part of the object to which the event refers")
        .at(".involvedObject.fieldPath")
        .wide(),
    Column::text("Source", "The component that reports the event")
        .computed(source)
        .wide(),
    Column::text("Message", "The message of the event")
        .computed(|event| text(event.value(), &["message"]).trim().into()),
    Column::text("First Seen", "The time since the first occurrence")
        .computed(|event| Cell::Age(first_seen(event.value())))
        .wide(),
    Column::text("Count", "Number of occurrences")
        .computed(count)
        .wide(),
    Column::NAME.wide(),
];

/// The reporting component: the component of the source, or otherwise the reporting controller.
pub(crate) fn component(event: &Value) -> &str {
    match text(event, &["source", "component"]) {
        "" => text(event, &["reportingComponent"]),
        component => component,
    }
}

fn first_seen(event: &Value) -> Option<Timestamp> {
    instant(event, &["firstTimestamp"]).or_else(|| instant(event, &["eventTime"]))
}

fn last_seen(event: &Object) -> Cell {
    let event = event.value();
    Cell::Age(match event["series"].is_object() {
        true => instant(event, &["series", "lastObservedTime"]),
        false => instant(event, &["lastTimestamp"]).or_else(|| first_seen(event)),
    })
}

fn count(event: &Object) -> Cell {
    let event = event.value();
    let count = match event["series"].is_object() {
        true => event["series"]["count"].as_i64().unwrap_or_default(),
        false => event["count"].as_i64().filter(|&count| count != 0).unwrap_or(1),
    };
    Cell::Value(count.into())
}

fn involved_object(event: &Object) -> Cell {
    let event = event.value();
    let kind = text(event, &["involvedObject", "kind"]).to_lowercase();
    match text(event, &["involvedObject", "name"]) {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

fn source(event: &Object) -> Cell {
    let event = event.value();
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
        component.into()
    } else {
        format!("{component}, {host}").into()
    }
}
