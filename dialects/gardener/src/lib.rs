//! Gardener: the control plane of every Shoot is placed on a Seed (docs/systems/gardener.md).
//!
//! First, every filter judges every seed. Then zone preferences, default domains and distances reduce the
//! remaining seeds. Finally, the seed with the fewest shoots is picked; the name decides between equal
//! numbers. Start reading at `solve` (the pipeline), `filters` (the rules) and `fleet` (the known objects);
//! [`kind`] has the API objects.
//!
//! ```
//! use berth_dialect_contract::{Ask, Inventory, Targets};
//! use berth_dialect_gardener::names::{CLOUD_PROFILES, SEEDS, SHOOTS};
//! use berth_dialect_testing::bench::fold;
//! use berth_apimachinery::{Key, Timestamp};
//! use serde_json::json;
//!
//! let mut garden = berth_dialect_gardener::dialect().inventory();
//! let profile = json!({
//!     "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile",
//!     "metadata": {"name": "aws", "uid": "1"}, "spec": {"type": "aws"},
//! });
//! fold(&mut garden, CLOUD_PROFILES, "", "aws", &profile);
//! let ready = ["GardenletReady", "Bootstrapped"].map(|kind| json!({"type": kind, "status": "True"}));
//! let seed = json!({
//!     "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed",
//!     "metadata": {"name": "ireland", "uid": "2"},
//!     "spec": {
//!         "provider": {"type": "aws", "region": "eu-west-1"},
//!         "networks": {"nodes": "10.1.0.0/16", "pods": "10.2.0.0/16", "services": "10.3.0.0/16"},
//!     },
//!     "status": {"conditions": ready},
//! });
//! fold(&mut garden, SEEDS, "", "ireland", &seed);
//! let shoot = json!({
//!     "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
//!     "metadata": {"name": "web", "namespace": "garden-dev", "uid": "3"},
//!     "spec": {
//!         "cloudProfile": {"name": "aws"}, "region": "eu-west-1", "provider": {"type": "aws"},
//!         "networking": {"nodes": "10.250.0.0/16", "pods": "10.4.0.0/16", "services": "10.5.0.0/16"},
//!     },
//! });
//! fold(&mut garden, SHOOTS, "garden-dev", "web", &shoot);
//!
//! let demand = Key::new(SHOOTS, "garden-dev", "web");
//! let ask = Ask { demand: &demand, now: Timestamp::UNIX_EPOCH, seed: 1, chosen: None };
//! let decision = garden.decide(&ask).unwrap().unwrap();
//! assert_eq!(&*garden.cluster_name(decision.solved.picked[0]), "ireland");
//! ```

pub mod admission;
mod binding;
mod cidr;
mod code;
mod comparison;
pub mod config;
mod cross_checks;
mod decide;
mod detail;
mod dialect;
mod distance;
mod domain;
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

/// The dialect of Gardener.
#[must_use]
pub fn dialect() -> Arc<dyn berth_dialect_contract::Dialect> {
    Arc::new(Gardener)
}
