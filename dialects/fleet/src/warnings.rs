//! Warnings about a ResourcePlacement whose selectors name cluster-scoped kinds, for the reader of a
//! decision.

use berth_dialect_contract::Decision;

use crate::fleet::Fleet;
use crate::form;

/// Common cluster-scoped kinds: pairs of group and kind.
const CLUSTER_SCOPED: [(&str, &str); 8] = [
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
];

/// The warnings about the selectors of the placement of `decision`.
pub(crate) fn all(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let Some(record) = fleet.placements.get(&decision.demand) else {
        return Vec::new();
    };
    if record.form != &form::NAMESPACED {
        return Vec::new();
    }
    let selectors = record.object.value()["spec"]["resourceSelectors"].as_array();
    let outside = selectors
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, selector)| {
            let text = |field: &str| selector[field].as_str().unwrap_or_default();
            CLUSTER_SCOPED.contains(&(text("group"), text("kind")))
        });
    outside
        .map(|(index, selector)| {
            format!(
                "spec.resourceSelectors[{index}] selects the cluster-scoped kind {}: a ResourcePlacement places only objects in its \
                 namespace, and KubeFleet does not schedule this ResourcePlacement (InvalidResourceSelectors): place such \
                 objects with a ClusterResourcePlacement",
                selector["kind"].as_str().unwrap_or_default()
            )
        })
        .collect()
}
