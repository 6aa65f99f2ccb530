//! The server, its watchers, and measurements of changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use berth_tests::Server;
use berth_tests::bench::http::{Call, Connection, Protocol, Target};
use berth_tests::bench::middle::millis;
use berth_tests::bench::usage;
use http::Method;
use serde_json::Value;

use crate::fleet::{self, MEMBERS, Size};
use crate::watching::{self, Watching};

const PROFILES: &str = "clusterprofiles";
const SLICES: &str = "placementdecisions";
/// Time limit until everything is published.
const LIMIT: Duration = Duration::from_secs(1800);

/// Costs of some changes of one sort.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Sort of change.
    pub(crate) name: &'static str,
    /// Number of changes, or 0 where it does not apply.
    pub(crate) changes: usize,
    /// Number of events of ClusterProfiles.
    pub(crate) profiles: usize,
    /// Number of events of PlacementDecisions.
    pub(crate) slices: usize,
    /// The server's processor time for all changes, in milliseconds.
    pub(crate) used: f64,
}

/// Cost of the publication of everything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Published {
    /// Number of ClusterProfiles.
    pub(crate) profiles: usize,
    /// Number of PlacementDecisions.
    pub(crate) slices: usize,
    /// Number of their events.
    pub(crate) events: usize,
    /// Seconds until the status of the Publication is complete.
    pub(crate) seconds: f64,
    /// The server's processor time until then, in seconds.
    pub(crate) used: f64,
}

/// The only objects that may have events: names of ClusterProfiles and of PlacementDecisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Concerned {
    /// The clusters.
    pub(crate) profiles: BTreeSet<String>,
    /// The decisions.
    pub(crate) slices: BTreeSet<String>,
}

/// A server with a fleet.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) size: Size,
    pub(crate) target: Target,
    pub(crate) connection: Connection,
    profiles: Watching,
    slices: Watching,
}

impl World {
    /// Starts a server on which everything is decided, and nothing is published.
    pub(crate) async fn new(size: Size) -> Result<Self> {
        let server = Server::start();
        let file = server.file("fleet.yaml", &fleet::documents(size));
        server.load(&file);
        usage::quiet(server.id());
        let target = Target::of(&server.kubeconfig()).await?;
        Ok(Self {
            connection: Connection::open(&target, Protocol::One).await?,
            profiles: Watching::start(&target, PROFILES).await?,
            slices: Watching::start(&target, SLICES).await?,
            server,
            size,
            target,
        })
    }

    /// Publishes everything.
    pub(crate) async fn publish(&mut self) -> Result<Published> {
        let (before, begun) = (usage::processor_time(self.server.id()), Instant::now());
        let publications = "/apis/config.berth.dev/v1alpha1/publications";
        let create = Call::new(Method::POST, publications, fleet::publication().to_string());
        self.connection.drained(&create).await?;
        loop {
            let publication = self.get(&format!("{publications}/bench")).await?;
            let mut conditions = publication["status"]["conditions"]
                .as_array()
                .into_iter()
                .flatten();
            if conditions.any(|one| one["type"] == "Published" && one["status"] == "True") {
                break;
            }
            ensure!(
                begun.elapsed() < LIMIT,
                "not published after {LIMIT:?}: {publication}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let used = usage::quiet_since(self.server.id(), before).as_secs_f64();
        let (profiles, slices) = (self.profiles.take().await?, self.slices.take().await?);
        let published = Published {
            profiles: watching::names(&profiles).len(),
            slices: watching::names(&slices).len(),
            events: profiles.len() + slices.len(),
            seconds,
            used,
        };
        let wanted = (self.size.targets + MEMBERS, self.size.decisions + 1);
        ensure!(
            (published.profiles, published.slices) == wanted,
            "{published:?} is not {wanted:?}"
        );
        Ok(published)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Value> {
        let body = self.connection.read(&Call::get(path)).await?;
        serde_json::from_slice(&body).with_context(|| path.to_owned())
    }

    /// Sends `calls` one after the other, waits until the server is idle, and returns their costs.
    pub(crate) async fn row(
        &mut self,
        name: &'static str,
        calls: Vec<Call>,
        concerned: &Concerned,
    ) -> Result<Row> {
        self.events().await?;
        let before = usage::processor_time(self.server.id());
        for call in &calls {
            self.connection.drained(call).await?;
        }
        let used = millis(usage::quiet_since(self.server.id(), before));
        let (profiles, slices) = self.events().await?;
        for (seen, wanted) in [(&profiles, &concerned.profiles), (&slices, &concerned.slices)] {
            let mut others = watching::names(seen)
                .into_iter()
                .filter(|name| !wanted.contains(*name));
            if let Some(other) = others.next() {
                anyhow::bail!("{name}: {other} was written, which that does not concern");
            }
        }
        Ok(Row {
            name,
            changes: calls.len(),
            profiles: profiles.len(),
            slices: slices.len(),
            used,
        })
    }

    /// The events of ClusterProfiles and PlacementDecisions since the last call.
    pub(crate) async fn events(&mut self) -> Result<(Vec<watching::Seen>, Vec<watching::Seen>)> {
        Ok((self.profiles.take().await?, self.slices.take().await?))
    }

    /// The published slices.
    pub(crate) async fn slices(&mut self) -> Result<Vec<Value>> {
        self.list(SLICES).await
    }

    async fn list(&mut self, resource: &str) -> Result<Vec<Value>> {
        let mut list = self.get(&watching::path(resource)).await?;
        match list["items"].take() {
            Value::Array(items) => Ok(items),
            other => anyhow::bail!("a list has items, not {other}"),
        }
    }

    /// The versions of all published objects.
    async fn versions(&mut self, resource: &str) -> Result<BTreeMap<String, Value>> {
        let items = self.list(resource).await?.into_iter();
        let versions = items.filter_map(|mut item| {
            let name = item["metadata"]["name"].as_str()?.to_owned();
            Some((name, item["metadata"]["resourceVersion"].take()))
        });
        Ok(versions.collect())
    }

    /// Kills the server and starts it again: objects with another version were written.
    pub(crate) async fn restarted(&mut self) -> Result<Row> {
        let before = (self.versions(PROFILES).await?, self.versions(SLICES).await?);
        self.server.crash();
        self.server.restart();
        self.target = Target::of(&self.server.kubeconfig()).await?;
        usage::quiet(self.server.id());
        let used = millis(usage::processor_time(self.server.id()));
        self.connection = Connection::open(&self.target, Protocol::One).await?;
        let after = (self.versions(PROFILES).await?, self.versions(SLICES).await?);
        let row = Row {
            name: "the server killed and started again",
            changes: 1,
            profiles: differing(&before.0, &after.0),
            slices: differing(&before.1, &after.1),
            used,
        };
        ensure!(
            row.profiles + row.slices == 0,
            "a start writes what is as it was: {row:?}"
        );
        Ok(row)
    }
}

/// Number of objects that are different, added or missing.
fn differing(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> usize {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .count()
}
