//! A session: what is synced is known, both sides are followed, and step after step is made, until it is stopped or what
//! it was begun on has changed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use dialect_kcp::syncer_view::step::Step;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::SyncerArgs;
use super::act::Hands;
use super::ends::{Ends, Side};
use super::follow::{Observation, Reflector};
use super::heartbeat::{self, Heart};
use super::kinds::{SyncedKind, discover};
use super::mirrors::{Key, Mirrors};
use super::queue::Queue;
use super::undone::{self, Undone};

/// Steps made at once.
const PARALLEL: usize = 8;
/// Observations that may wait to be taken in.
const BACKLOG: usize = 1024;
/// How often what the hub shows is compared with what is synced.
const REVIEW: Duration = Duration::from_secs(30);
/// How long steps may take to complete once the syncer is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// The problem of an object that others change back or delete below.
const UNDONE: &str = "the workload cluster undoes it; it is made again with growing delays";

/// Why a session ended.
pub(super) enum End {
    /// It was told to.
    Stopped,
    /// What it was begun on is no more.
    Changed(&'static str),
}

/// See the module.
pub(super) struct Session<'a> {
    args: &'a SyncerArgs,
    ends: &'a Ends,
    identifier: String,
    kinds: Vec<SyncedKind>,
}

impl<'a> Session<'a> {
    /// Finds out who the syncer is and what it is to sync.
    ///
    /// # Errors
    /// When the hub does not answer, or does not know the WorkloadCluster.
    pub(super) async fn begin(args: &'a SyncerArgs, ends: &'a Ends) -> Result<Self> {
        let cluster = ends.hub.get(&heartbeat::path(&ends.target)).await?;
        let identifier = heartbeat::identifier(&cluster).to_owned();
        let kinds = discover(&ends.view, &args.resources)
            .await
            .context("reading what the hub shows")?;
        Ok(Self {
            args,
            ends,
            identifier,
            kinds,
        })
    }

    /// What is synced, for people.
    pub(super) fn described(&self) -> String {
        let names: Vec<String> = self.kinds.iter().skip(1).map(SyncedKind::name).collect();
        names.join(", ")
    }

    /// Syncs until `stop`, or until there is another WorkloadCluster or other kinds to sync.
    ///
    /// # Errors
    /// When a task of it panicked.
    pub(super) async fn run(self, stop: &CancellationToken) -> Result<End> {
        let (out, mut observations) = mpsc::channel(BACKLOG);
        let mut following = self.follow(&out);
        drop(out);
        let mut work = Work::new(&self);
        let alive = std::pin::pin!(self.alive(&mut following));
        let mut alive = alive;
        let end = loop {
            work.start();
            tokio::select! {
                () = stop.cancelled() => break End::Stopped,
                changed = &mut alive, if work.mirrors.is_complete() => break End::Changed(changed),
                Some(observation) = observations.recv() => work.take(observation, &mut observations),
                Some(ended) = work.running.join_next() => work.ended(ended.context("a step")?),
                () = sleep_until(work.queue.next_alarm()) => work.queue.ring(Instant::now()),
            }
        };
        let drained = async { while work.running.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("stopped before all changes were made; the next start makes them");
        }
        Ok(end)
    }

    /// Follows every kind on both sides.
    fn follow(&self, out: &mpsc::Sender<Observation>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            for (side, client) in [(Side::Up, &self.ends.view), (Side::Down, &self.ends.cluster)] {
                let reflector = Reflector {
                    side,
                    number,
                    kind: kind.clone(),
                    client: client.clone(),
                    identifier: self.identifier.clone(),
                    out: out.clone(),
                };
                tasks.spawn(reflector.run());
            }
        }
        tasks
    }

    /// Sends heartbeats, and ends when there is reason to begin anew. Holds the reflectors meanwhile.
    async fn alive(&self, _following: &mut JoinSet<()>) -> &'static str {
        let resources: Vec<String> = self.kinds.iter().skip(1).map(SyncedKind::name).collect();
        let interval = self.args.heartbeat_interval;
        let cluster = berth_client::Client::new(self.ends.cluster.clone());
        let heart = Heart {
            hub: &self.ends.hub,
            cluster: &cluster,
            target: &self.ends.target,
            expected: &self.identifier,
            resources: &resources,
        };
        tokio::select! {
            () = heart.beat(interval) => "the WorkloadCluster is another one",
            () = self.outdated() => "other resources are to be synced",
        }
    }

    /// Ends when the hub shows other kinds than it did.
    async fn outdated(&self) {
        loop {
            tokio::time::sleep(REVIEW).await;
            match discover(&self.ends.view, &self.args.resources).await {
                Ok(kinds) if kinds != self.kinds => return,
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

/// The result of a step: the status that it reported, if it reported one, or the write that it made
/// below.
type Made = Result<(Option<Value>, Option<(&'static str, String)>)>;

/// What is known, what is due, and what is being done.
struct Work {
    mirrors: Mirrors,
    queue: Queue,
    hands: Arc<Hands>,
    running: JoinSet<(Key, Made)>,
    /// The status of each object as it was reported last. Where several clusters report, the last word stands: it is
    /// not said again until it is another one.
    reported: HashMap<Key, Value>,
    /// What went wrong with each key last, so that it is told once.
    problems: HashMap<Key, String>,
    undone: Undone,
}

impl Work {
    fn new(session: &Session<'_>) -> Self {
        let hands = Hands {
            identifier: session.identifier.clone(),
            logical_cluster: session.args.from_cluster.clone(),
            view: berth_client::Client::new(session.ends.view.clone()),
            cluster: berth_client::Client::new(session.ends.cluster.clone()),
        };
        Self {
            mirrors: Mirrors::new(&session.identifier, &session.args.from_cluster, &session.kinds),
            queue: Queue::default(),
            hands: Arc::new(hands),
            running: JoinSet::new(),
            reported: HashMap::new(),
            problems: HashMap::new(),
            undone: Undone::default(),
        }
    }

    /// Takes in what was seen, and what else there is by now.
    fn take(&mut self, first: Observation, more: &mut mpsc::Receiver<Observation>) {
        let mut next = Some(first);
        while let Some(observation) = next {
            for key in self.mirrors.take(observation) {
                self.queue.add(key);
            }
            next = more.try_recv().ok();
        }
    }

    /// Starts steps that are due, as many as may run at once.
    fn start(&mut self) {
        while self.running.len() < PARALLEL
            && let Some(key) = self.queue.take()
        {
            let Some(plan) = self.mirrors.plan(&key) else {
                // It is due again when the rest is known.
                self.queue.done(key);
                continue;
            };
            let status = match &plan.step {
                Step::Report(object) => object.get("status").cloned(),
                Step::Release(_) => {
                    self.reported.remove(&key);
                    self.undone.forget(&key);
                    None
                }
                _ => None,
            };
            if status.is_some() && self.reported.get(&key) == status.as_ref() {
                self.queue.done(key);
                continue;
            }
            if let Some(at) = self.undone.waits(&key, &plan.step, Instant::now()) {
                self.queue.later(key, at);
                continue;
            }
            let (hands, kind) = (Arc::clone(&self.hands), self.mirrors.kind(key.kind).clone());
            tracing::debug!(
                resource = kind.name(),
                namespace = key.namespace,
                name = key.name,
                step = plan.step.name(),
                "next"
            );
            let written = undone::what(&plan.step);
            self.running.spawn(async move {
                let made = hands.make(&kind, &key, plan).await;
                (key, made.map(|()| (status, written)))
            });
        }
    }

    /// Tells, once, that others undo what is written for `key`; nothing is wrong where they do not.
    fn tell_undone(&mut self, key: &Key, times: Option<u32>) {
        let Some(times) = times else {
            self.problems.remove(key);
            return;
        };
        if self.problems.get(key).is_none_or(|problem| problem != UNDONE) {
            let resource = self.mirrors.kind(key.kind).name();
            let (namespace, name) = (&key.namespace, &key.name);
            tracing::warn!(
                resource,
                namespace,
                name,
                times,
                problem = UNDONE,
                "cannot keep an object in sync"
            );
            self.problems.insert(key.clone(), UNDONE.to_owned());
        }
    }

    fn ended(&mut self, (key, made): (Key, Made)) {
        match made {
            Ok((reported, written)) => {
                let writes = written.is_some();
                let undone = self.undone.made(&key, written, Instant::now());
                // Other steps say nothing of whether the last write stays.
                if writes || self.problems.get(&key).is_some_and(|problem| problem != UNDONE) {
                    self.tell_undone(&key, undone);
                }
                if let Some(status) = reported {
                    self.reported.insert(key.clone(), status);
                }
                self.queue.done(key);
            }
            Err(problem) => {
                let text = format!("{problem:#}");
                let (resource, namespace, name) = (
                    self.mirrors.kind(key.kind).name(),
                    key.namespace.clone(),
                    key.name.clone(),
                );
                let failures = self.queue.failed(key.clone(), Instant::now());
                // The first time it is mostly that somebody else wrote meanwhile.
                if failures > 1 && self.problems.get(&key) != Some(&text) {
                    tracing::warn!(
                        resource,
                        namespace,
                        name,
                        problem = text,
                        "cannot sync an object; retrying"
                    );
                    self.problems.insert(key, text);
                }
            }
        }
    }
}
