//! End of the streams of HTTP/2 peers that do not read their answers.
//!
//! A peer may keep the window of one stream closed while its connection works. The body is then not polled,
//! and cannot end the stream. Instead, [`Streams`] spawns a task for each stream, which ends when the answer
//! makes no progress within the answer's own limit.

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
    static PATIENCE: Patience;
}

/// Time limit of the peer, as the current answer sets it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Limit in milliseconds; 0 means unlimited.
    longest: AtomicU32,
    /// Counter of the parts that the peer has accepted.
    progress: AtomicU32,
}

impl Patience {
    /// Returns the time limit of the present task, or an unused limit for a task without a limit (HTTP/1.1,
    /// tests).
    pub(crate) fn of_task() -> Self {
        PATIENCE.try_with(Clone::clone).unwrap_or_default()
    }

    /// Sets the limit of `longest` for each further part of the answer.
    pub(crate) fn limit(&self, longest: Duration) {
        let millis = u32::try_from(longest.as_millis()).unwrap_or(u32::MAX).max(1);
        self.0.longest.store(millis, Ordering::Relaxed);
    }

    /// Records that the peer has accepted data.
    pub(crate) fn progress(&self) {
        self.0.progress.fetch_add(1, Ordering::Relaxed);
    }
}

/// Executor that spawns the tasks of streams.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streams;

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        let patience = Patience::default();
        let task = StreamTask {
            future: Box::pin(PATIENCE.scope(patience.clone(), future)),
            patience,
            progress: 0,
            timer: None,
        };
        drop(tokio::spawn(task));
    }
}

/// Task of a stream, which ends when it is done or its peer exceeds the limit.
struct StreamTask<F> {
    future: Pin<Box<F>>,
    patience: Patience,
    /// Value of the counter at the start of `timer`.
    progress: u32,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<F: Future> Future for StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.future.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let state = Arc::clone(&self.patience.0);
        let longest = state.longest.load(Ordering::Relaxed);
        if longest == 0 {
            return Poll::Pending;
        }
        let progress = state.progress.load(Ordering::Relaxed);
        if self.timer.is_none() || self.progress != progress {
            let until = Instant::now() + Duration::from_millis(longest.into());
            self.progress = progress;
            self.timer = Some(Box::pin(tokio::time::sleep_until(until)));
        }
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}
