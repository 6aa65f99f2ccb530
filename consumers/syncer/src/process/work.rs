//! Work of a session: the known objects, due keys, and running steps.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use berth_dialect_kcp::syncer_view::registration::Owner;
use berth_dialect_kcp::syncer_view::step::Step;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use super::act::Hands;
use super::ends::Ends;
use super::follow::{Observation, Observations};
use super::kinds::{SyncedKind, SyncedKinds};
use super::leftovers::{Leftover, SearchResult};
use super::mirrors::{Key, Mirrors, Plan};
use super::problems::Problems;
use super::queue::Queue;
use super::undone::{self, Undone};

/// Highest number of steps that run at once.
const PARALLEL: usize = 8;
/// The problem of an object that other clients change back or delete downstream.
const UNDONE: &str = "the workload cluster reverts the change; it is retried with growing delays";

/// The result of a step: the status that it reported, if any, and its write downstream, if any.
type WorkResult = Result<(Option<Value>, Option<(&'static str, String)>)>;

/// The state of a session.
pub(super) struct Work {
    mirrors: Mirrors,
    pub(super) queue: Queue,
    hands: Arc<Hands>,
    pub(super) running: JoinSet<(Key, WorkResult)>,
    /// The last status that this syncer reported for each object. The status is reported again only after it
    /// has changed, so that the syncers of several clusters do not overwrite each other's reports in turn.
    reported: HashMap<Key, Value>,
    /// Problems that are reported to the hub.
    pub(super) problems: Arc<Mutex<Problems>>,
    undone: Undone,
    /// Objects that the hub does not show and that have a copy of an earlier registration, with the time at
    /// which the copy was first found.
    leftovers: HashMap<Key, Instant>,
    /// Time for which copies of earlier registrations are left alone if the hub does not show their objects.
    patience: Duration,
    /// Copies that will be removed.
    removals: HashMap<Key, Leftover>,
}

impl Work {
    /// The initial state for `of`.
    pub(super) fn new(of: &Owner, synced: &SyncedKinds, ends: &Ends, patience: Duration) -> Self {
        let hands = Hands {
            of: of.clone(),
            view: berth_client::Client::new(ends.view.clone()),
            cluster: berth_client::Client::new(ends.cluster.clone()),
        };
        let names = synced.kinds.iter().map(SyncedKind::name).collect();
        let problems = Problems::new(names, synced.unknown.clone());
        Self {
            mirrors: Mirrors::new(of.clone(), &synced.kinds),
            queue: Queue::default(),
            hands: Arc::new(hands),
            running: JoinSet::new(),
            reported: HashMap::new(),
            problems: Arc::new(Mutex::new(problems)),
            undone: Undone::default(),
            leftovers: HashMap::new(),
            patience,
            removals: HashMap::new(),
        }
    }

    /// Whether all readable objects are known. Heartbeats are sent only while this is so.
    pub(super) fn is_under_way(&self) -> bool {
        let problems = self.problems.lock();
        self.mirrors.are_known(|kind, side| problems.is_lost(kind, side))
    }

    /// Applies an observation, and all others that have arrived.
    pub(super) fn take(&mut self, first: Observation, more: &mut mpsc::Receiver<Observation>) {
        let mut next = Some(first);
        while let Some(observation) = next {
            let problem = match &observation.content {
                Observations::Failed(problem) => Some(problem.clone()),
                _ => None,
            };
            self.problems
                .lock()
                .watch(observation.kind, observation.side, problem);
            for key in self.mirrors.take(observation) {
                self.queue.add(key);
            }
            next = more.try_recv().ok();
        }
        self.problems.lock().shows(self.mirrors.count());
    }

    /// Records copies of earlier registrations. Steps take over copies of objects that the hub shows; the
    /// other copies are removed after a while.
    pub(super) fn found(&mut self, found: SearchResult) {
        let (names, now) = (found.unproven.keys().cloned().collect::<Vec<_>>(), Instant::now());
        if self.problems.lock().found_unproven(found.unproven) && !names.is_empty() {
            tracing::warn!(
                identifiers = names.join(","),
                "the cluster has namespaces that another WorkloadCluster's syncer made; --adopt takes over those of an earlier \
                 registration"
            );
        }
        let mut since = HashMap::new();
        for leftover in found.earlier {
            let key = leftover.key.clone();
            if self.mirrors.shows(&key) != Some(false) {
                continue;
            }
            let first = self.leftovers.get(&key).copied().unwrap_or(now);
            since.insert(key.clone(), first);
            if now - first >= self.patience {
                self.removals.insert(key.clone(), leftover);
                self.queue.add(key);
            }
        }
        self.leftovers = since;
    }

    /// Plans the step for `key`. A copy from an earlier registration whose object the hub still does not
    /// show gets the mark of this registration. It is then removed like every marked object that the hub does
    /// not show.
    fn plan(&mut self, key: &Key) -> Option<Plan> {
        let leftover = self.removals.remove(key);
        let Some(leftover) = leftover.filter(|_| self.mirrors.shows(key) == Some(false)) else {
            return self.mirrors.plan(key);
        };
        let (resource, namespace, name) = (self.mirrors.kind(key.kind).name(), &key.namespace, &key.name);
        tracing::info!(
            resource,
            namespace,
            name,
            "removes a copy of an earlier registration, which the hub does not show"
        );
        Some(Plan {
            step: Step::Update(self.hands.of.marked(&leftover.object)),
            down: leftover.at,
        })
    }

    /// Starts steps that are due, as many as may run at once.
    pub(super) fn start(&mut self) {
        while self.running.len() < PARALLEL
            && let Some(key) = self.queue.take()
        {
            let Some(plan) = self.plan(&key) else {
                // The key is due again when more is known.
                self.queue.done(key);
                continue;
            };
            let status = match &plan.step {
                Step::Report(object) => object.get("status").cloned(),
                Step::Release(_) => {
                    self.reported.remove(&key);
                    self.undone.forget(&key);
                    self.problems.lock().forget(&key);
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
            let written = undone::fingerprint(&plan.step);
            self.running.spawn(async move {
                let outcome = hands.make(&kind, &key, plan).await;
                (key, outcome.map(|()| (status, written)))
            });
        }
    }

    /// Records the outcome of a step.
    pub(super) fn ended(&mut self, (key, outcome): (Key, WorkResult)) {
        let problem = match outcome {
            Ok((reported, written)) => {
                let writes = written.is_some();
                let undone = self.undone.record(&key, written, Instant::now());
                if let Some(status) = reported {
                    self.reported.insert(key.clone(), status);
                }
                self.queue.done(key.clone());
                match undone {
                    Some(_) => (UNDONE.to_owned(), Some(undone::KEPT_AFTER)),
                    None => {
                        let mut problems = self.problems.lock();
                        // Steps that do not write downstream say nothing about whether the last write
                        // stays.
                        match writes {
                            true => problems.forget(&key),
                            false => problems.forget_lasting(&key),
                        }
                        return;
                    }
                }
            }
            Err(problem) => {
                let failures = self.queue.failed(key.clone(), Instant::now());
                // A first failure is mostly due to another write in between.
                if failures < 2 {
                    return;
                }
                (format!("{problem:#}"), None)
            }
        };
        self.record_problem(&key, problem);
    }

    /// Records the problem of `key`, and logs it if it is new.
    fn record_problem(&self, key: &Key, (text, duration): (String, Option<Duration>)) {
        if self.problems.lock().note(key, text.clone(), duration) {
            let resource = self.mirrors.kind(key.kind).name();
            let (namespace, name) = (&key.namespace, &key.name);
            tracing::warn!(
                resource,
                namespace,
                name,
                problem = text,
                "cannot sync an object; retrying"
            );
        }
    }
}
