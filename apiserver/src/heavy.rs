//! Heavy requests run on separate threads, a few at a time, so that the threads of the runtime stay free for
//! other requests.
//!
//! The cost of a request grows with its body, with the object it changes and with the objects it compares.
//! Decoding, patching, admission, validation and serializing of megabytes can take a good part of a second,
//! and so can comparing many objects. Meanwhile, the thread could not run other requests, such as probes. The
//! cost is estimated before the request begins, as the number of bytes that could be parsed in
//! the same time (some ten nanoseconds each). Users take turns ([`queue`]).

mod queue;

use std::future::Future;
use std::sync::Arc;

use berth_apimachinery::Status;
use berth_apimachinery::budget::AbandonedFlag;
use tokio::runtime::Handle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use queue::Queue;

#[cfg(test)]
mod tests;

/// Effort above which a request is heavy, in bytes that could be parsed in the same time.
pub const LIGHT: usize = 128 * 1024;

/// The effort of requests that always count as heavy, since their effort cannot be estimated.
pub const UNKNOWN: usize = usize::MAX;

/// Guard that ends the work when the guard is dropped: at the next `await`, or the next counted step.
struct Guard(AbandonedFlag, #[expect(dead_code, reason = "dropped")] DropGuard);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Limit of concurrent heavy work.
#[derive(Debug)]
pub struct Heavy {
    queue: Arc<Queue>,
}

impl Default for Heavy {
    /// Has as many places as there are processors, and at least two: some requests only wait for the disk.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self::at_most(processors.max(2))
    }
}

impl Heavy {
    fn at_most(places: usize) -> Self {
        Self {
            queue: Queue::new(places),
        }
    }

    /// Runs `work` on a separate thread, when it is the turn of `user`. When this future is dropped, because
    /// of the timeout or because the client has disconnected, the work ends at its next `await`; counted work
    /// inside it ([`berth_apimachinery::budget::Budget`]) ends at its next check.
    ///
    /// # Errors
    /// 503 when the server is shutting down.
    ///
    /// # Panics
    /// When the work panics.
    pub async fn run<T, F>(&self, user: &str, work: F) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let stopped = || Status::unavailable("the server is shutting down", 1);
        let place = self.queue.turn(user).await;
        let dropped = CancellationToken::new();
        let abandoned = AbandonedFlag::default();
        let _guard = Guard(abandoned.clone(), dropped.clone().drop_guard());
        let runtime = Handle::current();
        let work = work.instrument(tracing::Span::current());
        let task = tokio::task::spawn_blocking(move || {
            // The place is released when the work has ended, which may be after the caller dropped its
            // future.
            let _place = place;
            let work = async {
                tokio::select! {
                    biased;
                    () = dropped.cancelled() => None,
                    outcome = work => Some(outcome),
                }
            };
            abandoned.during(|| runtime.block_on(work))
        });
        match task.await {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(stopped()),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err(stopped()),
            },
        }
    }
}
