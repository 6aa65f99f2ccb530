//! One watcher: a cursor into the history, moved at the watcher's own pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use meta::Revision;
use tokio::sync::watch::Receiver;

use crate::cache::closed;
use crate::error::StoreError;
use crate::picture::Picture;
use crate::source::{Event, Scope, Watch};

/// A cursor into the history of a scope.
pub(crate) struct Watcher {
    picture: Arc<ArcSwap<Picture>>,
    scope: Scope,
    /// Every change up to here has been given out. Atomic because `revision` moves it on when nothing is pending.
    cursor: AtomicU64,
    woken: Receiver<Revision>,
}

impl Watcher {
    /// A watcher of what `picture` shows of `scope` after `after`, woken by `woken`.
    pub(crate) fn new(
        picture: Arc<ArcSwap<Picture>>,
        scope: Scope,
        after: Revision,
        woken: Receiver<Revision>,
    ) -> Self {
        Self {
            picture,
            scope,
            cursor: AtomicU64::new(after.0),
            woken,
        }
    }

    fn cursor(&self) -> Revision {
        Revision(self.cursor.load(Ordering::Relaxed))
    }

    /// What is there after the cursor, which moves past it.
    fn take(&self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let picture = self.picture.load();
        let events = picture.events(&self.scope, self.cursor(), max)?;
        let reached = events
            .last()
            .map_or(picture.revision(), |event| event.change.revision);
        self.cursor.store(reached.0, Ordering::Relaxed);
        Ok(events)
    }
}

#[async_trait]
impl Watch for Watcher {
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        loop {
            // Marked as seen before looking: a change after the look rings again. Nothing is taken before the wait
            // is over, so dropping this future loses nothing.
            self.woken.mark_unchanged();
            let events = self.take(max.max(1))?;
            if !events.is_empty() {
                return Ok(events);
            }
            self.woken.changed().await.map_err(|_closed| closed())?;
        }
    }

    fn revision(&self) -> Revision {
        let picture = self.picture.load();
        let cursor = self.cursor();
        if picture.pending(&self.scope, cursor) || picture.revision() <= cursor {
            return cursor;
        }
        self.cursor.store(picture.revision().0, Ordering::Relaxed);
        picture.revision()
    }
}

/// The same scope with each resource once.
pub(crate) fn normal(scope: Scope) -> Scope {
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
