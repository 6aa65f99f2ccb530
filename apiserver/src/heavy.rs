//! Heavy requests run on threads of their own, a few at a time, so that those of the runtime stay free for everybody.
//!
//! What a request costs grows with what was sent and with the object it changes: decoding, patching, admission, validation
//! and serializing megabytes take a good part of a second, in which nothing else would run on that thread, probes included.

use std::future::Future;
use std::sync::Arc;

use meta::Status;
use meta::budget::Ended;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

#[cfg(test)]
mod tests;

/// Requests with more bytes than this to work on are heavy.
pub const LIGHT: usize = 128 * 1024;

/// Ends the work when it is dropped: what is counted, and what awaits.
struct Guard(Ended, #[expect(dead_code, reason = "dropped")] DropGuard);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A bound on heavy work at once.
#[derive(Debug)]
pub struct Heavy {
    places: Arc<Semaphore>,
}

impl Default for Heavy {
    /// As many at once as there are processors, and at least two: some only wait for the disk.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        Self::at_most(processors.max(2))
    }
}

impl Heavy {
    fn at_most(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Runs `work` on a thread of its own, once there is a place. When this future is dropped, because the time allotted
    /// is over or the client is gone, the work ends at its next `await`, and so does what it counts ([`meta::Budget`]).
    ///
    /// # Errors
    /// 503 when the server is shutting down.
    ///
    /// # Panics
    /// Where the work does.
    pub async fn run<T, F>(&self, work: F) -> Result<T, Status>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let stopped = || Status::unavailable("the server is shutting down", 1);
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_closed| stopped())?;
        let dropped = CancellationToken::new();
        let ended = Ended::default();
        let _guard = Guard(ended.clone(), dropped.clone().drop_guard());
        let runtime = Handle::current();
        let work = work.instrument(tracing::Span::current());
        let running = tokio::task::spawn_blocking(move || {
            // The place is free when the work has really ended.
            let _place = place;
            let work = async {
                tokio::select! {
                    biased;
                    () = dropped.cancelled() => None,
                    outcome = work => Some(outcome),
                }
            };
            ended.during(|| runtime.block_on(work))
        });
        match running.await {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(stopped()),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err(stopped()),
            },
        }
    }
}
