//! Facts about a response that its handler leaves in the extensions of the response, for the audit log,
//! metrics and the memory limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reason and message of a failed request, for the audit log. A response with this extension has a `Status`
/// as JSON, which may be converted to YAML.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Reason of the status.
    pub(crate) reason: String,
    /// Message of the status.
    pub(crate) message: String,
}

/// Marker of a response whose body is a list of stored objects. The body is joined from the bytes of these
/// objects while it is read, and needs no memory of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinedList;

/// Progress of a watch, for metrics: the number of sent events, and whether the initial objects have been
/// sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchProgress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Number of events since the last [`WatchProgress::take_events`].
    events: AtomicU64,
    /// Whether all initial objects have been sent.
    listed: AtomicBool,
}

impl WatchProgress {
    /// Adds `events` events, which the next chunk contains.
    pub(crate) fn add_events(&self, events: u64) {
        self.0.events.fetch_add(events, Ordering::Relaxed);
    }

    /// Returns the number of events since the last call.
    pub(crate) fn take_events(&self) -> u64 {
        self.0.events.swap(0, Ordering::Relaxed)
    }

    /// Records that the next chunk completes the initial objects of the watch.
    pub(crate) fn set_listed(&self) {
        self.0.listed.store(true, Ordering::Relaxed);
    }

    /// Whether all initial objects have been sent.
    pub(crate) fn is_listed(&self) -> bool {
        self.0.listed.load(Ordering::Relaxed)
    }
}
