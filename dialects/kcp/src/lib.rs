//! kcp: every Namespace is placed on a WorkloadCluster of a Location (docs/systems/kcp.md).
//!
//! A placement is an annotation of the namespace, and several actors move its entries through a state machine
//! ([`machine`]). The placement controller decides: it releases clusters that may no longer be used, and
//! chooses new clusters at random. A namespace that leaves a cluster stays in its location while the location
//! exists. Start reading at [`machine`] and `select` (the rules) and `fleet` (the known objects); [`kind`]
//! has the API objects. [`namespace_controller`], [`resource_controller`], [`location_status`], [`heartbeat`]
//! and [`syncer_view`] are the computations of the other actors; `reconcilers` has the controllers that Berth
//! runs.
//!
//! ```
//! use berth_dialect_contract::{Ask, Inventory, Targets};
//! use berth_dialect_kcp::names::{LOCATIONS, NAMESPACES, WORKLOAD_CLUSTERS};
//! use berth_dialect_testing::bench::fold;
//! use berth_apimachinery::{Key, Timestamp};
//! use serde_json::json;
//!
//! let mut compute = berth_dialect_kcp::dialect().inventory();
//! let resource = json!({"group": "workloads.kcp.dev", "version": "v1alpha1", "resource": "workloadclusters"});
//! let location = json!({
//!     "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location",
//!     "metadata": {"name": "east", "uid": "1"},
//!     "spec": {"resource": resource, "instanceSelector": {}},
//! });
//! fold(&mut compute, LOCATIONS, "", "east", &location);
//! let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
//! let cluster = json!({
//!     "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
//!     "metadata": {"name": "c1", "uid": "2"}, "status": ready,
//! });
//! fold(&mut compute, WORKLOAD_CLUSTERS, "", "c1", &cluster);
//! let app = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "app", "uid": "3"}});
//! fold(&mut compute, NAMESPACES, "", "app", &app);
//!
//! let demand = Key::new(NAMESPACES, "", "app");
//! let ask = Ask { demand: &demand, now: Timestamp::UNIX_EPOCH, seed: 1, chosen: None };
//! let decision = compute.decide(&ask).unwrap().unwrap();
//! assert_eq!(compute.target_name(decision.solved.picked[0]), "c1");
//! ```

pub mod admission;
mod code;
pub mod condition;
pub mod config;
mod decide;
mod detail;
mod dialect;
mod edit;
mod filters;
mod fleet;
pub mod heartbeat;
mod inventory;
pub mod kind;
pub mod location_status;
pub mod location_string;
pub mod machine;
pub mod names;
pub mod namespace_controller;
pub mod placement;
pub mod readiness;
mod reconcilers;
mod remedies;
mod request;
pub mod resource_controller;
mod select;
pub mod syncer_view;
#[cfg(test)]
mod testing;
mod warnings;
mod words;
mod writes;

use std::sync::Arc;

pub use crate::admission::{PlacementGuard, PlacementValues, Role, Settings};
pub use dialect::Kcp;
pub use fleet::Fleet;

/// The dialect of kcp with default settings.
#[must_use]
pub fn dialect() -> Arc<dyn berth_dialect_contract::Dialect> {
    Arc::new(Kcp::default())
}

/// The dialect of kcp with these settings.
#[must_use]
pub fn with(settings: Settings) -> Arc<dyn berth_dialect_contract::Dialect> {
    Arc::new(Kcp::new(settings))
}
