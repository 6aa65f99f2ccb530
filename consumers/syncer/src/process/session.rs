//! A session: watches both sides and carries out steps ([`super::work`]), until the process is stopped, or
//! the WorkloadCluster or the synced resources have changed.

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
use super::ends::{Connections, Side};
use super::follow::{Observation, Reflector};
use super::heartbeat::HeartbeatSender;
use super::identity::{self, REPLACED};
use super::kinds::{SyncedKinds, discover};
use super::leftovers::{Search, SearchResult};
use super::problems::Problems;
use super::work::Work;

/// Highest number of observations that wait to be applied.
const BACKLOG: usize = 1024;
/// Interval of the check whether the kinds to sync have changed.
const REVIEW_INTERVAL: Duration = Duration::from_secs(30);
/// Longest time for which the end of a session waits for running steps.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Reason why a session ended.
pub(super) enum EndReason {
    /// The process got the signal to stop.
    Stopped,
    /// The WorkloadCluster or the kinds to sync have changed; the value says which.
    Changed(&'static str),
}

/// A session of one registration and one list of kinds.
pub(super) struct Session<'a> {
    args: &'a SyncerArgs,
    ends: &'a Connections,
    owner: Owner,
    synced: SyncedKinds,
}

impl<'a> Session<'a> {
    /// Reads the identity of the syncer and the resources to sync from the hub.
    ///
    /// # Errors
    /// When the hub does not answer or refuses, does not know the WorkloadCluster, or does not serve the
    /// resource `namespaces` in the view.
    pub(super) async fn begin(args: &'a SyncerArgs, ends: &'a Connections) -> Result<Self> {
        let cluster = ends.hub.get(&identity::path(&ends.target)).await?;
        let registration = ends.registration().await?;
        let synced = discover(&ends.view, &args.resources)
            .await
            .context("reading what the hub shows")?;
        if !synced.unknown.is_empty() {
            tracing::warn!(
                resources = synced.unknown.join(","),
                shown = synced.names().join(","),
                "--resources names resources that the hub does not show the syncer; the others are synced"
            );
        }
        Ok(Self {
            args,
            ends,
            owner: Owner {
                identifier: identity::identifier(&cluster).to_owned(),
                logical_cluster: args.from_cluster.clone(),
                registration,
                adopted: args.adopt.clone(),
            },
            synced,
        })
    }

    /// The names of the synced resources, as a list for people.
    pub(super) fn resource_names(&self) -> String {
        self.synced.names().join(", ")
    }

    /// Syncs until `stop` is cancelled, the WorkloadCluster is replaced, or the kinds to sync change.
    ///
    /// # Errors
    /// When a step panicked.
    pub(super) async fn run(self, stop: &CancellationToken) -> Result<EndReason> {
        let (out, mut observations) = mpsc::channel(BACKLOG);
        // Dropping the tasks at the end of the session aborts them.
        let mut tasks = self.follow(&out);
        drop(out);
        let mut leftovers = self.search(&mut tasks);
        let mut work = Work::new(
            &self.owner,
            &self.synced,
            self.ends,
            self.args.remove_leftovers_after,
        );
        let problems = Arc::clone(&work.problems);
        let replaced = work.replaced();
        let mut session_change = std::pin::pin!(self.wait_for_change(&problems));
        let end = loop {
            work.start_steps();
            tokio::select! {
                () = stop.cancelled() => break EndReason::Stopped,
                () = replaced.cancelled() => break EndReason::Changed(REPLACED),
                changed = &mut session_change, if work.is_under_way() => break EndReason::Changed(changed),
                Some(observation) = observations.recv() => work.apply(observation, &mut observations),
                Some(found) = leftovers.recv() => work.record_leftovers(found),
                Some(ended) = work.running.join_next() => {
                    work.record_outcome(ended.context("a step of the syncer panicked")?);
                }
                Some(ended) = work.list_check.ended() => {
                    work.list_check.record(ended.context("the check of a list panicked")?);
                }
                () = sleep_until(work.queue.next_retry()) => work.queue.add_due(Instant::now()),
            }
        };
        let drained = async { while work.running.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_TIMEOUT, drained).await.is_err() {
            tracing::warn!("stopped before all steps had ended; the next start repeats them");
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
                    identifier: self.owner.identifier.clone(),
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
            owner: self.owner.clone(),
            kinds: self.synced.kinds.clone(),
            remove_after: self.args.remove_leftovers_after,
            out,
        };
        tasks.spawn(search.run());
        found
    }

    /// Sends heartbeats, until a change requires a new session. Returns the change.
    async fn wait_for_change(&self, problems: &Mutex<Problems>) -> &'static str {
        let resources = self.synced.names();
        let interval = self.args.heartbeat_interval;
        let cluster = berth_client::Client::new(self.ends.cluster.clone());
        let heartbeats = HeartbeatSender {
            hub: &self.ends.hub,
            cluster: &cluster,
            target: &self.ends.target,
            expected: &self.owner.identifier,
            resources: &resources,
            problems,
        };
        tokio::select! {
            () = heartbeats.run(interval) => REPLACED,
            () = self.wait_for_other_kinds() => "the kinds that the hub shows have changed",
        }
    }

    /// Returns once the kinds to sync differ from the kinds at the start of the session.
    async fn wait_for_other_kinds(&self) {
        loop {
            tokio::time::sleep(REVIEW_INTERVAL).await;
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
