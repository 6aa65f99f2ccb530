//! One running watch: the initial objects, then changes and bookmarks, and the end.
//!
//! Watchers have no queues: each watcher reads from the store's history. A watcher that stops reading needs
//! no memory for later events. At its next read, it gets an ERROR event with `410` if the history no longer
//! has its revision.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Object, Revision, Status};
use berth_storage::{Collection, Event, Watch};
use bytes::Bytes;
use tokio::time::{Instant, Sleep};

use super::frame::{EventType, Framer};
use crate::errors;
use crate::list_body::CHUNK;
use crate::options::ListOptions;
use crate::response_facts::WatchProgress;
use crate::selection::Selection;
use crate::served::ServedVersion;

/// Interval of bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Time between the last bookmark and the end of the watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// Highest number of changes that are read from the history at once.
const BATCH: usize = 256;

/// Number of comparisons with selector terms after which other tasks of the runtime can run.
const SLICE: usize = 16 * 1024;

/// The initial objects of a watch.
pub(super) struct Initial {
    revision: Revision,
    items: Vec<Arc<Object>>,
}

/// Start of a watch: from initial objects, from changes, or an error.
pub(super) enum Start {
    Running {
        initial: Option<Initial>,
        watch: Box<dyn Watch>,
    },
    Failed(Box<Status>),
}

enum Phase {
    /// Objects that existed before the watch.
    Initial {
        items: std::vec::IntoIter<Arc<Object>>,
        revision: Revision,
        watch: Box<dyn Watch>,
    },
    Live(Box<dyn Watch>),
    /// Changes that did not fit into the last chunk.
    Behind {
        events: std::vec::IntoIter<Arc<Event>>,
        watch: Box<dyn Watch>,
    },
    Failed(Box<Status>),
    Over,
}

/// A running watch.
pub(super) struct Feed {
    phase: Phase,
    framer: Framer,
    selection: Selection,
    /// Whether bookmarks are sent.
    bookmarks: bool,
    /// Whether a bookmark announces the end of the initial objects.
    announce_end: bool,
    deadline: Instant,
    /// Timer of the next bookmark, or of the deadline. One timer is used for the whole watch, since creating
    /// a timer is expensive.
    timer: Pin<Box<Sleep>>,
    /// Counter of sent events.
    progress: WatchProgress,
}

impl Feed {
    pub(super) fn new(
        start: Start,
        framer: Framer,
        selection: Selection,
        options: &ListOptions,
        timeout: Duration,
        progress: WatchProgress,
    ) -> Self {
        let now = Instant::now();
        let deadline = now + timeout;
        let phase = match start {
            Start::Failed(status) => Phase::Failed(status),
            Start::Running { initial: None, watch } => Phase::Live(watch),
            Start::Running {
                initial: Some(Initial { revision, items }),
                watch,
            } => Phase::Initial {
                items: items.into_iter(),
                revision,
                watch,
            },
        };
        let announce_end = options.bookmarks && options.send_initial_events == Some(true);
        let bookmarks = options.bookmarks;
        let timer = Box::pin(tokio::time::sleep_until(next_wakeup(bookmarks, now, deadline)));
        Self {
            phase,
            framer,
            selection,
            bookmarks,
            announce_end,
            deadline,
            timer,
            progress,
        }
    }

    /// Returns the next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(status) => return Some(self.error_event(&status)),
                Phase::Initial {
                    items,
                    revision,
                    watch,
                } => {
                    if let Some(chunk) = self.initial(items, revision, watch) {
                        return Some(chunk);
                    }
                }
                Phase::Behind { events, watch } => match self.changes(events, watch) {
                    chunk if chunk.is_empty() => tokio::task::yield_now().await,
                    chunk => return Some(chunk),
                },
                Phase::Live(watch) => match self.live(watch).await {
                    Some(chunk) if chunk.is_empty() => {}
                    end => return end,
                },
            }
        }
    }

    /// Returns the next chunk of the initial objects.
    fn initial(
        &mut self,
        mut items: std::vec::IntoIter<Arc<Object>>,
        revision: Revision,
        watch: Box<dyn Watch>,
    ) -> Option<Bytes> {
        let mut out = Vec::new();
        while out.len() < CHUNK {
            let Some(object) = items.next() else {
                if self.announce_end {
                    self.framer.bookmark(revision, true, &mut out);
                    self.progress.add_events(1);
                    self.progress.set_listed();
                }
                self.phase = Phase::Live(watch);
                return (!out.is_empty()).then(|| out.into());
            };
            self.framer.event(EventType::Added, &object, &mut out);
            self.progress.add_events(1);
        }
        self.phase = Phase::Initial {
            items,
            revision,
            watch,
        };
        Some(out.into())
    }

    /// Waits for changes, the next bookmark or the end. An empty chunk means that no change concerned the
    /// watch.
    async fn live(&mut self, mut watch: Box<dyn Watch>) -> Option<Bytes> {
        let result = tokio::select! {
            biased;
            () = &mut self.timer => return self.timer_event(watch),
            result = watch.next(BATCH) => result,
        };
        match result {
            Ok(events) => Some(self.changes(events.into_iter(), watch)),
            Err(error) => Some(self.error_event(&errors::of_store(error, self.framer.served()))),
        }
    }

    /// Returns the next bookmark; `None` to end the watch.
    fn timer_event(&mut self, watch: Box<dyn Watch>) -> Option<Bytes> {
        let now = Instant::now();
        if !self.bookmarks || now >= self.deadline {
            return None;
        }
        let mut out = Vec::new();
        self.framer.bookmark(watch.revision(), false, &mut out);
        self.progress.add_events(1);
        self.timer.as_mut().reset(next_wakeup(true, now, self.deadline));
        self.phase = Phase::Live(watch);
        Some(out.into())
    }

    /// Returns the event with the error `status`, which is the last event.
    fn error_event(&self, status: &Status) -> Bytes {
        self.progress.add_events(1);
        self.framer.error(status)
    }

    /// Returns the first chunk of `events`; the next chunks have the rest.
    fn changes(&mut self, mut events: std::vec::IntoIter<Arc<Event>>, watch: Box<dyn Watch>) -> Bytes {
        let chunk = self.chunk(&mut events);
        self.phase = if events.len() == 0 {
            Phase::Live(watch)
        } else {
            Phase::Behind { events, watch }
        };
        chunk
    }

    /// Encodes events until the chunk is full, or other tasks of the runtime should run.
    fn chunk(&mut self, events: &mut std::vec::IntoIter<Arc<Event>>) -> Bytes {
        let mut out = Vec::new();
        let slice = (SLICE / self.selection.comparisons()).max(1);
        for _ in 0..slice {
            if out.len() >= CHUNK {
                break;
            }
            let Some(event) = events.next() else { break };
            let Some((kind, object)) = self.visible(&event) else {
                continue;
            };
            self.progress.add_events(1);
            let shared = if kind == unfiltered_type(&event) {
                self.framer.shared(&event, kind, &object)
            } else {
                None
            };
            match shared {
                // A single frame is sent unchanged.
                Some(frame) if out.is_empty() && events.len() == 0 => return frame,
                Some(frame) => out.extend_from_slice(&frame),
                None => self.framer.event(kind, &object, &mut out),
            }
        }
        out.into()
    }

    /// Returns `event` as this watcher receives it: an object that leaves the selection is deleted, an object
    /// that enters the selection is added. `None` if the event does not concern the watch.
    fn visible(&self, event: &Event) -> Option<(EventType, Arc<Object>)> {
        let change = &event.change;
        if self
            .selection
            .namespace()
            .is_some_and(|namespace| *namespace != *change.key.namespace)
        {
            return None;
        }
        let everything = self.selection.is_everything();
        let fits = |object: &&Arc<Object>| everything || self.selection.matches(object);
        let before = change.old.as_ref().filter(fits);
        let after = change.new.as_ref().filter(fits);
        match (before, after) {
            (None, None) => None,
            (None, Some(new)) => Some((EventType::Added, Arc::clone(new))),
            (Some(_), Some(new)) => Some((EventType::Modified, Arc::clone(new))),
            (Some(old), None) if old.revision() == change.revision => {
                Some((EventType::Deleted, Arc::clone(old)))
            }
            // The object is sent in its last state, with the revision at which it left the selection.
            (Some(old), None) => Some((EventType::Deleted, Arc::new(old.draft().at(change.revision)))),
        }
    }
}

/// Returns the selected objects of `collection`.
///
/// # Errors
/// 422 when comparing exceeds the limit, 504 when the client no longer waits.
pub(super) fn initial_objects(
    collection: &Collection,
    selection: &Selection,
    served: &ServedVersion,
) -> Result<Initial, Status> {
    let mut items = Vec::new();
    if let Some((namespace, name)) = selection.single(served) {
        let single_object = collection.get(namespace, name);
        items.extend(single_object.filter(|object| selection.matches(object)).cloned());
    } else {
        let mut budget = selection.budget();
        for (_, object) in collection.iter(selection.namespace(), None) {
            budget.spend(selection.comparisons())?;
            if selection.matches(object) {
                items.push(Arc::clone(object));
            }
        }
    }
    Ok(Initial {
        revision: collection.revision,
        items,
    })
}

/// Returns the type of `event` for a watcher without a selector.
fn unfiltered_type(event: &Event) -> EventType {
    match (&event.change.old, &event.change.new) {
        (None, _) => EventType::Added,
        (Some(_), Some(_)) => EventType::Modified,
        (Some(_), None) => EventType::Deleted,
    }
}

/// Returns the time of the next bookmark, which is at the latest shortly before the end of the watch; without
/// bookmarks, the end.
fn next_wakeup(bookmarks: bool, now: Instant, deadline: Instant) -> Instant {
    if !bookmarks {
        return deadline;
    }
    let last = deadline
        .checked_sub(LAST_BOOKMARK)
        .filter(|last| *last > now)
        .unwrap_or(deadline);
    (now + BOOKMARK_INTERVAL).min(last)
}
