//! Watch fan-out: many watchers, a few writes a second, and the delay from each write to each watcher.
//!
//! Every watcher must receive every write exactly once, or the run fails.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::bench::middle::{millis, quantile};
use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use memchr::memmem;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::contestant::Contestant;
use crate::feed::{Feed, Form};
use crate::figures::Figures;
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::object::{ROUND, Template, standing};

/// Number of watches that are opened in parallel.
const OPENING: usize = 32;

/// A group of watchers, and the writes that they watch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    /// Name of the figures.
    pub(crate) name: &'static str,
    /// Number of watchers.
    pub(crate) watchers: usize,
    /// Writes per second.
    pub(crate) rate: u32,
    /// Total number of writes.
    pub(crate) writes: usize,
    /// Form of the watches.
    pub(crate) form: Form,
}

/// Runs the group, and measures it.
#[expect(clippy::cast_precision_loss, reason = "a count of events")]
pub(crate) async fn watch(
    contestant: &Contestant,
    crowd: Crowd,
    figures: &mut Figures,
    base: Instant,
) -> Result<()> {
    let mut writer = Connection::open(&contestant.target, Protocol::One).await?;
    let from = revision(&mut writer, &contestant.path).await?;
    let path = format!(
        "{}?watch=true&resourceVersion={from}&timeoutSeconds=600",
        contestant.path
    );
    let opened: Vec<Feed> = stream::iter(0..crowd.watchers)
        .map(|_| Feed::open(contestant, crowd.form, &path))
        .buffer_unordered(OPENING)
        .try_collect()
        .await?;
    let begun = base.elapsed().as_nanos();
    let mut watchers = JoinSet::new();
    for feed in opened {
        watchers.spawn(follow(feed, crowd.writes, begun, base));
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
    // Per thousand events.
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

/// Reads `count` events, and returns the delay of each after its write, in milliseconds.
async fn follow(mut feed: Feed, count: usize, begun: u128, base: Instant) -> Result<Vec<f64>> {
    let mut latencies = Vec::with_capacity(count);
    let mut last = begun;
    let mut events = Vec::new();
    while latencies.len() < count {
        feed.next(&mut events)
            .await
            .with_context(|| format!("{} of {count} events came", latencies.len()))?;
        let now = base.elapsed().as_nanos();
        for event in events.drain(..) {
            let sent = sent(&event).with_context(|| String::from_utf8_lossy(&event).into_owned())?;
            ensure!(sent > last, "an event came twice or out of order");
            last = sent;
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a minute")]
            latencies.push((now - sent) as f64 / 1e6);
        }
    }
    Ok(latencies)
}

/// Number of digits of the time in a write.
const DIGITS: usize = 18;

/// The time of the write of an event, in nanoseconds.
fn sent(event: &[u8]) -> Option<u128> {
    let after = event.get(memmem::find(event, ROUND.as_bytes())? + ROUND.len()..)?;
    // Between key and value, there are a few characters in JSON, and a tag and a length in protobuf.
    let start = after.iter().take(4).position(u8::is_ascii_digit)?;
    let digits = after.get(start..start + DIGITS)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
