//! Stores of objects: the traits [`Source`], [`Writer`] and [`Store`], the backends, and the watch cache they
//! share.
//!
//! A [`Source`] can be listed and watched; a [`Writer`] applies guarded [`Step`]s; a [`Store`] is both, with
//! one increasing [`Revision`](berth_apimachinery::Revision) across all kinds. This crate is independent of
//! kinds and of HTTP. Every backend passes the conformance suite in `conformance` (feature `conformance`, for
//! tests).
#![doc = include_str!("../README.md")]

mod cache;
mod collection;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(feature = "embedded")]
pub mod embedded;
#[cfg(any(feature = "embedded", feature = "etcd"))]
pub mod encryption;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod fences;
mod history;
pub mod informer;
mod memory;
mod snapshot;
mod source;
mod stage;
mod state;
mod step;

pub use collection::{Collection, Name};
pub use error::{NotReady, StoreError};
pub use history::Limits;
pub use memory::MemoryStore;
pub use snapshot::Snapshot;
pub use source::{At, Event, Scope, Source, Store, Watch, Writer};
pub use stage::MAX_OBJECT_BYTES;
pub use step::{Expect, Step, StepResult};
