//! Unread answers do not block other requests.

use std::future::{pending, poll_fn};

use tokio::sync::oneshot;

use super::*;

/// Sends a signal when it is dropped.
struct Ends(Option<oneshot::Sender<()>>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(ends) = self.0.take() {
            ends.send(()).ok();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_answer_makes_no_progress_is_ended() {
    let (ends, ended) = oneshot::channel();
    StreamExecutor.execute(async move {
        let _ends = Ends(Some(ends));
        ProgressLimit::of_task().set(Duration::from_secs(10));
        pending::<()>().await;
    });
    let started = Instant::now();
    ended.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_read_slowly_or_has_no_answer_yet_goes_on() {
    let (done, finished) = oneshot::channel();
    StreamExecutor.execute(async move {
        // Simulates a handler at work.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let progress_limit = ProgressLimit::of_task();
        progress_limit.set(Duration::from_secs(10));
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(9)).await;
            progress_limit.record_progress();
        }
        done.send(()).unwrap();
    });
    finished.await.unwrap();
}

#[tokio::test]
async fn outside_of_a_stream_nothing_is_limited() {
    let progress_limit = ProgressLimit::of_task();
    progress_limit.set(Duration::from_millis(1));
    progress_limit.record_progress();
    poll_fn(|_| Poll::Ready(())).await;
}
