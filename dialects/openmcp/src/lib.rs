//! openMCP: every ClusterRequest gets a Cluster, an existing one or a new one (docs/systems/openmcp.md).
//!
//! The purpose of a request picks a template and its rules out of the [configuration](config). Every filter judges
//! every Cluster, the strategy orders what is left, and where nothing is left a Cluster is made. A request is bound
//! once its finalizer is on the Cluster; its status only tells. Start reading at `decide` (what happens to a request),
//! `filters` (which Clusters may be shared), `naming` (how new ones are called) and `fleet` (what is known); [`kind`]
//! holds the API objects.

mod admission;
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

/// The dialect.
#[must_use]
pub fn dialect() -> Arc<dyn dialect_contract::Dialect> {
    Arc::new(OpenMcp)
}
