//! Answers that take much work.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;

/// On a runtime with a single thread, which serves other requests meanwhile.
#[tokio::test]
async fn an_answer_that_takes_much_work_is_made_apart_and_ends_with_its_time() {
    let bench = bench(|_| {});
    let target = format!("{FOOS}/counting?timeout=200ms");
    let long = bench.ask("alice", "GET", &target);
    let others = async {
        while bench.api.waiting.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        bench.ask("alice", "GET", FOOS).await.status()
    };
    let (long, others) = tokio::join!(long, others);
    assert_eq!(others, 200);
    assert_eq!(refusal(long).await.0, 504);
    let ended = async {
        while bench.api.waiting.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended)
        .await
        .expect("the work goes on though nobody waits");
}
