//! Activity of a connection: whether it has requests in progress, and since when it has none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counter of the requests in progress on one connection.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    requests: usize,
    quiet_since: Instant,
}

/// Request in progress; dropping this value ends the request.
#[derive(Debug)]
struct Request(Arc<Activity>);

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            requests: 0,
            quiet_since: Instant::now(),
        })))
    }

    /// Counts a request until the returned marker is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> crate::chain::BusyMarker {
        self.0.lock().requests += 1;
        Arc::new(Request(self.clone()))
    }

    /// Time since the end of the last request, or since the start of a connection without requests; zero
    /// while a request is in progress.
    pub(super) fn quiet_for(&self) -> Duration {
        let state = self.0.lock();
        if state.requests > 0 {
            Duration::ZERO
        } else {
            state.quiet_since.elapsed()
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.requests -= 1;
        state.quiet_since = Instant::now();
    }
}
