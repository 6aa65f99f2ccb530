//! KubeFleet: ClusterResourcePlacements choose MemberClusters, by affinity, taints, topology and property.
//!
//! Implements KubeFleet's scheduler as docs/systems/fleet.md describes it. Start reading at `kind` (what is served),
//! then `fleet` (what is known), then `decide` (what comes of it).

pub mod admission;
mod columns;
mod config;
mod decide;
mod detail;
mod dialect;
mod eligibility;
mod facts;
mod filters;
mod fleet;
mod hash;
mod inventory;
mod kind;
mod names;
mod plan;
mod policy;
mod remedies;
mod satisfied;
mod scores;
#[cfg(test)]
mod testing;
mod words;
mod writes;

use std::sync::Arc;

use dialect_contract::Dialect;

/// The dialect.
#[must_use]
pub fn dialect() -> Arc<dyn Dialect> {
    Arc::new(dialect::KubeFleet::default())
}

/// The dialect with these admission settings.
#[must_use]
pub fn with(settings: admission::Settings) -> Arc<dyn Dialect> {
    Arc::new(dialect::KubeFleet { settings })
}
