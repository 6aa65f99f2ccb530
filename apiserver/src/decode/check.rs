//! Checks of a decoded body before its content is used: the right kind, fields of the right types, and no
//! unknown or duplicate fields if the client requests this.

use berth_apimachinery::{Schema, Status, TypeMismatch, UnknownFields};
use serde_json::Value;

use crate::call::Warnings;
use crate::options::FieldValidation;

/// The group, version and kind that a body must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedType<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl ExpectedType<'_> {
    /// The version without the API group, for messages.
    fn version(&self) -> &str {
        self.api_version.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the error 400 for a body with `problem`.
    pub(crate) fn cannot_be_handled(&self, problem: &str) -> Status {
        let (kind, version) = (self.kind, self.version());
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {problem}"
        ))
    }
}

/// Checks that the body has the expected apiVersion and kind, and fills in a missing apiVersion or kind.
pub(crate) fn identify(value: &mut Value, expected: ExpectedType<'_>) -> Result<(), Status> {
    for (field, wanted, label) in [
        ("apiVersion", expected.api_version, "API version"),
        ("kind", expected.kind, "kind"),
    ] {
        match value.get(field) {
            None | Some(Value::Null) => value[field] = wanted.into(),
            Some(Value::String(have)) if have.is_empty() => value[field] = wanted.into(),
            Some(Value::String(have)) if have == wanted => {}
            Some(Value::String(have)) => {
                return Err(Status::bad_request(format!(
                    "the {label} in the data ({have}) does not match the expected {label} ({wanted})"
                )));
            }
            Some(other) => {
                return Err(expected
                    .cannot_be_handled(&format!("{field} must be a string, not {}", type_name(other))));
            }
        }
    }
    Ok(())
}

/// Type of a metadata field.
#[derive(Clone, Copy)]
enum Type {
    Text,
    Integer,
    Bool,
    Time,
    TextMap,
    TextList,
    Owners,
    Managers,
    Anything,
}

/// Fields of `metadata`.
const METADATA: [(&str, Type); 15] = [
    ("name", Type::Text),
    ("generateName", Type::Text),
    ("namespace", Type::Text),
    ("selfLink", Type::Text),
    ("uid", Type::Text),
    ("resourceVersion", Type::Text),
    ("generation", Type::Integer),
    ("creationTimestamp", Type::Time),
    ("deletionTimestamp", Type::Time),
    ("deletionGracePeriodSeconds", Type::Integer),
    ("labels", Type::TextMap),
    ("annotations", Type::TextMap),
    ("ownerReferences", Type::Owners),
    ("finalizers", Type::TextList),
    ("managedFields", Type::Managers),
];

/// Fields of an owner reference.
const OWNER: [(&str, Type); 6] = [
    ("apiVersion", Type::Text),
    ("kind", Type::Text),
    ("name", Type::Text),
    ("uid", Type::Text),
    ("controller", Type::Bool),
    ("blockOwnerDeletion", Type::Bool),
];

/// Fields of an entry of `managedFields`.
const MANAGER: [(&str, Type); 7] = [
    ("manager", Type::Text),
    ("operation", Type::Text),
    ("apiVersion", Type::Text),
    ("time", Type::Time),
    ("fieldsType", Type::Text),
    ("fieldsV1", Type::Anything),
    ("subresource", Type::Text),
];

/// Checks the types of all fields of `value` by `schema`. In kube-apiserver, parsing into the Go type of the
/// kind is this check.
///
/// # Errors
/// 400 naming the first field of a wrong type.
pub(crate) fn own_types(value: &Value, schema: &Schema, expected: ExpectedType<'_>) -> Result<(), Status> {
    match schema.mistyped(value) {
        None => Ok(()),
        Some(TypeMismatch { path, have, want }) => Err(expected.cannot_be_handled(&format!(
            "json: cannot unmarshal {have} into field {path} of type {want}"
        ))),
    }
}

/// Checks the types of the metadata fields. `null` fields must be removed before.
///
/// # Errors
/// 400 naming the first field of a wrong type.
pub(crate) fn metadata_types(value: &Value, expected: ExpectedType<'_>) -> Result<(), Status> {
    let fields = match value.get("metadata") {
        None => return Ok(()),
        Some(Value::Object(fields)) => fields,
        Some(other) => return Err(type_error(expected, "metadata", "an object", other)),
    };
    for (name, kind) in METADATA {
        if let Some(value) = fields.get(name) {
            has_type(value, kind, &format!("metadata.{name}"), expected)?;
        }
    }
    Ok(())
}

fn has_type(value: &Value, kind: Type, path: &str, expected: ExpectedType<'_>) -> Result<(), Status> {
    let (fits, wanted) = match kind {
        Type::Text => (value.is_string(), "a string"),
        Type::Integer => (value.is_i64(), "an integer"),
        Type::Bool => (value.is_boolean(), "a boolean"),
        Type::Time => (
            value
                .as_str()
                .is_some_and(|text| berth_apimachinery::time::parse(text).is_some()),
            "an RFC 3339 time",
        ),
        Type::TextMap => (value.is_object(), "an object"),
        Type::TextList | Type::Owners | Type::Managers => (value.is_array(), "an array"),
        Type::Anything => (true, ""),
    };
    if !fits {
        return Err(type_error(expected, path, wanted, value));
    }
    match (kind, value) {
        (Type::TextMap, Value::Object(entries)) => entries
            .iter()
            .try_for_each(|(key, value)| has_type(value, Type::Text, &format!("{path}.{key}"), expected)),
        (Type::TextList, Value::Array(items)) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| has_type(item, Type::Text, &format!("{path}[{index}]"), expected)),
        (Type::Owners, Value::Array(items)) => entries(items, &OWNER, path, expected),
        (Type::Managers, Value::Array(items)) => entries(items, &MANAGER, path, expected),
        _ => Ok(()),
    }
}

/// Checks the elements of a list of objects whose fields have `types`. A `null` field counts as absent.
fn entries(
    items: &[Value],
    types: &[(&str, Type)],
    path: &str,
    expected: ExpectedType<'_>,
) -> Result<(), Status> {
    for (index, item) in items.iter().enumerate() {
        let Some(fields) = item.as_object() else {
            return Err(type_error(
                expected,
                &format!("{path}[{index}]"),
                "an object",
                item,
            ));
        };
        for (name, kind) in types {
            if let Some(value) = fields.get(*name).filter(|value| !value.is_null()) {
                has_type(value, *kind, &format!("{path}[{index}].{name}"), expected)?;
            }
        }
    }
    Ok(())
}

/// Returns the error 400 for the field at `path`, which has the type of `have` instead of `wanted`.
fn type_error(expected: ExpectedType<'_>, path: &str, wanted: &str, have: &Value) -> Status {
    let have = type_name(have);
    expected.cannot_be_handled(&format!(
        "json: cannot unmarshal {have} into field {path}: it must be {wanted}"
    ))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Highest number of fields that one check reports: unknown fields of a body, or problems in the text of a
/// JSON patch.
pub(crate) const MAX_REPORTED: usize = 100;

/// Messages about duplicate fields at `paths`.
pub(crate) fn duplicate_fields(paths: &[String]) -> Vec<String> {
    paths
        .iter()
        .map(|path| format!("duplicate field \"{path}\""))
        .collect()
}

/// Reports `text_problems` (such as duplicate fields) and unknown fields according to `validation`: as
/// warnings, as an error that begins with "strict decoding error: ", or not at all. As in kube-apiserver,
/// unknown fields come first for kinds with a Go type (`has_own_type`), whose parser finds them, and last for
/// custom resources.
pub(crate) fn check_fields(
    has_own_type: bool,
    validation: FieldValidation,
    unknown: impl FnOnce() -> UnknownFields,
    text_problems: Vec<String>,
    warnings: &Warnings,
) -> Result<(), String> {
    if validation == FieldValidation::Ignore {
        return Ok(());
    }
    let UnknownFields { paths, more } = unknown();
    let unknown = paths.into_iter().map(|path| format!("unknown field \"{path}\""));
    let unknown: Vec<String> = unknown.collect();
    let mut problems = match has_own_type {
        true => [unknown, text_problems].concat(),
        false => [text_problems, unknown].concat(),
    };
    match validation {
        FieldValidation::Strict if !problems.is_empty() => {
            if more > 0 {
                problems.push(format!("and {more} more unknown fields"));
            }
            Err(format!("strict decoding error: {}", problems.join(", ")))
        }
        _ => {
            problems.into_iter().for_each(|problem| warnings.add(problem));
            warnings.add_more(more);
            Ok(())
        }
    }
}
