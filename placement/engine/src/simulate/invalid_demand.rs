//! Demands of an input that are invalid, and therefore set aside.

use std::sync::Arc;

use berth_apimachinery::{FieldError, Key};
use berth_dialect_contract::{Dialect, names};
use serde_json::Value;

/// A demand that no server would accept. It is set aside and gets no decision.
#[derive(Clone)]
pub struct InvalidDemand {
    /// The dialect that would place the object.
    pub dialect: Arc<dyn Dialect>,
    /// The object's key; the name may be missing.
    pub demand: Key,
    /// The object's labels in the input, or null.
    pub labels: Value,
    /// The apiVersion in the input.
    pub api_version: String,
    /// The object's kind.
    pub kind: &'static str,
    /// Position of the object in the input: a file and a document, in words.
    pub at: String,
    /// All problems of the object.
    pub errors: Vec<FieldError>,
}

impl InvalidDemand {
    /// Namespace and name of the decision, which are the sort key of the output.
    #[must_use]
    pub fn place(&self) -> (String, String) {
        names::place(&*self.dialect, &self.demand)
    }

    /// One sentence with all problems and the position of the object.
    #[must_use]
    pub fn message(&self) -> String {
        format!(
            "a server would refuse it ({}): {}",
            self.at,
            berth_apimachinery::field::aggregate(&self.errors)
        )
    }
}
