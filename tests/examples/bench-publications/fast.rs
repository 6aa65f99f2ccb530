//! Fast-changing data: a claim of some clusters that changes every second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use berth_tests::bench::middle::millis;
use berth_tests::bench::usage;
use serde_json::json;
use tokio::time::MissedTickBehavior;

use crate::changes::{cluster, profile};
use crate::watching;
use crate::world::World;

/// Number of clusters whose claim changes.
const CLUSTERS: usize = 50;
/// Least time between two writes of a profile for it; a second less, since events may have different delays.
const ONCE_IN: Duration = Duration::from_secs(29);
/// Time limit until the last value is published.
const LAST: Duration = Duration::from_secs(60);

/// Results of the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fast {
    /// Number of clusters whose claim changed.
    pub(crate) clusters: usize,
    /// Total number of changes.
    pub(crate) changes: usize,
    /// Number of events of their profiles.
    pub(crate) events: usize,
    /// Shortest time between two events of one profile, in seconds.
    pub(crate) shortest: f64,
    /// The server's processor time, in milliseconds.
    pub(crate) used: f64,
}

/// Changes the claim every second for `time`, and waits until the last value is published.
pub(crate) async fn measure(world: &mut World, time: Duration) -> Result<Fast> {
    // Not the clusters of earlier measurements, where there are others.
    let first = world.size.targets.saturating_sub(CLUSTERS);
    let numbers: Vec<usize> = (first..world.size.targets).collect();
    world.events().await?;
    let (before, begun) = (usage::processor_time(world.server.id()), Instant::now());
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rounds = 0;
    while begun.elapsed() < time {
        ticks.tick().await;
        rounds += 1;
        let claims = json!({"status": {"clusterClaims": [{"name": "load", "value": rounds.to_string()}]}});
        for &number in &numbers {
            world
                .connection
                .drained(&cluster(number, "/status", &claims))
                .await?;
        }
    }
    let last = Instant::now();
    for &number in &numbers {
        while load(world, number).await?.as_deref() != Some(&*rounds.to_string()) {
            ensure!(
                last.elapsed() < LAST,
                "the last value of cluster{number} is not published"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let used = millis(usage::quiet_since(world.server.id(), before));
    let (profiles, slices) = world.events().await?;
    ensure!(
        slices.is_empty(),
        "a claim is written into {:?}",
        watching::names(&slices)
    );
    let mut times: BTreeMap<String, Vec<Instant>> = BTreeMap::new();
    for seen in &profiles {
        times.entry(seen.name.clone()).or_default().push(seen.at);
    }
    let mut shortest = Duration::MAX;
    for (name, times) in &times {
        if !numbers.iter().any(|&number| profile(number) == *name) {
            bail!("{name} was written, whose claims are as they were");
        }
        let pauses = times.windows(2).map(|two| two[1] - two[0]);
        shortest = pauses.fold(shortest, Duration::min);
    }
    ensure!(
        shortest >= ONCE_IN,
        "a profile was written again after {shortest:?}"
    );
    Ok(Fast {
        clusters: numbers.len(),
        changes: rounds * numbers.len(),
        events: profiles.len(),
        shortest: shortest.as_secs_f64(),
        used,
    })
}

/// The published claim.
async fn load(world: &mut World, number: usize) -> Result<Option<String>> {
    let path = format!("{}/{}", watching::path("clusterprofiles"), profile(number));
    let profile = world.get(&path).await?;
    let mut properties = profile["status"]["properties"].as_array().into_iter().flatten();
    let load = properties.find(|property| property["name"] == "load");
    Ok(load.and_then(|load| load["value"].as_str()).map(str::to_owned))
}
