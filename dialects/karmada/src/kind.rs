//! The kinds of Karmada. Clusters, bindings and policies have Rust types, from which their schemas are
//! derived. The objects of other kinds are stored unchanged, so that all objects of a control plane can be
//! stored.

pub(crate) mod binding;
pub(crate) mod cluster;
mod cluster_rules;
pub(crate) mod placement;
pub(crate) mod policy;
mod policy_defaults;
mod policy_rules;
mod served;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use berth_apimachinery::Kind;

pub(crate) use served::WORK_VERSION;

/// All kinds that decisions read, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    served::decision_kinds()
}

/// All kinds that decisions do not read, in the order of discovery.
pub(crate) fn further() -> Vec<Arc<dyn Kind>> {
    served::further_kinds()
}
