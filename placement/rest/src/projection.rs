//! Projection of Targets and Decisions: a store in memory that the [`updater`](super::updater) updates with
//! the engine.
//!
//! To a reader, the objects look computed at each read: a consistent list first waits until all earlier
//! acknowledged writes are shown. Revisions are a sequence of this process, which begins with the time of the
//! start in microseconds. So a revision of another process, or from before a restart, is not mistaken for a
//! revision of this sequence.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Revision};
pub use berth_dialect_contract::names::TARGETS;
use berth_engine::Engine;
use berth_scheduling_api::GROUP;
use berth_storage::Limits;
use berth_storage::MemoryStore;
use berth_storage::{At, Collection, Scope, Source, StoreError, Watch};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::tallies::Tallies;

/// Resource of Decisions.
pub const DECISIONS: GroupResource = GroupResource::new(GROUP, "decisions");
/// Resource of ClusterDecisions.
pub const CLUSTER_DECISIONS: GroupResource = GroupResource::new(GROUP, "clusterdecisions");

/// Longest wait of a read for the updater, which normally needs milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The store of virtual objects, which only the updater writes.
pub struct Projection {
    pub(crate) store: MemoryStore,
    pub(crate) engine: Arc<Engine>,
    /// Revision of the engine's source up to which all changes are shown; `None` before the first load.
    pub(crate) shown: watch::Sender<Option<Revision>>,
    /// Numbers of Decisions.
    pub(crate) tallies: Mutex<Tallies>,
    /// Signal that a test moved the clock.
    pub(crate) wake: Notify,
    /// Signal that a reader waits for a change that is not shown yet.
    pub(crate) awaited: Notify,
}

impl Projection {
    /// An empty projection of the inventories of `engine`, for [`super::updater::spawn`] to fill.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Arc<Self> {
        let micros = u64::try_from(engine.clock().now().as_microsecond()).unwrap_or_default();
        Arc::new(Self {
            store: MemoryStore::of_any_size(Revision(micros.max(1)), Limits::default()),
            engine,
            shown: watch::Sender::new(None),
            tallies: Mutex::default(),
            wake: Notify::new(),
            awaited: Notify::new(),
        })
    }

    /// Whether all objects of the first load are shown.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shown.borrow().is_some()
    }

    /// Numbers of Decisions, by system, phase and agreement. The updater maintains them, so that this call
    /// is cheap.
    #[must_use]
    pub fn tallies(&self) -> Tallies {
        self.tallies.lock().clone()
    }

    /// Waits until all objects of the first load are shown.
    pub async fn ready(&self) {
        // The wait cannot fail, since the sender belongs to this projection.
        let _ended = self.shown.subscribe().wait_for(Option::is_some).await.is_err();
    }

    /// Checks at once whether objects are due by time. A caller whose clock does not advance by itself calls
    /// this after each change of the clock.
    pub fn look_at_the_clock(&self) {
        self.wake.notify_one();
    }

    /// Waits until every write that any server acknowledged before this call is shown.
    ///
    /// # Errors
    /// `Unavailable` when the engine or the updater needs longer than ten seconds, or when a shared store
    /// does not return its revision.
    pub async fn caught_up(&self) -> Result<(), StoreError> {
        // No objects of this resource are stored, but the answer has the newest revision of the store.
        // This process may be behind that revision, since another server may have written.
        let newest = self.engine.source().list(TARGETS, At::Latest).await?;
        let wanted = newest.revision;
        let mut shown = self.shown.subscribe();
        let is_there = |shown: &Option<Revision>| shown.is_some_and(|shown| shown >= wanted);
        if is_there(&shown.borrow()) {
            return Ok(());
        }
        self.engine
            .caught_up(wanted)
            .await
            .map_err(|behind| StoreError::Unavailable(behind.to_string()))?;
        self.awaited.notify_one();
        match tokio::time::timeout(MAX_WAIT, shown.wait_for(is_there)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StoreError::Unavailable(format!(
                "Targets and Decisions have not caught up with revision {wanted} within {} s: try again",
                MAX_WAIT.as_secs()
            ))),
        }
    }
}

#[async_trait]
impl Source for Projection {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        match at {
            At::Latest | At::NotOlderThan(_) => self.caught_up().await?,
            At::Any | At::Exact(_) => {}
        }
        self.store.list(resource, at).await
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        self.store.cached(resource)
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        self.store.watch(scope, after)
    }

    fn revision(&self) -> Revision {
        self.store.revision()
    }
}
