//! Detection of an unused console, which has no open answers: an open page always has open watches.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::sync::watch;

/// Number of open answers: answers whose body is not sent completely yet.
pub(crate) struct OpenAnswers {
    count: watch::Sender<usize>,
}

impl Default for OpenAnswers {
    fn default() -> Self {
        Self {
            count: watch::Sender::new(0),
        }
    }
}

/// An answer that counts as open until this value is dropped.
pub(crate) struct OpenAnswer(Arc<OpenAnswers>);

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| *count -= 1);
    }
}

impl OpenAnswers {
    /// Counts one more open answer until the returned value is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> OpenAnswer {
        self.count.send_modify(|count| *count += 1);
        OpenAnswer(Arc::clone(self))
    }

    /// Waits until no answer has been open for `limit`.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        let mut changes = self.count.subscribe();
        loop {
            // Waiting cannot fail, since the sender is borrowed.
            drop(changes.wait_for(|count| *count == 0).await);
            if tokio::time::timeout(limit, changes.changed()).await.is_err() {
                return;
            }
        }
    }
}

/// A body that keeps its `answer` counted as open until the body is dropped.
pub(crate) fn counted(body: Body, answer: OpenAnswer) -> Body {
    Body::new(CountedBody {
        body,
        _answer: answer,
    })
}

struct CountedBody {
    body: Body,
    _answer: OpenAnswer,
}

impl http_body::Body for CountedBody {
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
        let answers = Arc::new(OpenAnswers::default());
        let begun = tokio::time::Instant::now();
        let watch = counted(Body::empty(), answers.open());
        let waiting = tokio::spawn({
            let answers = Arc::clone(&answers);
            async move {
                answers.idle_for(LIMIT).await;
                tokio::time::Instant::now()
            }
        });
        tokio::time::sleep(LIMIT * 3).await;
        assert!(!waiting.is_finished(), "a watch is open");
        drop(watch);
        tokio::time::sleep(LIMIT / 2).await;
        drop(answers.open());
        let ended = waiting.await.unwrap();
        assert_eq!(ended - begun, LIMIT * 3 + LIMIT / 2 + LIMIT);
    }
}
