//! Shares: one user's requests leave room for others.

use std::time::Duration;

use futures::stream;

use super::*;

/// A body that starts and then stalls.
fn trickling() -> Body {
    let begin = stream::iter([Ok::<_, std::io::Error>(bytes::Bytes::from_static(b"{"))]);
    Body::from_stream(futures::StreamExt::chain(begin, stream::pending()))
}

/// Starts a write whose body stalls, and waits until it is being read.
async fn begun(bench: &Bench, user: &str) -> tokio::task::JoinHandle<Response<Body>> {
    let (chain, connection) = (Arc::clone(&bench.chain), bench.connection(user, &[]));
    let before = chain.memory.held();
    let write = request("POST", FOOS, trickling());
    let task = tokio::spawn({
        let chain = Arc::clone(&chain);
        async move { chain.handle(&connection, write).await }
    });
    crate::testing::eventually(|| chain.memory.held() > before + memory::REQUEST).await;
    task
}

#[tokio::test]
async fn a_write_whose_body_does_not_come_takes_no_place() {
    let bench = bench(|config| config.limits.writes = 1);
    let waiting = [begun(&bench, "alice").await, begun(&bench, "alice").await];
    assert_eq!(bench.chain.writes.in_flight(), 0);
    let other = request("POST", FOOS, Body::from("{}"));
    let answer = bench.chain.handle(&bench.connection("alice", &[]), other).await;
    assert_eq!(answer.status(), 200);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_408_and_one_that_is_slow_is_not() {
    let bench = bench(|_| {});
    let connection = bench.connection("alice", &[]);
    let refused = bench
        .chain
        .handle(&connection, request("POST", FOOS, trickling()))
        .await;
    let (code, message) = refusal(refused).await;
    assert_eq!(code, 408);
    assert!(message.contains("1 bytes have arrived"), "{message}");
    assert_eq!(bench.chain.memory.held(), 0);
    // Five kilobytes a second, for twenty seconds.
    let slow = stream::unfold(0, |sent| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        (sent < 20).then(|| {
            let part = bytes::Bytes::from(vec![b' '; 5 * 1024]);
            (Ok::<_, std::io::Error>(part), sent + 1)
        })
    });
    let answer = bench
        .chain
        .handle(&connection, request("POST", FOOS, Body::from_stream(slow)))
        .await;
    assert_eq!(text(answer).await, format!("alice {}", 20 * 5 * 1024));
}

#[tokio::test]
async fn a_watch_is_charged_for_what_its_selectors_compare() {
    let bench = bench(|config| config.memory = crate::memory::ByteLimiter::new(8 << 20));
    let plain = bench.ask("alice", "GET", &format!("{FOOS}?watch=1")).await;
    let least = bench.chain.memory.held();
    assert_eq!(least, memory::LONG_RUNNING);
    let terms = vec!["!a"; 2_000].join(",");
    let target = format!("{FOOS}?watch=1&labelSelector={terms}");
    let long = bench.ask("alice", "GET", &target).await;
    assert_eq!(long.status(), 200);
    assert!(bench.chain.memory.held() > least + terms.len() * 32);
    let second = bench.ask("alice", "GET", &target).await;
    assert_eq!(second.status(), 200);
    let third = bench.ask("alice", "GET", &target).await;
    assert_eq!(third.status(), 429);
    drop((plain, long, second, third));
    assert_eq!(bench.chain.memory.held(), 0);
}
