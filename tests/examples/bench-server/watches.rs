//! Watch fan-out: many watchers, a few writes a second, and how long after a write was sent each watcher has
//! it.
//!
//! Every watcher must see every write, once: what is missing or twice fails the run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use berth_tests::bench::middle::{millis, quantile};
use bytes::BytesMut;
use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memchr::memmem;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::contestant::Contestant;
use crate::figures::Figures;
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::object::{ROUND, Template, standing};

/// Longest wait of watchers for an event.
const DEADLINE: Duration = Duration::from_secs(60);
/// Watches opened at once.
const OPENING: usize = 32;

/// A crowd of watchers and what they look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    /// Name of the figures.
    pub(crate) name: &'static str,
    /// Number of clusters.
    pub(crate) watchers: usize,
    /// Writes a second.
    pub(crate) rate: u32,
    /// Writes in all.
    pub(crate) writes: usize,
}

/// Lets the crowd watch.
#[expect(clippy::cast_precision_loss, reason = "a count of events")]
pub(crate) async fn watch(
    contestant: &Contestant,
    crowd: Crowd,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    let mut writer = Connection::open(&contestant.target, Protocol::One).await?;
    let from = revision(&mut writer, &contestant.path).await?;
    let call = Call::get(format!(
        "{}?watch=true&resourceVersion={from}&timeoutSeconds=600",
        contestant.path
    ));
    let opened: Vec<(Connection, Incoming)> = stream::iter(0..crowd.watchers)
        .map(|_| open(contestant, &call))
        .buffer_unordered(OPENING)
        .try_collect()
        .await?;
    let begun = base.elapsed().as_nanos();
    let mut watchers = JoinSet::new();
    for (connection, body) in opened {
        watchers.spawn(follow(connection, body, crowd.writes, begun, base));
    }
    let used = contestant.used();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / crowd.rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0..crowd.writes {
        ticks.tick().await;
        let one = format!("{}/{}", contestant.path, standing(number));
        let patch = Template::patch(base.elapsed().as_nanos());
        writer.drained(&Call::new(Method::PATCH, one, patch)).await?;
    }
    let mut latencies = Vec::with_capacity(crowd.watchers * crowd.writes);
    while let Some(watcher) = watchers.join_next().await {
        latencies.extend(watcher?.with_context(|| format!("{}: {}", contestant.key, crowd.name))?);
    }
    let used = contestant.used().since(used);
    let mut add = |figure: &str, value: f64| {
        figures.add(contestant.key, &format!("{}.{figure}", crowd.name), value);
    };
    add("p50", quantile(&latencies, 0.5));
    add("p99", quantile(&latencies, 0.99));
    // Of a thousand events.
    add(
        "cpu",
        millis(used.servers + used.database) * 1_000.0 / latencies.len() as f64,
    );
    Ok(())
}

async fn revision(connection: &mut Connection, path: &str) -> Result<String> {
    let list = connection.read(&Call::get(format!("{path}?limit=1"))).await?;
    let list: Value = serde_json::from_slice(&list)?;
    let revision = list["metadata"]["resourceVersion"].as_str();
    Ok(revision.context("a list has a resourceVersion")?.to_owned())
}

async fn open(contestant: &Contestant, call: &Call) -> Result<(Connection, Incoming)> {
    let mut connection = Connection::open(&contestant.target, Protocol::One).await?;
    let body = connection.send(call).await?.into_body();
    Ok((connection, body))
}

/// Reads until `count` events are there; gives how long after its write was sent each came, in milliseconds.
async fn follow(
    connection: Connection,
    mut body: Incoming,
    count: usize,
    begun: u128,
    base: Instant,
) -> Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(count);
    let mut last = begun;
    let mut rest = BytesMut::new();
    while latencies.len() < count {
        let frame = tokio::time::timeout(DEADLINE, body.frame())
            .await
            .with_context(|| format!("{} of {count} events came", latencies.len()))?;
        let Some(frame) = frame else {
            bail!("the watch ended after {} of {count} events", latencies.len());
        };
        let now = base.elapsed().as_nanos();
        if let Some(data) = frame?.data_ref() {
            rest.extend_from_slice(data);
        }
        while let Some(end) = memchr::memchr(b'\n', &rest) {
            let event = rest.split_to(end + 1);
            let sent = sent(&event).with_context(|| String::from_utf8_lossy(&event).into_owned())?;
            ensure!(sent > last, "an event came twice or out of order");
            last = sent;
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a minute")]
            latencies.push((now - sent) as f64 / 1e6);
        }
    }
    drop(connection);
    Ok(latencies)
}

/// When the write of an event was sent, in nanoseconds.
fn sent(event: &[u8]) -> Option<u128> {
    let start = memmem::find(event, ROUND.as_bytes())? + ROUND.len() + r#"":""#.len();
    let digits = event.get(start..start + 18)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
