//! The kinds of `clusters.openmcp.cloud/v1alpha1`, one file each, with their types, rules and columns
//! (docs/systems/openmcp.md, "API objects"). The types are read-only views; unknown fields pass through
//! untouched.

pub mod access_request;
pub mod cluster;
pub mod cluster_profile;
pub mod cluster_request;
pub mod permissions;

use std::sync::Arc;

use berth_apimachinery::Kind;

/// The kinds that decisions read, and ClusterProfile, in the order of discovery.
#[must_use]
pub fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(cluster_profile::ClusterProfileKind),
        Arc::new(cluster_request::ClusterRequestKind),
        Arc::new(cluster::ClusterKind),
    ]
}

/// Further kinds that decisions do not read, but that the system's own programs use.
#[must_use]
pub fn further() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(access_request::AccessRequestKind)]
}

#[cfg(test)]
mod tests;
