//! Gardener: every Shoot's control plane gets a Seed (docs/systems/gardener.md).
//!
//! First every filter judges every seed, then the strategy or the purpose narrows down what is left, then the seed with
//! the fewest shoots is picked, ties by name. Start reading at `solve` (the pipeline), `filters` (the rules) and `fleet`
//! (what is known); [`kind`] holds the API objects.

pub mod admission;
mod agreement;
mod binding;
mod cidr;
pub mod config;
mod decide;
mod detail;
mod dialect;
mod distance;
mod facts;
mod filters;
mod fleet;
mod inventory;
pub mod kind;
pub mod names;
mod notes;
mod remedies;
mod request;
mod solve;
#[cfg(test)]
mod testing;
mod uses;
mod words;
mod writes;

use std::sync::Arc;

pub use binding::check_binding;
pub use dialect::Gardener;
pub use fleet::Fleet;

/// The dialect.
#[must_use]
pub fn dialect() -> Arc<dyn dialect_contract::Dialect> {
    Arc::new(Gardener)
}
