//! A decision over many clusters of OCM, published and changed again and again, for tests of its slices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::differential::Draw;

const GROUP: &str = "cluster.open-cluster-management.io";

/// The name of a cluster.
#[must_use]
pub fn name(number: usize) -> String {
    format!("c{number:03}")
}

/// A feasible cluster with this name.
#[must_use]
pub fn cluster(name: &str) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"name": name, format!("{GROUP}/clusterset"): "all"}},
        "spec": {"hubAcceptsClient": true}})
}

/// A fleet of this number of clusters, bound in namespace `team`, and its Publication in `argocd`; without a
/// decision.
#[must_use]
pub fn fleet(clusters: usize) -> Value {
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}),
        json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "all"},
               "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        json!({"apiVersion": format!("{GROUP}/v1beta2"), "kind": "ManagedClusterSetBinding",
               "metadata": {"name": "all", "namespace": "team"}, "spec": {"clusterSet": "all"}}),
        json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "all"},
               "spec": {"namespace": "argocd", "systems": ["ocm"], "names": "Bare"}}),
    ];
    objects.extend((0..clusters).map(|number| cluster(&name(number))));
    json!({"apiVersion": "v1", "kind": "List", "items": objects})
}

/// The Placement `p` in namespace `team` that selects exactly these clusters, as far as they exist.
#[must_use]
pub fn placement(clusters: &BTreeSet<String>) -> Value {
    // The last name matches no cluster: a list of names must not be empty.
    let names: Vec<&str> = clusters.iter().map(String::as_str).chain(["none"]).collect();
    json!({
        "apiVersion": format!("{GROUP}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "p", "namespace": "team"},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchExpressions": [
            {"key": "name", "operator": "In", "values": names}]}}}]},
    })
}

/// A random subset of this number of clusters, mostly of one range, so that slices are created, changed
/// and deleted.
pub fn drawn(draw: &mut Draw, clusters: usize) -> BTreeSet<String> {
    let (from, many) = (draw.below(clusters), draw.below(clusters));
    let stretch = (from..from + many).map(|number| number % clusters);
    stretch.filter(|_| !draw.once_in(12)).map(name).collect()
}
