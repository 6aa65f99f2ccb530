//! The engine: it keeps the dialects' inventories current, decides on them, and binds demands.
//!
//! The engine watches a [`berth_storage::Source`], folds every change into one inventory per dialect, and
//! decides on snapshots of the inventories. It knows no dialect by name, no HTTP and no kind; time comes from
//! a [`berth_apimachinery::Clock`]. Start reading at [`engine`]; [`controller`] keeps decisions current;
//! [`what_if`] decides on hypothetical worlds (reviews), and [`simulate`] on the objects of files;
//! [`mod@plan`] computes the effect of a change, and [`mod@advice`] the changes that help.
//!
//! ```
//! use std::sync::Arc;
//!
//! use berth_dialect_toy::{BOXES, TOYS, Toys, object};
//! use berth_engine::World;
//! use berth_apimachinery::{Key, Object, Revision, Timestamp};
//! use serde_json::json;
//!
//! let mut world = World::empty(Arc::new(Toys));
//! for (resource, namespace, name, value) in [
//!     (BOXES, "", "shelf", object("Box", "", "shelf", json!({"capacity": 1}))),
//!     (TOYS, "ns", "car", object("Toy", "ns", "car", json!({}))),
//! ] {
//!     let stored = Arc::new(Object::new(&value, Revision(1)).unwrap());
//!     world.put(&Key::new(resource, namespace, name), stored).unwrap();
//! }
//! let car = Key::new(TOYS, "ns", "car");
//! let snapshot = world.snapshot();
//! let decision = snapshot.decide(&car, None, Timestamp::UNIX_EPOCH).unwrap().unwrap();
//! assert_eq!(&*snapshot.inventory.cluster_name(decision.solved.picked[0]), "shelf");
//! ```

pub mod advice;
pub mod agreement;
mod answers;
pub mod bind;
mod blocking;
mod bound;
mod contest;
pub mod controller;
pub mod dirty;
pub mod engine;
mod entrusted;
mod fault;
mod feeder;
mod foresee;
mod in_force;
mod mandate;
pub mod plan;
mod readiness;
mod settle;
pub mod simulate;
pub mod snapshot;
pub mod spelling;
mod turns;
pub mod what_if;

pub use advice::Advice;
pub use bind::Committer;
pub use blocking::run_blocking;
pub use bound::{Bind, BindError, BindObserver, BindOutcome, Commit, Contest, Settlement, UnplacedTreatment};
pub use controller::Controllers;
pub use dirty::{Batch, Dirty, MarkedSet, Subscription};
pub use engine::{AlreadySet, Engine, Witness};
pub use foresee::ForeseenDecision;
pub use in_force::{ConfigurationInForce, Configurations, Judge};
pub use mandate::{Mandate, Requests};
pub use plan::Plan;
pub use readiness::ReadinessError;
pub use simulate::Simulation;
pub use snapshot::Snapshot;
pub use what_if::{Catalog, UnreadableObject, World};

#[cfg(test)]
mod tests;
