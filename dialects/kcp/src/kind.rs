//! The kinds of kcp that scheduling reads: one file each, with their types, rules and columns
//! (docs/systems/kcp.md, "API objects"). Namespaces are Kubernetes' own and served elsewhere.
//!
//! The types are read-only views of objects: they have the fields that Berth reads. All other fields are
//! stored unchanged.

pub mod location;
pub mod workload_cluster;

use std::sync::Arc;

use berth_apimachinery::{FieldError, Kind, Schema};
use serde::Deserialize;
use serde_json::Value;

/// Every kind, in the order of discovery.
#[must_use]
pub fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(location::LocationKind),
        Arc::new(workload_cluster::WorkloadClusterKind),
    ]
}

/// Parses `value`.
///
/// # Errors
/// When a field has the wrong type: the parser's error, or no error if the schema reports the problem
/// already.
fn view<'a, T: Deserialize<'a>>(schema: &Schema, value: &'a Value) -> Result<T, Vec<FieldError>> {
    T::deserialize(value).map_err(|error| {
        if schema.validate(value).is_empty() {
            vec![FieldError::invalid("", Value::Null, error.to_string())]
        } else {
            Vec::new()
        }
    })
}

#[cfg(test)]
mod tests;
