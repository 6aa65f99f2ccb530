//! Warnings for the reader of a decision: selectors of a ResourcePlacement for cluster-scoped kinds.

use berth_dialect_contract::Decision;

use crate::fleet::Fleet;
use crate::form;

/// Common cluster-scoped kinds, each after its group.
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

/// All warnings.
pub(crate) fn all(fleet: &Fleet, decision: &Decision) -> Vec<String> {
    let Some(record) = fleet.placements.get(&decision.demand) else {
        return Vec::new();
    };
    if record.form != &form::NAMESPACE {
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
        .map(|(place, selector)| {
            format!(
                "spec.resourceSelectors[{place}] selects {}, which is in no namespace: a ResourcePlacement places what is in its \
                 own, and KubeFleet does not schedule this one (InvalidResourceSelectors)",
                selector["kind"].as_str().unwrap_or_default()
            )
        })
        .collect()
}
