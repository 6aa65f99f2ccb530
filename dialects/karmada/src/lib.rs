//! Karmada: bindings of templates are placed on Clusters by affinity, taints, spread and room, and their
//! replicas are divided among the Clusters.
//!
//! Implements Karmada's scheduler as docs/systems/karmada.md describes it. Start reading at `kind` (the
//! API), then `fleet` (the known objects), `choice` (the chosen clusters) and `decide` (the decisions).
//!
//! ```
//! use berth_apimachinery::GroupResource;
//!
//! let karmada = berth_dialect_karmada::dialect();
//! assert_eq!(karmada.target(), GroupResource::new("cluster.karmada.io", "clusters"));
//! assert_eq!(karmada.demands().len(), 2);
//! ```

mod admission;
mod affinity;
mod choice;
mod cluster;
mod code;
mod columns;
mod compiled_placement;
mod config;
mod decide;
mod detail;
mod detector;
mod dialect;
mod divide;
mod facts;
mod failure;
mod filters;
mod fleet;
mod fnv;
mod ignored;
mod inventory;
mod kind;
mod names;
mod notes;
mod question;
mod quota;
mod recent_loads;
mod record;
mod remedies;
mod room;
mod settled;
mod spread;
mod standing;
mod strategy;
mod template;
#[cfg(test)]
mod testing;
mod trigger;
mod words;
mod writes;

use std::sync::Arc;

use berth_dialect_contract::Dialect;

/// The dialect of Karmada.
#[must_use]
pub fn dialect() -> Arc<dyn Dialect> {
    Arc::new(dialect::Karmada)
}
