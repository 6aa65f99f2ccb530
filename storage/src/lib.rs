//! Stores of objects: the traits [`Source`], [`Writer`] and [`Store`], the backends, and the watch cache they
//! share.
//!
//! A [`Source`] can be listed and watched; a [`Writer`] takes guarded [`Step`]s; a [`Store`] is both, with
//! one increasing [`Revision`] across all kinds. This crate knows no kind and no HTTP. Every backend passes
//! the one conformance suite in `conformance`.
//!
//! ```
//! use serde_json::json;
//! use berth_storage::{Draft, Expect, GroupResource, Key, MemoryStore, Step, Verb};
//!
//! const CONFIG_MAPS: GroupResource = GroupResource { group: "", resource: "configmaps" };
//!
//! let store = MemoryStore::default();
//! let key = Key::new(CONFIG_MAPS, "default", "web");
//! let object = json!({
//!     "apiVersion": "v1", "kind": "ConfigMap",
//!     "metadata": {"namespace": "default", "name": "web", "uid": "1"},
//! });
//! let create = Step {
//!     verb: Verb::Create,
//!     key,
//!     subresource: "",
//!     object: Some(Draft::new(&object).unwrap()),
//!     expect: Expect::Absent,
//!     guards: Vec::new(),
//! };
//! let applied = store.commit(std::slice::from_ref(&create)).unwrap();
//! assert!(applied[0].changed);
//! assert!(store.commit(&[create]).is_err(), "it exists");
//! ```

mod cache;
pub mod collection;
pub mod conformance;
pub mod embedded;
pub mod encryption;
pub mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod fences;
pub mod history;
pub mod informer;
pub mod memory;
pub mod snapshot;
pub mod source;
mod stage;
mod state;
pub mod step;

pub use berth_apimachinery::{Change, Draft, GroupResource, Key, Object, Revision};
pub use collection::{Collection, Name};
pub use embedded::EmbeddedStore;
pub use error::{NotReady, StoreError};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdConfig, EtcdStore};
pub use history::Limits;
pub use memory::MemoryStore;
pub use snapshot::Snapshot;
pub use source::{At, Event, Scope, Source, Store, Watch, Writer};
pub use step::{Applied, Expect, Guard, Step, Verb};
