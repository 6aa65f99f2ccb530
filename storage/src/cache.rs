//! The watch cache: the published [`State`], waiters for the next one, and lists that are held for paging.
//!
//! Readers and watchers load the state without a lock. A writer publishes with one pointer swap and then
//! wakes the watchers of the changed resources; it never waits for watchers, which read at their own pace. A
//! watcher that falls behind the kept history gets `Expired`.

pub(crate) mod holds;
pub(crate) mod wake;
pub(crate) mod watcher;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use berth_apimachinery::{GroupResource, Revision};

use crate::collection::Collection;
use crate::error::StoreError;
use crate::source::{At, Scope, Watch};
use crate::state::State;
use holds::Holds;
use wake::Wake;
use watcher::Watcher;

/// Longest wait of a list for a later revision.
pub(crate) const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// The readers' side of a store.
pub(crate) struct Cache {
    state: Arc<ArcSwap<State>>,
    wake: Wake,
    holds: Holds,
}

impl Cache {
    /// Creates a cache with the published `state`.
    pub(crate) fn new(state: State) -> Self {
        let wake = Wake::new(state.revision());
        Self {
            state: Arc::new(ArcSwap::from_pointee(state)),
            wake,
            holds: Holds::default(),
        }
    }

    /// Published state.
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// Publishes `state`. [`Cache::wake`] wakes waiting readers, after the writer has its answer.
    pub(crate) fn publish(&self, state: State) {
        self.holds.sweep(&state);
        self.state.store(Arc::new(state));
    }

    /// Wakes the waiters for changes of `resources`.
    pub(crate) fn wake(&self, resources: impl IntoIterator<Item = GroupResource>) {
        self.wake.wake(resources, self.revision());
    }

    /// Newest published revision.
    pub(crate) fn revision(&self) -> Revision {
        self.state.load().revision()
    }

    /// Present objects of `resource`.
    pub(crate) fn collection(&self, resource: GroupResource) -> Collection {
        self.state.load().collection(resource)
    }

    /// Returns a list: see [`crate::Source::list`]. Every acknowledged write is published, so `Latest` is the
    /// published state.
    pub(crate) async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        match at {
            At::Latest | At::Any => Ok(self.collection(resource)),
            At::NotOlderThan(revision) => {
                self.wait_for(revision).await?;
                Ok(self.collection(resource))
            }
            At::Exact(revision) => self.exact(resource, revision),
        }
    }

    /// Starts a watch: see [`crate::Source::watch`].
    pub(crate) fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let scope = watcher::normal(scope);
        // The subscription precedes reading the state, so that a change in between wakes the watcher once too
        // often instead of never.
        let receiver = self.wake.subscribe(&scope);
        let state = self.state();
        if after > state.revision() {
            return Err(StoreError::TooNew {
                asked: after,
                current: state.revision(),
            });
        }
        let floor = state.floor_of(&scope);
        if after < floor {
            return Err(StoreError::Expired {
                asked: after,
                oldest: floor,
            });
        }
        Ok(Box::new(Watcher::new(
            Arc::clone(&self.state),
            scope,
            after,
            receiver,
        )))
    }

    /// Holds a list: see [`crate::Store::hold`].
    pub(crate) fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.holds.hold(&self.state.load(), resource, collection);
    }

    /// Waits up to three seconds until `revision` is published.
    ///
    /// # Errors
    /// `TooNew` when it is not published in time.
    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), StoreError> {
        if self.revision() >= revision {
            return Ok(());
        }
        let mut receiver = self.wake.subscribe(&Scope::All);
        let outcome = tokio::time::timeout(FUTURE_WAIT, receiver.wait_for(|at| *at >= revision)).await;
        match outcome {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_closed)) => Err(closed()),
            Err(_elapsed) => Err(StoreError::TooNew {
                asked: revision,
                current: self.revision(),
            }),
        }
    }

    fn exact(&self, resource: GroupResource, revision: Revision) -> Result<Collection, StoreError> {
        let state = self.state();
        if revision > state.revision() {
            return Err(StoreError::TooNew {
                asked: revision,
                current: state.revision(),
            });
        }
        self.holds
            .find(&state, resource, revision)
            .or_else(|| state.collection_at(resource, revision))
            .ok_or_else(|| StoreError::Expired {
                asked: revision,
                oldest: state.floor(resource),
            })
    }
}

/// The error for waiters when the store is closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed".to_owned())
}
