//! YAML of bodies, answers and files, with the feature `yaml`. Without the feature, a server supports only
//! JSON, and rejects YAML.

use berth_apimachinery::Status;
use berth_apimachinery::json::Document;
use bytes::Bytes;
use serde_json::Value;

/// Whether YAML is supported.
pub(crate) const SUPPORTED: bool = cfg!(feature = "yaml");

/// Serializes a value as YAML.
///
/// # Errors
/// Status 500 when the value cannot be serialized.
#[cfg(feature = "yaml")]
pub(crate) fn write(value: &Value) -> Result<Bytes, Status> {
    let text = serde_saphyr::to_string(value).map_err(|problem| Status::internal(problem.to_string()))?;
    Ok(text.into())
}

/// Rejects YAML, which this build does not support.
#[cfg(not(feature = "yaml"))]
pub(crate) fn write(_value: &Value) -> Result<Bytes, Status> {
    Err(Status::not_acceptable(&["application/json"]))
}

/// Parses one document.
///
/// # Errors
/// The document's first problem, with line and column.
#[cfg(feature = "yaml")]
pub(crate) fn document(text: &str) -> Result<Document, String> {
    berth_yaml::document(text).map_err(|problem| problem.to_string())
}

/// Parses one document, which must be JSON.
///
/// # Errors
/// The first problem of the JSON text, with line and column.
#[cfg(not(feature = "yaml"))]
pub(crate) fn document(text: &str) -> Result<Document, String> {
    use berth_apimachinery::json::{self, Doubles};

    json::document(text.as_bytes(), Doubles::AsInteger)
        .map_err(|problem| format!("this server is built without YAML and reads only JSON: {problem}"))
}

/// Parses one document, and rejects duplicate fields.
///
/// # Errors
/// The document's first problem: with line and column, or the path of a duplicate field.
pub(crate) fn strict(text: &str) -> Result<Value, String> {
    let document = document(text)?;
    match document.duplicates.first() {
        Some(path) => Err(format!("duplicate field \"{path}\"")),
        None => Ok(document.value),
    }
}
