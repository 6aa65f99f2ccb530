//! Delay from the begin of a write at the first server to its event at the last.

use std::time::Duration;

use anyhow::{Context, Result};
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::middle::millis;
use berth_tests::bench::object::{ROUND, Template, standing};
use http::Method;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::load::now;
use crate::replicas::{CLUSTERS, Replicas};

/// Number of writes, which are sent one after the other.
const WRITES: usize = 200;
/// Pause between two writes, so that each finds servers that have finished the work of the one before.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest wait for an event.
const LIMIT: Duration = Duration::from_secs(10);

/// The delay of each write in milliseconds.
pub(crate) async fn delays(replicas: &Replicas) -> Result<Vec<f64>> {
    let (first, last) = (
        &replicas.servers[0],
        replicas.servers.last().context("there are servers")?,
    );
    let mut writer = Connection::open(&first.target, Protocol::One).await?;
    let mut reader = Connection::open(&last.target, Protocol::One).await?;
    let list = reader.read(&Call::get(format!("{CLUSTERS}?limit=1"))).await?;
    let list: Value = serde_json::from_slice(&list)?;
    let from = list["metadata"]["resourceVersion"]
        .as_str()
        .context("a list has a version")?;
    let watch = Call::get(format!(
        "{CLUSTERS}?watch=true&resourceVersion={from}&timeoutSeconds=600"
    ));
    let mut events = reader.send(&watch).await?.into_body();
    let mut delays = Vec::with_capacity(WRITES);
    for number in 0..WRITES {
        let value = format!("{:018}", now());
        let path = format!("{CLUSTERS}/{}", standing(number));
        let body = Template::patch(value.parse()?);
        let begun = Instant::now();
        let sent = tokio::spawn(async move {
            let patch = Call::new(Method::PATCH, path, body);
            writer.drained(&patch).await.map(|_| writer)
        });
        let mut seen = Vec::new();
        let wanted = format!("{ROUND}\":\"{value}");
        while memchr::memmem::find(&seen, wanted.as_bytes()).is_none() {
            let frame = timeout(LIMIT, events.frame())
                .await
                .context("an event does not come")?;
            let frame = frame.context("the watch ended")??;
            seen.extend_from_slice(frame.data_ref().context("a watch sends data")?);
        }
        delays.push(millis(begun.elapsed()));
        writer = sent.await??;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(delays)
}
