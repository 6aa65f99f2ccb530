//! openMCP: every ClusterRequest is granted a Cluster, an existing one or a new one
//! (docs/systems/openmcp.md).
//!
//! The purpose of a request selects a template and its rules in the [configuration](config). Every filter
//! judges every Cluster, and the strategy ranks the remaining ones. If none remains, a Cluster is created. A
//! request is bound once its finalizer is on the Cluster; its status is written after that. Start reading at
//! `decide` (decisions on a request), `filters` (Clusters that a request may use), `naming` (names of new
//! Clusters) and `fleet` (the known objects); [`kind`] has the API objects.
//!
//! ```
//! use berth_dialect_contract::{Inventory, Targets};
//! use berth_dialect_openmcp::names::CLUSTERS;
//! use berth_dialect_testing::bench::fold;
//! use serde_json::json;
//!
//! let openmcp = berth_dialect_openmcp::dialect();
//! let spec = json!({"scheduler": {"scope": "Everywhere"}});
//! let errors = openmcp.configuration().validate(&spec, "spec.openmcp");
//! let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
//! assert!(texts.iter().any(|text| text.starts_with("spec.openmcp.scheduler.scope")), "{texts:?}");
//!
//! let mut platform = openmcp.inventory();
//! let cluster = json!({
//!     "apiVersion": "clusters.openmcp.cloud/v1alpha1", "kind": "Cluster",
//!     "metadata": {"name": "w1", "namespace": "project", "uid": "1"},
//!     "spec": {"profile": "gcp-small", "tenancy": "Shared", "purposes": ["workload"]},
//! });
//! fold(&mut platform, CLUSTERS, "project", "w1", &cluster);
//! assert_eq!(&*platform.cluster_name(0), "project/w1");
//! ```

mod admission;
mod code;
pub mod config;
mod decide;
mod detail;
mod dialect;
mod facts;
mod filters;
mod fleet;
mod inventory;
pub mod kind;
pub mod names;
mod naming;
mod release;
mod remedies;
mod request;
mod solve;
mod words;
mod writes;

use std::sync::Arc;

pub use config::warnings;
pub use dialect::OpenMcp;

/// The dialect of openMCP.
#[must_use]
pub fn dialect() -> Arc<dyn berth_dialect_contract::Dialect> {
    Arc::new(OpenMcp)
}
