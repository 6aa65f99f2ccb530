//! The objects of a hub (any kube-apiserver): their copies for decisions, and the writes of decisions.
//!
//! [`mirror`] copies them into Berth's store, so that there is no difference for folding, guards and
//! decisions; [`SyncStatus`] reports to the engine which systems are not copied yet. [`HubCommitter`]
//! writes decisions to the hub, guarded by the resourceVersion of a copy, and by fences, which prevent
//! decisions from counting the same capacity twice. [`LeaseLock`] is a lock record, by which the replicas
//! elect the one that runs controllers. [`StoreLease`] ensures that only one server behind a hub keeps
//! objects in a store that is not shared. This crate is independent of systems: dialects name the objects to
//! copy and to write.
//!
//! Start reading at [`mirror`]. The rights that the copies need on the hub follow from one list of
//! resources:
//!
//! ```
//! use berth_hub::roles::{role_with_binding, rules};
//! use berth_apimachinery::GroupResource;
//! use serde_json::json;
//!
//! let seeds = GroupResource::new("core.gardener.cloud", "seeds");
//! let berth = json!({"kind": "ServiceAccount", "name": "berth", "namespace": "berth-system"});
//! let read = rules(vec![seeds], &[], &["list", "watch"]);
//! let [role, binding] = role_with_binding("berth:reader", &read, &berth);
//! assert_eq!(role["rules"][0]["resources"], json!(["seeds"]));
//! assert_eq!(binding["roleRef"]["name"], "berth:reader");
//! ```

pub mod commits;
mod fences;
mod lease;
pub mod mirror;
pub mod own_schedulers;
pub mod roles;
pub mod store_lease;
mod sync_status;
pub mod wire;

pub use commits::HubCommitter;
pub use fences::is_fence;
pub use lease::LeaseLock;
pub use mirror::{Copies, HubVersions, Mirror};
pub use store_lease::{NAME as STORE_LEASE, StoreLease};
pub use sync_status::{Requirements, SyncObstacle, SyncStatus, settled};
