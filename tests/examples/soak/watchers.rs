//! Watchers of all ManagedClusters, which must not miss any change.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::object::{Make, Template};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::task::JoinSet;

/// Time limit until the last events.
const DEADLINE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// The watchers.
pub(crate) struct Watchers {
    seen: Vec<Arc<AtomicUsize>>,
    /// The tasks, which end with this value.
    _tasks: JoinSet<()>,
}

impl Watchers {
    /// Starts the watchers.
    pub(crate) async fn start(target: &Target, count: usize) -> Result<Self> {
        let path = Template::path(Make::Cluster("cluster.open-cluster-management.io/v1"));
        let mut one = Connection::open(target, Protocol::One).await?;
        let list: Value = serde_json::from_slice(&one.read(&Call::get(format!("{path}?limit=1"))).await?)?;
        let revision = list["metadata"]["resourceVersion"].as_str();
        let revision = revision.context("a list has a resourceVersion")?;
        let call = Call::get(format!(
            "{path}?watch=true&resourceVersion={revision}&timeoutSeconds=864000"
        ));
        let (mut seen, mut tasks) = (Vec::new(), JoinSet::new());
        for _ in 0..count {
            let mut connection = Connection::open(target, Protocol::One).await?;
            let body = connection.send(&call).await?.into_body();
            let counter = Arc::new(AtomicUsize::new(0));
            seen.push(Arc::clone(&counter));
            tasks.spawn(follow(connection, body, counter));
        }
        Ok(Self { seen, _tasks: tasks })
    }

    /// Total number of received events.
    pub(crate) fn events(&self) -> usize {
        self.seen.iter().map(|seen| seen.load(Ordering::Relaxed)).sum()
    }

    /// Waits until each has received `count` events.
    pub(crate) async fn have_seen(&self, count: usize) -> Result<()> {
        let begun = Instant::now();
        loop {
            let counts = self.seen.iter().map(|seen| seen.load(Ordering::Relaxed));
            let (least, most) = (
                counts.clone().min().unwrap_or(count),
                counts.max().unwrap_or(count),
            );
            if least == count && most == count {
                return Ok(());
            }
            ensure!(
                most <= count && begun.elapsed() < DEADLINE,
                "of {count} changes watchers saw from {least} to {most}"
            );
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Counts the lines of a watch; one that ends has too few, which the end of the run detects.
async fn follow(connection: Connection, mut body: Incoming, seen: Arc<AtomicUsize>) {
    while let Some(Ok(frame)) = body.frame().await {
        if let Some(data) = frame.data_ref() {
            seen.fetch_add(memchr::memchr_iter(b'\n', data).count(), Ordering::Relaxed);
        }
    }
    drop(connection);
}
