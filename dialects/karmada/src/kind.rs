//! The kinds of Karmada. Clusters, bindings and policies have Rust types, from which their schemas are
//! derived. The objects of other kinds are stored unchanged, so that all objects of a control plane can be
//! read.

pub(crate) mod binding;
pub(crate) mod cluster;
mod cluster_rules;
pub(crate) mod placement;
pub(crate) mod policy;
mod policy_rules;
mod served;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use berth_apimachinery::Kind;

pub(crate) use served::WORK_VERSION;

/// Every kind that decisions read, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    served::decided()
}

/// Every kind that decisions do not read.
pub(crate) fn further() -> Vec<Arc<dyn Kind>> {
    served::kept()
}
