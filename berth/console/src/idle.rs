//! Detection of an unused console. An open page always has open watches, so a console without answers in
//! progress is unused.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::sync::watch;

/// Counter of the answers in progress.
pub(crate) struct Idle {
    open: watch::Sender<usize>,
}

impl Default for Idle {
    fn default() -> Self {
        Self {
            open: watch::Sender::new(0),
        }
    }
}

/// An answer in progress, which counts until the value is dropped.
pub(crate) struct Busy(Arc<Idle>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl Idle {
    /// Counts one more answer until the returned value is dropped.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.open.send_modify(|open| *open += 1);
        Busy(Arc::clone(self))
    }

    /// Waits until no answer has been in progress for `limit`.
    pub(crate) async fn for_long(&self, limit: Duration) {
        let mut changes = self.open.subscribe();
        loop {
            // Waiting cannot fail, since the sender is borrowed.
            drop(changes.wait_for(|open| *open == 0).await);
            if tokio::time::timeout(limit, changes.changed()).await.is_err() {
                return;
            }
        }
    }
}

/// A body whose answer counts as in progress until the body is dropped.
pub(crate) fn counted(body: Body, busy: Busy) -> Body {
    Body::new(ActivityGuard { body, _busy: busy })
}

struct ActivityGuard {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for ActivityGuard {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn it_is_idle_once_no_answer_was_on_its_way_for_the_whole_time() {
        let idle = Arc::new(Idle::default());
        let begun = tokio::time::Instant::now();
        let watch = counted(Body::empty(), idle.busy());
        let waiting = tokio::spawn({
            let idle = Arc::clone(&idle);
            async move {
                idle.for_long(LIMIT).await;
                tokio::time::Instant::now()
            }
        });
        tokio::time::sleep(LIMIT * 3).await;
        assert!(!waiting.is_finished(), "a watch is open");
        drop(watch);
        tokio::time::sleep(LIMIT / 2).await;
        drop(idle.busy());
        let ended = waiting.await.unwrap();
        assert_eq!(ended - begun, LIMIT * 3 + LIMIT / 2 + LIMIT);
    }
}
