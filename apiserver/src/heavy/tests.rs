//! Heavy requests run apart from light ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// A runtime with a single thread, which serves all requests.
#[tokio::test]
async fn the_runtime_answers_while_heavy_work_keeps_a_thread_busy() {
    let heavy = HeavyExecutor::at_most(1);
    let (finish, busy) = mpsc::channel::<()>();
    let work = heavy.run("ann", async move {
        // Blocks its thread, as decoding does.
        busy.recv().unwrap();
        7
    });
    let others = async {
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        finish.send(()).unwrap();
    };
    let (outcome, ()) = tokio::join!(work, others);
    assert_eq!(outcome.unwrap(), 7);
}

#[tokio::test]
async fn no_more_run_at_once_than_there_are_places() {
    let heavy = HeavyExecutor::at_most(2);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let one = || {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        heavy.run("ann", async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
            running.fetch_sub(1, Ordering::SeqCst);
        })
    };
    let all = futures::future::join_all((0..10).map(|_| one())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn work_nobody_waits_for_ends_and_gives_its_place_back() {
    let heavy = HeavyExecutor::at_most(1);
    let endless = heavy.run("ann", std::future::pending::<()>());
    assert!(
        tokio::time::timeout(Duration::from_millis(10), endless)
            .await
            .is_err()
    );
    let next = tokio::time::timeout(Duration::from_secs(10), heavy.run("ann", async { 1 }));
    assert_eq!(next.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn counted_work_ends_with_its_request_though_it_awaits_nothing() {
    let heavy = HeavyExecutor::at_most(1);
    let (tell, told) = mpsc::channel();
    let endless = heavy.run("ann", async move {
        let mut budget = berth_apimachinery::budget::Budget::new("counting", u64::MAX, 0);
        while budget.spend(1).is_ok() {}
        tell.send(()).unwrap();
    });
    assert!(
        tokio::time::timeout(Duration::from_millis(10), endless)
            .await
            .is_err()
    );
    told.recv_timeout(Duration::from_secs(10)).unwrap();
    let next = tokio::time::timeout(Duration::from_secs(10), heavy.run("ann", async { 1 }));
    assert_eq!(next.await.unwrap().unwrap(), 1);
}

#[tokio::test]
#[should_panic(expected = "broken")]
async fn a_panic_is_the_callers() {
    drop(
        HeavyExecutor::at_most(1)
            .run("ann", async { panic!("broken") })
            .await,
    );
}
