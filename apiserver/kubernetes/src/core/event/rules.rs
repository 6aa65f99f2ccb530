//! Validation of Events. The paths of errors are paths of the stored form, which is `v1`.

use berth_apimachinery::{FieldError, Write, name};
use serde_json::Value;

use crate::core::micro_time;
use crate::core::value::text;

const REASON_LIMIT: usize = 128;
const NOTE_LIMIT: usize = 1024;

/// Returns the errors of an event of `v1`. Older reporters may omit most fields; an event with eventTime also
/// needs its reporter, action and reason.
pub(crate) fn core_errors(write: &Write<'_>, new: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = namespace_error(new).into_iter().collect();
    errors.extend(micro_time::problems(&MICRO_TIMES, new));
    if !text(new, &["eventTime"]).is_empty() {
        errors.extend(report_errors(write, new));
    }
    errors
}

/// Returns the errors of an event of `events.k8s.io/v1`.
pub(crate) fn events_api_errors(write: &Write<'_>, new: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = namespace_error(new).into_iter().collect();
    errors.extend(micro_time::problems(&MICRO_TIMES, new));
    if write.old.is_none_or(|old| old["series"] != new["series"]) {
        errors.extend(series_errors(new));
    }
    let Some(old) = write.old else {
        if text(new, &["eventTime"]).is_empty() {
            errors.push(FieldError::required("eventTime", ""));
        }
        errors.extend(report_errors(write, new));
        let kind = text(new, &["type"]);
        if !["Normal", "Warning"].contains(&kind) {
            errors.push(FieldError::not_supported("type", kind, &["Normal", "Warning"]));
        }
        for field in ["source", "firstTimestamp", "lastTimestamp", "count"] {
            if new.get(field).is_some_and(is_set) {
                errors.push(FieldError::invalid(
                    field,
                    new[field].clone(),
                    "needs to be unset",
                ));
            }
        }
        return errors;
    };
    let frozen = [
        "involvedObject",
        "reason",
        "message",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
    ];
    let unset = |value: &Value| !is_set(value);
    for field in frozen {
        let (before, after) = (&old[field], &new[field]);
        if before != after && !(unset(before) && unset(after)) {
            errors.push(FieldError::invalid(field, after.clone(), "field is immutable"));
        }
    }
    errors
}

/// Errors of a series, which must have at least two events and the time of the last event.
fn series_errors(new: &Value) -> Vec<FieldError> {
    let Some(series) = new.get("series").filter(|series| series.is_object()) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
        errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
    }
    if text(series, &["lastObservedTime"]).is_empty() {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

/// Paths of the `metav1.MicroTime` fields.
const MICRO_TIMES: [&[&str]; 2] = [&["eventTime"], &["series", "lastObservedTime"]];

/// Converts the times to UTC, the served form.
pub(crate) fn to_utc(new: &mut Value) {
    micro_time::to_utc(&MICRO_TIMES, new);
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        Value::Object(fields) => fields.values().any(is_set),
        Value::Bool(_) | Value::Array(_) => true,
    }
}

/// Error of an event in the wrong namespace. An event with eventTime may be in another namespace than its
/// object, and is in `default` or `kube-system` if the object is cluster-scoped. An older event is in the
/// namespace of its object, or in `default`.
fn namespace_error(new: &Value) -> Option<FieldError> {
    let event_namespace = text(new, &["metadata", "namespace"]);
    let object_namespace = text(new, &["involvedObject", "namespace"]);
    let has_time = !text(new, &["eventTime"]).is_empty();
    let fits = match object_namespace {
        "" if has_time => ["default", "kube-system"].contains(&event_namespace),
        "" => ["", "default"].contains(&event_namespace),
        object_namespace => has_time || object_namespace == event_namespace,
    };
    (!fits).then(|| {
        FieldError::invalid(
            "involvedObject.namespace",
            object_namespace,
            "does not match event.namespace",
        )
    })
}

/// Errors of the reporter, action, reason and note of an event with eventTime.
fn report_errors(write: &Write<'_>, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let controller = text(new, &["reportingComponent"]);
    if controller.is_empty() {
        errors.push(FieldError::required("reportingComponent", ""));
    } else if let Err(problem) = check_qualified_name(controller) {
        errors.push(FieldError::invalid("reportingComponent", controller, problem));
    }
    for (field, required) in [
        ("reportingInstance", true),
        ("action", write.old.is_none()),
        ("reason", true),
    ] {
        let value = text(new, &[field]);
        if value.is_empty() && required {
            errors.push(FieldError::required(field, ""));
        } else if value.len() > REASON_LIMIT {
            errors.push(FieldError::too_long(field, REASON_LIMIT));
        }
    }
    if text(new, &["message"]).len() > NOTE_LIMIT {
        errors.push(FieldError::too_long("message", NOTE_LIMIT));
    }
    errors
}

/// Checks that `text` has the form of a label key: `[prefix/]name`.
pub(crate) fn check_qualified_name(text: &str) -> Result<(), String> {
    let name = match text.split_once('/') {
        Some((prefix, name)) => {
            name::dns_subdomain(prefix).map_err(|problem| format!("prefix part {problem}"))?;
            name
        }
        None => text,
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = name
        .bytes()
        .next()
        .into_iter()
        .chain(name.bytes().last())
        .all(|byte| byte.is_ascii_alphanumeric());
    if name.is_empty() || name.len() > 63 || !ends || !name.bytes().all(allowed) {
        return Err("name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                    an alphanumeric character, at most 63 of them"
            .to_owned());
    }
    Ok(())
}
