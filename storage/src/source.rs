//! The traits every place objects come from implements.

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
    /// As new as the newest acknowledged write.
    Latest,
    /// The cached state.
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

/// A change as watchers share it.
#[derive(Debug)]
pub struct Event {
    /// Change that happened.
    pub change: Change,
    /// The watch frame of an unfiltered watcher, made once by the first one that needs it and shared by all.
    pub frame: OnceLock<Bytes>,
}

impl Event {
    /// An event with no frame yet.
    #[must_use]
    pub fn new(change: Change) -> Self {
        Self {
            change,
            frame: OnceLock::new(),
        }
    }
}

/// A running watch: changes in revision order, each once.
#[async_trait]
pub trait Watch: Send {
    /// Waits for changes and returns all available ones, at most `max`. Cancel safe.
    ///
    /// # Errors
    /// `Expired` when this watcher fell behind the kept history; it will never recover.
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError>;

    /// The revision up to which the watch has returned every change of the scope: the revision for a
    /// bookmark.
    fn revision(&self) -> Revision;
}

/// A place objects can be listed and watched.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// A consistent state of one resource. Cheap: nothing is copied.
    ///
    /// # Errors
    /// `Expired`, `TooNew` or `Unavailable`.
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError>;

    /// Returns the objects at hand now, without waiting; they may be stale on a store shared with other
    /// processes.
    fn cached(&self, resource: GroupResource) -> Collection;

    /// Every change after revision `after`.
    ///
    /// # Errors
    /// `Expired` when `after` is older than the kept history, `TooNew` when it is ahead of the source.
    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError>;

    /// The revision of [`Source::cached`].
    fn revision(&self) -> Revision;
}

/// A place objects can be written.
#[async_trait]
pub trait Writer: Send + Sync + 'static {
    /// Applies the steps in order, each with a revision of its own. The embedded and memory stores commit all
    /// or nothing; elsewhere a prefix may be left behind, which the caller must be able to finish by deciding
    /// again.
    ///
    /// # Errors
    /// The first step's error that could not be applied. When this returns `Ok`, every step is durable.
    async fn apply(&self, steps: Vec<Step>) -> Result<Vec<StepResult>, StoreError>;
}

/// A store of Berth: source and writer, with snapshots at past revisions.
#[async_trait]
pub trait Store: Source + Writer {
    /// Keeps `collection` (as listed from `resource`) readable by [`At::Exact`] for a while, so that the
    /// following pages of a list see the same revision: five minutes or 64 MiB of held objects, whichever
    /// ends first.
    fn hold(&self, resource: GroupResource, collection: &Collection);

    /// Whether other processes write to the store, so that the cached state may not be the newest.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether the store can take writes.
    ///
    /// # Errors
    /// Reason why it cannot.
    fn ready(&self) -> Result<(), NotReady>;

    /// Whether there is room for more, as far as the store knows. A full store still accepts deletions.
    ///
    /// # Errors
    /// Sentence that names the full disk, the refused writes and the remedy.
    fn room(&self) -> Result<(), String> {
        Ok(())
    }
}
