//! The kinds of kcp that scheduling reads: one file each, with their types, rules and columns
//! (docs/systems/kcp.md, "API objects"). Namespaces are Kubernetes' own and served elsewhere.
//!
//! The types are read-only views: fields that matter are typed and documented, all others pass through
//! untouched.

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

/// Parses `value`. If its types are wrong, returns `Err`: without errors if the schema reports the problem
/// already, and with an error if only the parser finds it.
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
