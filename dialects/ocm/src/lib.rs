//! Open Cluster Management: Placements select ManagedClusters, ranked by built-in and reported scores.
//!
//! Implements the proposal "placement extensible scheduling" as docs/systems/ocm.md describes it. Start
//! reading at `kind` (the API), then `fleet` (the known objects), then `decide` (the decisions).
//!
//! ```
//! use berth_dialect_contract::{Ask, Inventory, Targets};
//! use berth_dialect_testing::bench::fold;
//! use berth_apimachinery::{GroupResource, Key, Timestamp};
//! use serde_json::json;
//!
//! const PLACEMENTS: GroupResource = GroupResource::new("cluster.open-cluster-management.io", "placements");
//! let ocm = |resource| GroupResource { resource, ..PLACEMENTS };
//! let labels = json!({"cluster.open-cluster-management.io/clusterset": "fleet"});
//!
//! let mut hub = berth_dialect_ocm::dialect().inventory();
//! let set = json!({
//!     "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
//!     "metadata": {"name": "fleet", "uid": "1"},
//!     "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
//! });
//! fold(&mut hub, ocm("managedclustersets"), "", "fleet", &set);
//! let binding = json!({
//!     "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
//!     "metadata": {"name": "fleet", "namespace": "ns1", "uid": "2"},
//!     "spec": {"clusterSet": "fleet"},
//! });
//! fold(&mut hub, ocm("managedclustersetbindings"), "ns1", "fleet", &binding);
//! let cluster = json!({
//!     "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
//!     "metadata": {"name": "east", "uid": "3", "labels": labels},
//!     "spec": {"hubAcceptsClient": true},
//! });
//! fold(&mut hub, ocm("managedclusters"), "", "east", &cluster);
//! let placement = json!({
//!     "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
//!     "metadata": {"name": "app", "namespace": "ns1", "uid": "4"},
//!     "spec": {"numberOfClusters": 1},
//! });
//! fold(&mut hub, PLACEMENTS, "ns1", "app", &placement);
//!
//! let demand = Key::new(PLACEMENTS, "ns1", "app");
//! let ask = Ask { demand: &demand, now: Timestamp::UNIX_EPOCH, seed: 1, chosen: None };
//! let decision = hub.decide(&ask).unwrap().unwrap();
//! assert_eq!(&*hub.cluster_name(decision.solved.picked[0]), "east");
//! ```

mod admission;
mod cel;
mod cluster;
mod code;
mod columns;
mod comparer;
mod decide;
mod detail;
mod dialect;
mod evaluate;
mod facts;
mod filters;
mod fleet;
mod inventory;
mod kind;
mod known_difference;
mod names;
mod notes;
mod outline;
pub mod parts;
mod plan;
mod policy;
mod record;
mod remedies;
mod satisfied;
mod scored;
mod scores;
mod tally;
#[cfg(test)]
mod tests;
mod warnings;
mod words;
mod writes;

use std::sync::Arc;

use berth_dialect_contract::Dialect;

/// The dialect of Open Cluster Management.
#[must_use]
pub fn dialect() -> Arc<dyn Dialect> {
    Arc::new(dialect::Ocm)
}
