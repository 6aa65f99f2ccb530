//! The kinds of Open Cluster Management, which Berth serves if it stores the objects; one file per kind.
//! Schemas and parsed objects come from the same types.

mod addon_placement_score;
mod cluster_claim;
mod condition;
mod coordinate;
mod group_size;
mod managed_cluster;
mod managed_cluster_set;
mod managed_cluster_set_binding;
mod placement;
mod placement_decision;
mod placement_rules;
mod placement_spec;

use std::sync::Arc;

use berth_apimachinery::{Key, Kind, Object};

pub(crate) use addon_placement_score::AddOnPlacementScore;
pub(crate) use condition::Condition;
pub(crate) use coordinate::{BUILT_IN, Coordinate};
pub(crate) use group_size::GroupSize;
pub(crate) use managed_cluster::{Amount, ManagedCluster, Taint};
pub(crate) use managed_cluster_set::{ManagedClusterSet, SelectorType};
pub(crate) use managed_cluster_set_binding::ManagedClusterSetBinding;
pub(crate) use placement::{DecisionGroupStatus, Placement, PlacementStatus};
pub(crate) use placement_decision::PlacementDecision;
pub(crate) use placement_rules::{claims_as_labels, without_effect};
pub(crate) use placement_spec::{GroupStrategy, PlacementSpec, Predicate, PrioritizerPolicy, Toleration};

/// The pattern of a qualified name: a name, optionally preceded by a domain and a slash.
const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The pattern of the name of a namespace.
const NAMESPACE_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// Every kind that decisions read, in the order of discovery.
pub(crate) fn all() -> Vec<Arc<dyn Kind>> {
    vec![
        Arc::new(addon_placement_score::AddOnPlacementScoreKind),
        Arc::new(managed_cluster::ManagedClusterKind),
        Arc::new(managed_cluster_set_binding::ManagedClusterSetBindingKind),
        Arc::new(managed_cluster_set::ManagedClusterSetKind),
        Arc::new(placement_decision::PlacementDecisionKind),
        Arc::new(placement::PlacementKind),
    ]
}

/// The kinds that decisions do not read, but that manifests of managed clusters contain.
pub(crate) fn further() -> Vec<Arc<dyn Kind>> {
    vec![Arc::new(cluster_claim::ClusterClaimKind)]
}

/// Parses `object`, or returns a sentence with the reason why it cannot be parsed.
pub(crate) fn view<T: serde::de::DeserializeOwned>(key: &Key, object: &Object) -> Result<T, String> {
    object
        .view()
        .map_err(|error| format!("{key} is left out: {error}"))
}
