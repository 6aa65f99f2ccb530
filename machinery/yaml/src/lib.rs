//! Parser that converts YAML to JSON values as kubectl and kube-apiserver do (docs/concepts.md, "YAML").
//!
//! kubectl and kube-apiserver use a parser of YAML 1.1 that resolves scalars in its own way (`yes` is true,
//! `017` is fifteen, a date is a text), so a crate for YAML 1.2 parses the same file differently. This crate
//! uses an event parser for the syntax, and resolves the values itself.
#![doc = include_str!("../README.md")]

mod build;
mod scalar;
mod stream;
mod tabs;
mod text;

#[cfg(test)]
mod tests;

use berth_apimachinery::json::Document;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use stream::documents;
pub use text::decode;

/// Reason why a text is not YAML or has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {text}")]
pub struct Problem {
    /// Line number, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Description of the problem.
    pub text: String,
}

/// Parses a text with one document.
///
/// # Errors
/// The first problem; a second document is a problem.
pub fn document(text: &str) -> Result<Document, Problem> {
    build::document(text, 0)
}

/// Parses a text with one document, and ignores duplicate fields.
///
/// # Errors
/// The first problem.
pub fn value(text: &str) -> Result<Value, Problem> {
    document(text).map(|document| document.value)
}

/// Parses a text with one document, as a `T`. A duplicate field is a problem.
///
/// # Errors
/// The first problem of the text, or of its conversion to `T`.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let document = document(text).map_err(|problem| problem.to_string())?;
    match document.duplicates.first() {
        Some(path) => Err(format!("duplicate field \"{path}\"")),
        None => serde_json::from_value(document.value).map_err(|error| error.to_string()),
    }
}
