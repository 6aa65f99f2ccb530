//! One watcher: a cursor into the history, which moves as fast as the watcher reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use berth_apimachinery::Revision;
use tokio::sync::watch::Receiver;

use crate::cache::closed;
use crate::error::StoreError;
use crate::source::{Event, Scope, Watch};
use crate::state::State;

/// A cursor into the history of a scope.
pub(crate) struct Watcher {
    state: Arc<ArcSwap<State>>,
    scope: Scope,
    /// Revision up to which the watcher has every change. It is atomic because [`Watch::revision`], with a
    /// shared reference, raises it when no event is pending.
    cursor: AtomicU64,
    receiver: Receiver<Revision>,
}

impl Watcher {
    /// Creates a watcher of the changes of `scope` in `state` after `after`, which `receiver` wakes.
    pub(crate) fn new(
        state: Arc<ArcSwap<State>>,
        scope: Scope,
        after: Revision,
        receiver: Receiver<Revision>,
    ) -> Self {
        Self {
            state,
            scope,
            cursor: AtomicU64::new(after.0),
            receiver,
        }
    }

    fn cursor(&self) -> Revision {
        Revision(self.cursor.load(Ordering::Relaxed))
    }

    /// Returns the events after the cursor, and moves it past them.
    fn take(&self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let state = self.state.load();
        let events = state.events(&self.scope, self.cursor(), max)?;
        let reached = events
            .last()
            .map_or(state.revision(), |event| event.change.revision);
        self.cursor.store(reached.0, Ordering::Relaxed);
        Ok(events)
    }
}

#[async_trait]
impl Watch for Watcher {
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        loop {
            // The wake-up is marked as seen before the history is read: a later change wakes again. Taken
            // events are returned without a further wait, so dropping this future loses nothing.
            self.receiver.mark_unchanged();
            let events = self.take(max.max(1))?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.receiver.changed().await.map_err(|_closed| closed())?;
        }
    }

    fn revision(&self) -> Revision {
        let state = self.state.load();
        let cursor = self.cursor();
        if state.pending(&self.scope, cursor) || state.revision() <= cursor {
            return cursor;
        }
        self.cursor.store(state.revision().0, Ordering::Relaxed);
        state.revision()
    }
}

/// Returns `scope` with each resource once.
pub(crate) fn without_duplicates(scope: Scope) -> Scope {
    match scope {
        Scope::Many(mut resources) => {
            resources.sort_unstable();
            resources.dedup();
            match resources.as_slice() {
                [one] => Scope::One(*one),
                _ => Scope::Many(resources),
            }
        }
        other => other,
    }
}
