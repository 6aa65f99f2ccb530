//! KubeFleet: ClusterResourcePlacements and ResourcePlacements select MemberClusters by affinity, taints,
//! topology and properties.
//!
//! The crate implements KubeFleet's scheduler as docs/systems/fleet.md describes it. Start reading at `kind`
//! (the API), then `fleet` (the inventory), then `decide` (the decisions).
//!
//! ```
//! use berth_dialect_contract::{Inventory, Targets};
//! use berth_dialect_testing::bench::fold;
//! use berth_apimachinery::{GroupResource, Timestamp};
//! use serde_json::json;
//!
//! let fleet = berth_dialect_fleet::dialect();
//! assert_eq!(fleet.target(), GroupResource::new("cluster.kubernetes-fleet.io", "memberclusters"));
//!
//! let mut members = fleet.inventory();
//! let identity = json!({"kind": "ServiceAccount", "name": "east", "namespace": "fleet-system"});
//! let member = json!({
//!     "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
//!     "metadata": {"name": "east", "uid": "1", "labels": {"region": "eu"}},
//!     "spec": {"identity": identity},
//! });
//! fold(&mut members, fleet.target(), "", "east", &member);
//! assert_eq!(&*members.cluster_name(0), "east");
//! // The agent of the cluster has never sent a report.
//! assert_ne!(members.target(0, Timestamp::UNIX_EPOCH).ready, "True");
//! ```

pub mod admission;
mod code;
mod columns;
mod config;
mod decide;
mod detail;
mod dialect;
mod eligibility;
mod facts;
mod filters;
mod fleet;
mod form;
mod fulfilment;
mod hash;
mod inventory;
mod kind;
mod names;
mod plan;
mod policy;
mod remedies;
mod scores;
mod status_copies;
#[cfg(test)]
mod testing;
mod warnings;
mod words;
mod writes;

use std::sync::Arc;

use berth_dialect_contract::Dialect;

/// The dialect of KubeFleet.
#[must_use]
pub fn dialect() -> Arc<dyn Dialect> {
    Arc::new(dialect::KubeFleet::default())
}

/// The dialect of KubeFleet with these admission settings.
#[must_use]
pub fn with(settings: admission::Settings) -> Arc<dyn Dialect> {
    Arc::new(dialect::KubeFleet { settings })
}
