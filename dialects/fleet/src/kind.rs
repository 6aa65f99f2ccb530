//! The kinds of KubeFleet that Berth serves where it stores the objects. A cluster-scoped kind and its
//! namespaced form are in one file. Schemas and parsed objects come from the same types.

mod binding;
mod member_cluster;
mod placement;
mod placement_status;
mod policy;
mod policy_rules;
mod property;
mod rollout;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use berth_apimachinery::{Key, Kind, Object};

pub(crate) use binding::{Binding, BindingSpec, ClusterDecision, ClusterScore, State};
pub(crate) use member_cluster::{MemberCluster, MemberClusterStatus, PropertyValue, Taint};
pub(crate) use placement::{NAMESPACE_ACCESSIBLE, Placement};
pub(crate) use policy::{
    ClusterSelectorTerm, PlacementPolicy, PlacementType, PropertyRequirement, Toleration,
};
pub(crate) use snapshot::{PolicySnapshot, PolicySnapshotStatus};

/// Every kind that decisions read, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(member_cluster::MemberClusterKind),
        Arc::new(binding::OF_HUB),
        Arc::new(placement::OF_HUB),
        Arc::new(snapshot::OF_HUB),
        Arc::new(binding::OF_NAMESPACE),
        Arc::new(placement::OF_NAMESPACE),
        Arc::new(snapshot::OF_NAMESPACE),
    ]
}

/// Every kind that decisions do not read.
pub(crate) fn further() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(placement_status::PlacementReportKind)]
}

/// Parses `object`, or returns a sentence with the reason why it cannot be parsed.
pub(crate) fn view<T: serde::de::DeserializeOwned>(key: &Key, object: &Object) -> Result<T, String> {
    object
        .view()
        .map_err(|error| format!("{key} is left out: {error}"))
}
