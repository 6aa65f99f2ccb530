//! Traits of all sources and stores of objects.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use berth_apimachinery::{Change, GroupResource, Revision};
use bytes::Bytes;

use crate::collection::Collection;
use crate::error::{NotReady, StoreError};
use crate::step::{Step, StepResult};

/// Freshness of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// As fresh as the newest acknowledged write.
    Latest,
    /// The cached state, of any freshness.
    Any,
    /// At least this revision; waits up to three seconds for it.
    NotOlderThan(Revision),
    /// Exactly this revision.
    Exact(Revision),
}

/// Resources that a watch covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One resource.
    One(GroupResource),
    /// Several resources, in one order.
    Many(Vec<GroupResource>),
    /// Every resource.
    All,
}

/// A change that watchers share.
#[derive(Debug)]
pub struct Event {
    /// The change of an object.
    pub change: Change,
    /// Frame for unfiltered watchers, encoded by the first one that needs it and shared by all.
    pub frame: OnceLock<Bytes>,
}

impl Event {
    /// Creates an event without a frame.
    #[must_use]
    pub fn new(change: Change) -> Self {
        Self {
            change,
            frame: OnceLock::new(),
        }
    }
}

/// A running watch: changes in the order of their revisions, each once.
#[async_trait]
pub trait Watch: Send {
    /// Waits for changes and returns all available ones, at most `max`. Changes of one revision are returned
    /// together, even if they are more. Cancel safe.
    ///
    /// # Errors
    /// `Expired` when this watcher has fallen behind the kept history, from which it cannot recover;
    /// `Unavailable` when the store was closed.
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError>;

    /// Returns the revision up to which the watch has returned every change of the scope: the revision for a
    /// bookmark.
    fn revision(&self) -> Revision;
}

/// Source of objects for lists and watches.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// Returns a consistent state of one resource. Objects in memory are shared, not copied.
    ///
    /// # Errors
    /// `Expired`, `TooNew` or `Unavailable`; also `Unreadable` or `Sealed`, about a value in a shared store.
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError>;

    /// Returns the objects in memory, without waiting; they may be stale on a store that other processes
    /// share.
    fn cached(&self, resource: GroupResource) -> Collection;

    /// Watches every change after revision `after`.
    ///
    /// # Errors
    /// `Expired` when `after` is older than the kept history, `TooNew` when it is ahead of the source.
    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError>;

    /// Returns the revision of [`Source::cached`].
    fn revision(&self) -> Revision;
}

/// Target of writes of objects.
#[async_trait]
pub trait Writer: Send + Sync + 'static {
    /// Applies the steps in order; each step that changes its object gets a revision of its own. The embedded
    /// store and the memory store commit all steps or none; in other stores the earlier steps may stay after
    /// a failure, and the caller must be able to complete them by deciding again.
    ///
    /// # Errors
    /// The error of the first step that could not be applied. When this returns `Ok`, every step is stored.
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError>;
}

/// A store of Berth: source and writer, with snapshots at past revisions.
#[async_trait]
pub trait Store: Source + Writer {
    /// Keeps `collection` (as listed from `resource`) readable by [`At::Exact`] for some time, so that the
    /// following pages of a list have the same revision: for five minutes, or until more than 1,024 lists are
    /// held or held objects exceed 64 MiB.
    fn hold(&self, resource: GroupResource, collection: &Collection);

    /// Whether other processes write to the store, so that the cached state may not be the newest.
    fn is_shared(&self) -> bool {
        false
    }

    /// Checks that the store is ready.
    ///
    /// # Errors
    /// Reason why the store is not ready.
    fn ready(&self) -> Result<(), NotReady>;

    /// Checks that there is room for more, as far as the store knows. A full store still accepts deletions.
    ///
    /// # Errors
    /// A message about the full disk, the refused writes and the remedy.
    fn room(&self) -> Result<(), String> {
        Ok(())
    }
}
