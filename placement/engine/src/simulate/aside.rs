//! Objects to place that were set aside.

use std::sync::Arc;

use berth_apimachinery::{FieldError, Key};
use berth_dialect_contract::{Dialect, names};
use serde_json::Value;

/// An object that would be placed, but that no server would accept. It gets no decision.
#[derive(Clone)]
pub struct Aside {
    /// The dialect of the object.
    pub dialect: Arc<dyn Dialect>,
    /// The object's key; the name may be missing.
    pub demand: Key,
    /// The object's labels in the input, or null.
    pub labels: Value,
    /// The apiVersion in the input.
    pub api_version: String,
    /// The object's kind.
    pub kind: &'static str,
    /// Place of the object in the input: a file and a document, in words.
    pub at: String,
    /// All problems of the object.
    pub errors: Vec<FieldError>,
}

impl Aside {
    /// Namespace and name of the decision, which are the sort key of the output.
    #[must_use]
    pub fn place(&self) -> (String, String) {
        names::place(&*self.dialect, &self.demand)
    }

    /// All problems and the place of the object, as one sentence.
    #[must_use]
    pub fn message(&self) -> String {
        format!(
            "a server would refuse it ({}): {}",
            self.at,
            berth_apimachinery::field::aggregate(&self.errors)
        )
    }
}
