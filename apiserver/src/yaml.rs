//! YAML of bodies, answers and files, with the feature `yaml`. Without it, a server speaks only JSON,
//! and refuses YAML.

use berth_apimachinery::Status;
use berth_apimachinery::json::Document;
use bytes::Bytes;
use serde_json::Value;

/// Whether YAML is read and written.
pub(crate) const SERVED: bool = cfg!(feature = "yaml");

/// Writes a value.
///
/// # Errors
/// When it cannot be written, which no value is known to cause.
#[cfg(feature = "yaml")]
pub(crate) fn write(value: &Value) -> Result<Bytes, Status> {
    let text = serde_saphyr::to_string(value).map_err(|problem| Status::internal(problem.to_string()))?;
    Ok(text.into())
}

/// Refuses: YAML is not supported here.
#[cfg(not(feature = "yaml"))]
pub(crate) fn write(_value: &Value) -> Result<Bytes, Status> {
    Err(Status::not_acceptable(&["application/json"]))
}

/// Reads one document.
///
/// # Errors
/// Its first problem, with line and column.
#[cfg(feature = "yaml")]
pub(crate) fn document(text: &str) -> Result<Document, String> {
    berth_yaml::document(text).map_err(|problem| problem.to_string())
}

/// Reads one document, which has to be JSON.
///
/// # Errors
/// Its first problem, with line and column.
#[cfg(not(feature = "yaml"))]
pub(crate) fn document(text: &str) -> Result<Document, String> {
    use berth_apimachinery::json::{self, Doubles};

    json::document(text.as_bytes(), Doubles::Whole)
        .map_err(|problem| format!("this server reads JSON alone, and this is none: {problem}"))
}

/// Reads one document without duplicate fields.
///
/// # Errors
/// Its first problem.
pub(crate) fn strict(text: &str) -> Result<Value, String> {
    let document = document(text)?;
    match document.duplicates.first() {
        Some(path) => Err(format!("duplicate field \"{path}\"")),
        None => Ok(document.value),
    }
}
