//! Heavy requests run on separate threads, a few at a time, so that the threads of the runtime stay free for
//! other requests.
//!
//! The effort of a request grows with its body, with the object that it changes and with the objects that it
//! compares. Decoding, patching, admission, validation and serializing of megabytes can take a large part of
//! a second, and so can comparing many objects. During this time, the thread could not run other requests,
//! such as probes. The effort is estimated before the request begins, as the number of bytes that could be
//! parsed in the same time (about ten nanoseconds each). Users take turns ([`queue`]).

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

/// Highest effort of a light request, in bytes that could be parsed in the same time. Requests above it are
/// heavy.
pub const LIGHT: usize = 128 * 1024;

/// Effort of a request whose effort cannot be estimated; such a request counts as heavy.
pub const UNKNOWN: usize = usize::MAX;

/// Handle of running work. Dropping the handle ends the work at the next `await`, or at the next check of a
/// [`berth_apimachinery::budget::Budget`].
struct WorkHandle(AbandonedFlag, #[expect(dead_code, reason = "dropped")] DropGuard);

impl Drop for WorkHandle {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Executor of heavy requests, which runs a limited number of them at a time.
#[derive(Debug)]
pub struct HeavyExecutor {
    queue: Arc<Queue>,
}

impl Default for HeavyExecutor {
    /// Creates an executor with as many places as processors, at least two, since some requests only wait for
    /// the disk.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self::at_most(processors.max(2))
    }
}

impl HeavyExecutor {
    fn at_most(places: usize) -> Self {
        Self {
            queue: Queue::new(places),
        }
    }

    /// Runs `work` on a separate thread, when it is the turn of `user`. If the returned future is dropped (at
    /// a timeout, or because the client has disconnected), the work ends at the next `await`, or at the next
    /// check of a [`berth_apimachinery::budget::Budget`].
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
        let _handle = WorkHandle(abandoned.clone(), dropped.clone().drop_guard());
        let runtime = Handle::current();
        let work = work.instrument(tracing::Span::current());
        let task = tokio::task::spawn_blocking(move || {
            // The place is released when the work has ended, which may be later than the drop of the future.
            let _place = place;
            let work = async {
                tokio::select! {
                    biased;
                    () = dropped.cancelled() => None,
                    outcome = work => Some(outcome),
                }
            };
            abandoned.scope(|| runtime.block_on(work))
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
