//! The watch cache: the published [`State`], waiters for the next state, and lists that stay readable for
//! paging.
//!
//! Readers and watchers load the state without a lock. A writer publishes with one pointer swap and then
//! wakes the watchers of the changed resources; it never waits for watchers, which read at their own pace. A
//! watcher that falls behind the kept history gets `Expired`.

pub(crate) mod held_lists;
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
use held_lists::HeldLists;
use wake::WakeChannels;
use watcher::Watcher;

/// Longest wait of a list for a later revision.
pub(crate) const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// The part of a store that serves lists and watches.
pub(crate) struct Cache {
    state: Arc<ArcSwap<State>>,
    wake_channels: WakeChannels,
    held_lists: HeldLists,
}

impl Cache {
    /// Creates a cache with the published `state`.
    pub(crate) fn new(state: State) -> Self {
        let wake_channels = WakeChannels::new(state.revision());
        Self {
            state: Arc::new(ArcSwap::from_pointee(state)),
            wake_channels,
            held_lists: HeldLists::default(),
        }
    }

    /// The published state.
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// Publishes `state`, without waking waiting readers: the caller calls [`Cache::wake`] afterwards, and
    /// may answer its writers first.
    pub(crate) fn publish(&self, state: State) {
        self.held_lists.sweep(&state);
        self.state.store(Arc::new(state));
    }

    /// Wakes the waiters for changes of `resources`.
    pub(crate) fn wake(&self, resources: impl IntoIterator<Item = GroupResource>) {
        self.wake_channels.wake(resources, self.revision());
    }

    /// The newest published revision.
    pub(crate) fn revision(&self) -> Revision {
        self.state.load().revision()
    }

    /// The present objects of `resource`.
    pub(crate) fn collection(&self, resource: GroupResource) -> Collection {
        self.state.load().collection(resource)
    }

    /// Returns a list: see [`crate::Source::list`]. `Latest` is the published state, which has every write
    /// that this process has acknowledged. A store that other processes share has to wait for their writes
    /// first.
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
        let scope = watcher::without_duplicates(scope);
        // The subscription precedes reading the state, so that a change in between wakes the watcher once too
        // often instead of never.
        let receiver = self.wake_channels.subscribe(&scope);
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

    /// Keeps a list readable: see [`crate::Store::hold`].
    pub(crate) fn hold(&self, resource: GroupResource, collection: &Collection) {
        self.held_lists.hold(&self.state.load(), resource, collection);
    }

    /// Waits up to three seconds until `revision` is published.
    ///
    /// # Errors
    /// `TooNew` when it is not published in time.
    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), StoreError> {
        if self.revision() >= revision {
            return Ok(());
        }
        let mut receiver = self.wake_channels.subscribe(&Scope::All);
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
        self.held_lists
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
