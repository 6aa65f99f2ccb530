//! End of the streams of HTTP/2 peers that do not read their answers.
//!
//! A peer may keep the window of one stream closed while its connection works. The body of the answer is then
//! not polled, and cannot end the stream. Instead, [`StreamExecutor`] spawns a task for each stream, which
//! ends when the peer accepts no data within the limit that the answer sets.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Instant, Sleep};

#[cfg(test)]
mod tests;

tokio::task_local! {
    static PROGRESS_LIMIT: ProgressLimit;
}

/// Time in which the peer of a stream must accept the next data, as the answer sets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgressLimit(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Limit in milliseconds; 0 means unlimited.
    millis: AtomicU32,
    /// Counter of the parts that the peer has accepted.
    progress: AtomicU32,
}

impl ProgressLimit {
    /// Returns the limit of the current task; outside of a [`StreamExecutor`] (HTTP/1.1, tests), a limit
    /// without effect.
    pub(crate) fn of_task() -> Self {
        PROGRESS_LIMIT.try_with(Clone::clone).unwrap_or_default()
    }

    /// Sets the limit for each further part of the answer to `limit`.
    pub(crate) fn set(&self, limit: Duration) {
        let millis = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX).max(1);
        self.0.millis.store(millis, Ordering::Relaxed);
    }

    /// Records that the peer has accepted data.
    pub(crate) fn record_progress(&self) {
        self.0.progress.fetch_add(1, Ordering::Relaxed);
    }
}

/// Executor that spawns a task for each HTTP/2 stream, which a [`ProgressLimit`] ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamExecutor;

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        let progress_limit = ProgressLimit::default();
        let task = StreamTask {
            future: Box::pin(PROGRESS_LIMIT.scope(progress_limit.clone(), future)),
            progress_limit,
            progress: 0,
            timer: None,
        };
        drop(tokio::spawn(task));
    }
}

/// Task of a stream, which ends when the stream is done, or when the peer exceeds the limit.
struct StreamTask<F> {
    future: Pin<Box<F>>,
    progress_limit: ProgressLimit,
    /// Value of the counter of accepted parts at the start of `timer`.
    progress: u32,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Future for StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.future.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let state = Arc::clone(&self.progress_limit.0);
        let millis = state.millis.load(Ordering::Relaxed);
        if millis == 0 {
            return Poll::Pending;
        }
        let progress = state.progress.load(Ordering::Relaxed);
        if self.timer.is_none() || self.progress != progress {
            let until = Instant::now() + Duration::from_millis(millis.into());
            self.progress = progress;
            self.timer = Some(Box::pin(tokio::time::sleep_until(until)));
        }
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}
