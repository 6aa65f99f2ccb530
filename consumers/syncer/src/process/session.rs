//! A session: the synced resources are known, both sides are watched, and steps are carried out
//! ([`super::work`]), until the process is stopped, or the WorkloadCluster or the synced resources have
//! changed.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use berth_dialect_kcp::syncer_view::registration::Owner;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SyncerArgs;
use super::ends::{Ends, Side};
use super::follow::{Observation, Reflector};
use super::heartbeat::{self, Heart};
use super::kinds::{SyncedKinds, discover};
use super::leftovers::{Search, SearchResult};
use super::problems::Problems;
use super::work::Work;

/// Highest number of observations that wait to be applied.
const BACKLOG: usize = 1024;
/// Interval at which the view of the hub is compared with the synced resources.
const REVIEW: Duration = Duration::from_secs(30);
/// Time for running steps to complete at the end of a session.
const DRAIN: Duration = Duration::from_secs(10);

/// Reason why a session ended.
pub(super) enum End {
    /// The process got the signal to stop.
    Stopped,
    /// The WorkloadCluster or the synced resources have changed.
    Changed(&'static str),
}

/// A session.
pub(super) struct Session<'a> {
    args: &'a SyncerArgs,
    ends: &'a Ends,
    of: Owner,
    synced: SyncedKinds,
}

impl<'a> Session<'a> {
    /// Reads the identity of the syncer and the resources to sync from the hub.
    ///
    /// # Errors
    /// When the hub does not answer or refuses, does not know the WorkloadCluster, or shows no namespaces.
    pub(super) async fn begin(args: &'a SyncerArgs, ends: &'a Ends) -> Result<Self> {
        let cluster = ends.hub.get(&heartbeat::path(&ends.target)).await?;
        let registration = ends.registration().await?;
        let synced = discover(&ends.view, &args.resources)
            .await
            .context("reading what the hub shows")?;
        if !synced.unknown.is_empty() {
            tracing::warn!(
                resources = synced.unknown.join(","),
                shown = synced.names().join(","),
                "--resources names what the hub does not show the syncer; the rest is synced"
            );
        }
        Ok(Self {
            args,
            ends,
            of: Owner {
                identifier: heartbeat::identifier(&cluster).to_owned(),
                logical_cluster: args.from_cluster.clone(),
                registration,
                adopted: args.adopt.clone(),
            },
            synced,
        })
    }

    /// Description of the synced resources, for people.
    pub(super) fn described(&self) -> String {
        self.synced.names().join(", ")
    }

    /// Syncs until `stop`, or until the WorkloadCluster was replaced or the kinds to sync have changed.
    ///
    /// # Errors
    /// When a step panicked.
    pub(super) async fn run(self, stop: &CancellationToken) -> Result<End> {
        let (out, mut observations) = mpsc::channel(BACKLOG);
        let mut following = self.follow(&out);
        drop(out);
        let mut leftovers = self.search(&mut following);
        let mut work = Work::new(
            &self.of,
            &self.synced,
            self.ends,
            self.args.remove_leftovers_after,
        );
        let problems = Arc::clone(&work.problems);
        let mut alive = std::pin::pin!(self.alive(&mut following, &problems));
        let end = loop {
            work.start();
            tokio::select! {
                () = stop.cancelled() => break End::Stopped,
                changed = &mut alive, if work.is_under_way() => break End::Changed(changed),
                Some(observation) = observations.recv() => work.take(observation, &mut observations),
                Some(found) = leftovers.recv() => work.found(found),
                Some(ended) = work.running.join_next() => work.ended(ended.context("a step")?),
                () = sleep_until(work.queue.next_retry()) => work.queue.add_due(Instant::now()),
            }
        };
        let drained = async { while work.running.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("stopped before all changes were made; the next start makes them");
        }
        Ok(end)
    }

    /// Watches every kind on both sides.
    fn follow(&self, out: &mpsc::Sender<Observation>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (number, kind) in self.synced.kinds.iter().enumerate() {
            for (side, client) in [(Side::Up, &self.ends.view), (Side::Down, &self.ends.cluster)] {
                let reflector = Reflector {
                    side,
                    number,
                    kind: kind.clone(),
                    client: client.clone(),
                    identifier: self.of.identifier.clone(),
                    out: out.clone(),
                };
                tasks.spawn(reflector.run());
            }
        }
        tasks
    }

    /// Starts the search for copies of earlier registrations, as one of `tasks`.
    fn search(&self, tasks: &mut JoinSet<()>) -> mpsc::Receiver<SearchResult> {
        let (out, found) = mpsc::channel(1);
        let search = Search {
            cluster: berth_client::Client::new(self.ends.cluster.clone()),
            of: self.of.clone(),
            kinds: self.synced.kinds.clone(),
            patience: self.args.remove_leftovers_after,
            out,
        };
        tasks.spawn(search.run());
        found
    }

    /// Sends heartbeats, and ends when the session has to start over. `_following` has the running reflectors
    /// and the search.
    async fn alive(&self, _following: &mut JoinSet<()>, problems: &Mutex<Problems>) -> &'static str {
        let resources = self.synced.names();
        let interval = self.args.heartbeat_interval;
        let cluster = berth_client::Client::new(self.ends.cluster.clone());
        let heart = Heart {
            hub: &self.ends.hub,
            cluster: &cluster,
            target: &self.ends.target,
            expected: &self.of.identifier,
            resources: &resources,
            problems,
        };
        tokio::select! {
            () = heart.beat(interval) => "the WorkloadCluster is another one",
            () = self.outdated() => "other resources are to be synced",
        }
    }

    /// Ends when the hub shows other kinds than at the start.
    async fn outdated(&self) {
        loop {
            tokio::time::sleep(REVIEW).await;
            match discover(&self.ends.view, &self.args.resources).await {
                Ok(synced) if synced != self.synced => return,
                Ok(_) => {}
                Err(problem) => tracing::debug!(problem = format!("{problem:#}"), "the view cannot be read"),
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
