//! YAML as kubectl and kube-apiserver read it: documents in, JSON values out (docs/concepts.md, "YAML").
//!
//! Both go through a reader of YAML 1.1 that resolves scalars in its own way (`yes` is true, `017` is
//! fifteen, a date is a text), so a crate for YAML 1.2 reads the same file differently. Here a parser
//! of events does the syntax, and this crate the meaning.
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

/// Text that is not YAML, or has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {text}")]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The fault there, in words.
    pub text: String,
}

/// Reads a text that is one document.
///
/// # Errors
/// The first problem; a second document is one.
pub fn document(text: &str) -> Result<Document, Problem> {
    build::document(text, 0)
}

/// Reads a text of one document, and ignores duplicate fields.
///
/// # Errors
/// The first problem.
pub fn value(text: &str) -> Result<Value, Problem> {
    document(text).map(|document| document.value)
}

/// Reads a text of one document, as a `T`, without duplicate fields.
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
