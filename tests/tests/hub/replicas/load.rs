//! Repeated reads through the aggregator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use kube::client::Body;
use tokio::task::JoinHandle;

const TARGETS: &str = "/apis/scheduling.berth.dev/v1alpha1/targets";
/// Time limit of the attempts of one request, which as in clients are immediate and then every fifth of
/// a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// Running readers.
pub(crate) struct Load {
    end: Arc<AtomicBool>,
    retries: Arc<AtomicUsize>,
    readers: Vec<JoinHandle<usize>>,
}

impl Load {
    /// Starts `readers` that read targets with `client`.
    pub(crate) fn start(client: &Client, readers: usize) -> Self {
        let (end, retries) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let readers =
            (0..readers).map(|_| tokio::spawn(read(client.clone(), Arc::clone(&end), Arc::clone(&retries))));
        Self {
            readers: readers.collect(),
            end,
            retries,
        }
    }

    /// Ends the readers, and returns the number of answered requests, and the number of retried failures.
    pub(crate) async fn stop(self) -> (usize, usize) {
        self.end.store(true, Ordering::Relaxed);
        let mut count = 0;
        for reader in self.readers {
            count += reader.await.expect("every request is answered in the end");
        }
        (count, self.retries.load(Ordering::Relaxed))
    }
}

async fn read(client: Client, end: Arc<AtomicBool>, retries: Arc<AtomicUsize>) -> usize {
    let mut count = 0;
    while !end.load(Ordering::Relaxed) {
        let start = Instant::now();
        loop {
            let request = http::Request::get(TARGETS).body(Body::empty());
            match client.send(request.expect("a request")).await {
                Ok(response) if response.status().is_success() => break,
                // A read may always be repeated: these are the aggregator's codes for an unreachable server.
                Ok(response) if [429, 502, 503, 504].contains(&response.status().as_u16()) => {}
                Ok(response) => panic!("{TARGETS}: {}", response.status()),
                // A broken connection is opened again.
                Err(_) => {}
            }
            retries.fetch_add(1, Ordering::Relaxed);
            assert!(start.elapsed() < PATIENCE, "no answer in {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        count += 1;
    }
    count
}
