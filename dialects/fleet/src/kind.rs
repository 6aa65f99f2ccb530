//! The kinds of KubeFleet that Berth serves if it stores the objects. A cluster-scoped kind and its
//! namespaced form are in one file. The types of this module define the schemas, and parse the objects.

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
    ClusterAffinity, ClusterSelectorTerm, PlacementPolicy, PlacementType, PropertyRequirement, Toleration,
};
pub(crate) use snapshot::{PolicySnapshot, PolicySnapshotStatus};

/// The kinds that decisions read, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(member_cluster::MemberClusterKind),
        Arc::new(binding::CLUSTER_SCOPED),
        Arc::new(placement::CLUSTER_SCOPED),
        Arc::new(snapshot::CLUSTER_SCOPED.kind()),
        Arc::new(binding::NAMESPACED),
        Arc::new(placement::NAMESPACED),
        Arc::new(snapshot::NAMESPACED.kind()),
    ]
}

/// The kinds that Berth serves, but decisions do not read.
pub(crate) fn further() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(placement_status::DEFINITION.kind())]
}

/// Parses the object at `key` as a `T`.
///
/// # Errors
/// A sentence with the reason why the object cannot be parsed.
pub(crate) fn view<T: serde::de::DeserializeOwned>(key: &Key, object: &Object) -> Result<T, String> {
    object
        .view()
        .map_err(|error| format!("{key} is left out: {error}"))
}
