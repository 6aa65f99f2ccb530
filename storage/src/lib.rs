//! Stores of objects: the traits [`Source`], [`Writer`] and [`Store`], the backends, and the watch cache they
//! share.
//!
//! A [`Source`] can be listed and watched; a [`Writer`] takes guarded [`Step`]s; a [`Store`] is both, with
//! one increasing [`Revision`] across all kinds. This crate knows no kind and no HTTP. Every backend passes
//! the one conformance suite in `conformance` (feature `conformance`, for tests).
#![doc = include_str!("../README.md")]

mod cache;
pub mod collection;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(any(feature = "embedded", feature = "etcd"))]
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
#[cfg(feature = "embedded")]
pub use embedded::EmbeddedStore;
pub use error::{NotReady, StoreError};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdConfig, EtcdStore};
pub use history::Limits;
pub use memory::MemoryStore;
pub use snapshot::Snapshot;
pub use source::{At, Event, Scope, Source, Store, Watch, Writer};
pub use step::{Applied, Expect, Guard, Step, Verb};
