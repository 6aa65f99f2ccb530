//! Repeated operations on all servers or on the first, and their costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Result;
use berth_tests::bench::http::{Call, Connection, Protocol};
use berth_tests::bench::middle::millis;
use berth_tests::bench::object::{Template, standing};
use http::Method;
use tokio::task::JoinSet;

use crate::OBJECTS;
use crate::replicas::{CLUSTERS, Replicas, Used};

/// Number of connections, as many as one, two and three servers divide.
pub(crate) const CONNECTIONS: usize = 12;

/// The servers that are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The first, which is the leader.
    First,
    /// All of them, with as many connections to each.
    All,
}

/// Rate, and processor time of one operation in milliseconds.
pub(crate) struct Cost {
    /// Operations a second.
    pub(crate) rate: f64,
    /// Of the first server.
    pub(crate) first: f64,
    /// Of each other server; 0 without one.
    pub(crate) others: f64,
    /// Of all servers together.
    pub(crate) all: f64,
    /// Of etcd.
    pub(crate) etcd: f64,
}

impl Cost {
    /// Cost of one of `count` operations that took `elapsed` together.
    #[expect(clippy::cast_precision_loss, reason = "counts of operations and servers")]
    pub(crate) fn new(after: &Used, before: &Used, elapsed: Duration, count: usize) -> Self {
        let operations = count as f64;
        let spent = |after: Duration, before: Duration| millis(after.saturating_sub(before)) / operations;
        let pairs = after.servers.iter().zip(&before.servers);
        let servers: Vec<f64> = pairs.map(|(after, before)| spent(*after, *before)).collect();
        let all = servers.iter().sum::<f64>();
        Self {
            rate: operations / elapsed.as_secs_f64(),
            first: servers[0],
            others: (all - servers[0]) / (servers.len().max(2) - 1) as f64,
            all,
            etcd: spent(after.etcd, before.etcd),
        }
    }
}

/// Sends the calls of `call` for 0, 1, 2 and so on for `time`, over all connections at once.
pub(crate) async fn measure(
    replicas: &Replicas,
    at: At,
    call: fn(usize) -> Call,
    time: Duration,
) -> Result<Cost> {
    let asked = match at {
        At::First => 1,
        At::All => replicas.servers.len(),
    };
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        let target = &replicas.servers[number % asked].target;
        connections.push(Connection::open(target, Protocol::One).await?);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let (before, begun) = (replicas.used(), Instant::now());
    let mut clients = JoinSet::new();
    for mut connection in connections {
        let next = Arc::clone(&next);
        clients.spawn(async move {
            let mut count = 0;
            while begun.elapsed() < time {
                let number = next.fetch_add(1, Ordering::Relaxed);
                connection.drained(&call(number)).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(client) = clients.join_next().await {
        count += client??;
    }
    let elapsed = begun.elapsed();
    // Work that follows from writes belongs to them.
    replicas.quiet();
    Ok(Cost::new(&replicas.used(), &before, elapsed, count))
}

/// A read of the newest state.
pub(crate) fn get(number: usize) -> Call {
    Call::get(format!("{CLUSTERS}/{}", standing(number % OBJECTS)))
}

/// A read of a state of a moment ago.
pub(crate) fn cached_get(number: usize) -> Call {
    Call::get(format!(
        "{CLUSTERS}/{}?resourceVersion=0",
        standing(number % OBJECTS)
    ))
}

/// A change of one annotation.
pub(crate) fn patch(number: usize) -> Call {
    let path = format!("{CLUSTERS}/{}", standing(number % OBJECTS));
    Call::new(Method::PATCH, path, Template::patch(now()))
}

/// Nanoseconds since the first call, which differ from patch to patch.
pub(crate) fn now() -> u128 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos()
}
