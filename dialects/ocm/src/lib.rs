//! Open Cluster Management: Placements choose ManagedClusters, ranked by built-in and pushed scores.
//!
//! Implements the proposal "placement extensible scheduling" as docs/systems/ocm.md describes it. Start reading at
//! `kind` (what is served), then `fleet` (what is known), then `decide` (what comes of it).

mod admission;
mod cel;
mod cluster;
mod columns;
mod decide;
mod detail;
mod dialect;
mod evaluate;
mod facts;
mod filters;
mod fleet;
mod inventory;
mod kind;
mod names;
mod notes;
mod plan;
mod policy;
mod record;
mod remedies;
mod satisfied;
mod scores;
mod tally;
#[cfg(test)]
mod tests;
mod words;
mod writes;

use std::sync::Arc;

use dialect_contract::Dialect;

/// The dialect.
#[must_use]
pub fn dialect() -> Arc<dyn Dialect> {
    Arc::new(dialect::Ocm)
}
