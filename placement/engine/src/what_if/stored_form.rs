//! The stored form of an object: conversion to it, and errors in it.

use berth_apimachinery::{FieldError, FieldErrorKind, Kind, Timestamp, Write, WriteOperation};
use serde_json::Value;

/// Converts `value` from `version` to the stored form of its `kind`, with all defaults.
pub(super) fn convert_to_stored(kind: &dyn Kind, version: &str, value: &mut Value, now: Timestamp) {
    let info = kind.info();
    kind.to_stored(version, value);
    value["apiVersion"] = info.api_version(info.storage_version).into();
    kind.schema(info.storage_version).default(value);
    // The object is prepared as an update of itself: rules for new objects would reset fields of its state
    // (taint times, status).
    let old = value.clone();
    let write = Write {
        operation: WriteOperation::Update,
        old: Some(&old),
        now,
    };
    kind.prepare(&write, value);
}

/// Errors of `value`, which has its stored form, against the schema and the name rules of its `kind`.
pub(super) fn form_errors(kind: &dyn Kind, value: &Value) -> Vec<FieldError> {
    let mut errors = kind.schema(kind.info().storage_version).validate(value);
    errors.retain(|error| !is_missing_in_status(error));
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    if let Err(problem) = kind.validate_name(name) {
        errors.push(FieldError::invalid("metadata.name", name, problem));
    }
    errors
}

/// Errors of `value` by the rules of its `kind`. A new object is checked as in a create, and another object as
/// in an update of itself: compared with the file, fields that the kind's preparation sets would look like
/// changes.
pub(super) fn rule_errors(kind: &dyn Kind, value: &Value, is_new: bool, now: Timestamp) -> Vec<FieldError> {
    let write = match is_new {
        true => Write {
            operation: WriteOperation::Create,
            old: None,
            now,
        },
        false => Write {
            operation: WriteOperation::Update,
            old: Some(value),
            now,
        },
    };
    kind.validate(&write, value)
}

/// Whether the error is that a field directly in `status` is missing, which a controller would write. A file
/// may leave out such a part of the status. An entry of a list that is there must be whole.
fn is_missing_in_status(error: &FieldError) -> bool {
    let field = error.path.strip_prefix("status.");
    error.kind == FieldErrorKind::Required && field.is_some_and(|field| !field.contains(['.', '[']))
}

/// Whether a server has stored `value` already, according to the server's fields in it.
pub(super) fn was_stored(value: &Value) -> bool {
    let written = ["uid", "resourceVersion", "creationTimestamp", "generation"];
    value.get("status").is_some() || written.iter().any(|field| value["metadata"].get(field).is_some())
}
