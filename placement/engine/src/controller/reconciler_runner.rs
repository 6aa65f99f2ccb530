//! The loop of one reconciler ([`berth_dialect_contract::Reconciler`]): it processes changes, queues the due
//! keys with back-off, and writes one guarded step for each key.
//!
//! The runner watches the source itself, since a reconciler may read resources of other dialects, and its
//! resources may depend on the configuration. Whenever the runner may have missed changes (at the start of
//! work, after a lost watch or a change of the configuration), it checks all objects once.

mod objects;

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::write::WriteRefusal;
use berth_apimachinery::{GroupResource, Key, Timestamp};
use berth_dialect_contract::{Context, Dialect, Pace, Reconciler, config};
use berth_storage::{Event, Scope, StoreError};
use tokio::task::JoinError;
use tracing::Instrument as _;

use self::objects::Lists;
use super::Settings;
use super::observer::{FinishedStep, StepResult};
use super::queue::NextTreatment;
use super::runner::{LONGEST_SLEEP, MIN_DELAY, OVERRULED_BACKOFF, Signals};
use super::workers::Workers;
use crate::bind::manager;
use crate::bound::Commit;
use crate::dirty::Subscription;
use crate::engine::Engine;
use crate::readiness::ReadinessError;
use crate::snapshot::Snapshot;

/// Highest number of changes that are processed at once.
const BATCH: usize = 512;
/// Highest number of keys in work at once.
const MAX_PARALLEL: usize = 16;
/// Delay before another attempt after an error of the source.
const RETRY: Duration = Duration::from_secs(1);

/// The loop of one reconciler.
pub(super) struct ReconcilerRunner {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: Arc<dyn Dialect>,
    signals: Signals,
    /// Wakes the loop after changes in the engine, such as the end of the sync of a dialect.
    subscription: Arc<Subscription>,
    reconciler: Arc<dyn Reconciler>,
    /// The resources that the reconciler watches.
    watched: Arc<[GroupResource]>,
    workers: Workers<WorkResult>,
    /// Whether the reconciler works: this replica is the leader, and the dialect is synced and decided here.
    active: bool,
    /// Whether all objects have to be checked.
    must_check_all: bool,
}

/// Outcome of the work on one key.
enum WorkResult {
    /// The key is due again after a change, or at this time, if any.
    Rest(Option<Timestamp>),
    /// The work has to be tried again.
    Failed,
    /// Admission changed the content of a written object.
    Overruled,
}

impl ReconcilerRunner {
    /// Creates the runner of `reconciler`, a reconciler of `dialect`.
    pub(super) fn new(
        engine: &Arc<Engine>,
        settings: &Settings,
        dialect: &Arc<dyn Dialect>,
        reconciler: Arc<dyn Reconciler>,
        signals: Signals,
    ) -> Self {
        let (clock, observer) = (Arc::clone(engine.clock()), Arc::clone(&settings.observer));
        Self {
            workers: Workers::new(reconciler.name(), clock, observer),
            subscription: engine.subscribe(),
            engine: Arc::clone(engine),
            settings: settings.clone(),
            dialect: Arc::clone(dialect),
            signals,
            watched: watched_by(&*reconciler),
            reconciler,
            active: false,
            must_check_all: true,
        }
    }

    /// Runs until the stop signal, and then completes the running work.
    pub(super) async fn run(mut self) {
        let stop = self.signals.stop.clone();
        loop {
            let result = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                result = self.follow() => result,
            };
            if let Err(error) = result {
                tracing::warn!(controller = self.reconciler.name(), %error, "changes were missed; reconciling everything");
                if !matches!(error, StoreError::Expired { .. }) {
                    tokio::select! {
                        () = stop.cancelled() => break,
                        () = tokio::time::sleep(RETRY) => {}
                    }
                }
            }
        }
        while let Some((key, done)) = self.workers.next().await {
            self.finish(key, done);
        }
    }

    /// Processes changes until the configuration changes.
    ///
    /// # Errors
    /// When the watch is lost.
    async fn follow(&mut self) -> Result<(), StoreError> {
        self.configure();
        let mut resources = self.watched.to_vec();
        resources.push(config::RESOURCE);
        let source = Arc::clone(self.engine.source());
        let mut watch = source.watch(Scope::Many(resources), source.revision())?;
        let configuration = config::key(self.dialect.name());
        loop {
            self.update_active();
            self.signals.clock_moves.mark_unchanged();
            self.workers.queue_due();
            self.queue_all().await;
            self.begin();
            let pause = self.workers.pause(self.longest_pause());
            tokio::select! {
                biased;
                Some((key, done)) = self.workers.next() => self.finish(key, done),
                events = watch.next(BATCH) => {
                    let events = events?;
                    if events.iter().any(|event| event.change.key == configuration) {
                        return Ok(());
                    }
                    self.process_events(&events).await;
                }
                _ = self.subscription.next() => {}
                Ok(()) = self.signals.leading.changed() => {}
                Ok(()) = self.signals.clock_moves.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Sets the reconciler to that of the configuration in force.
    fn configure(&mut self) {
        self.must_check_all = true;
        let in_force = self.engine.configuration(self.dialect.name());
        let spec = in_force.spec().get(self.dialect.name());
        let mut reconcilers = self.dialect.controllers().reconcilers(spec).into_iter();
        if let Some(found) = reconcilers.find(|reconciler| reconciler.name() == self.reconciler.name()) {
            self.watched = watched_by(&*found);
            self.reconciler = found;
        }
    }

    /// Starts or stops the work of the reconciler, by leadership and the state of the dialect.
    fn update_active(&mut self) {
        let name = self.dialect.name();
        let ready = self.engine.complete(name).is_ok() && self.engine.decides(name);
        let active = *self.signals.leading.borrow_and_update() && ready;
        if active == self.active {
            return;
        }
        self.active = active;
        tracing::info!(
            controller = self.reconciler.name(),
            active,
            "controller started or stopped"
        );
        if active {
            self.must_check_all = true;
        } else {
            self.workers.clear();
        }
    }

    /// Returns the input for the evaluation of changes; `None` while the dialect is not synced.
    async fn input(&self) -> Option<ReconcilerInput> {
        match ReconcilerInput::read(&self.engine, &*self.dialect, &self.watched).await {
            Ok(input) => Some(input),
            Err(problem) => {
                let controller = self.reconciler.name();
                tracing::warn!(controller, %problem, "not synced yet; reconciling everything once it is");
                None
            }
        }
    }

    /// Queues the keys that `events` make due.
    async fn process_events(&mut self, events: &[Arc<Event>]) {
        if !self.active || self.must_check_all || events.is_empty() {
            return;
        }
        let Some(input) = self.input().await else {
            self.must_check_all = true;
            return;
        };
        let context = input.context();
        let changes = events.iter().map(|event| &event.change);
        let due: Vec<Key> = changes
            .flat_map(|change| self.reconciler.due(change, &context))
            .collect();
        self.workers.add(due);
    }

    /// Queues all keys, if all objects have to be checked.
    async fn queue_all(&mut self) {
        if !self.active || !self.must_check_all {
            return;
        }
        if let Some(input) = self.input().await {
            self.must_check_all = false;
            let due = self.reconciler.all(&input.context());
            self.workers.add(due);
        }
    }

    /// Begins work on queued keys, up to [`MAX_PARALLEL`] at once.
    fn begin(&mut self) {
        if !self.active {
            return;
        }
        let (engine, settings, dialect) = (&self.engine, &self.settings, &self.dialect);
        let (reconciler, watched) = (&self.reconciler, &self.watched);
        self.workers.begin(MAX_PARALLEL, |key| {
            let work = Work {
                engine: Arc::clone(engine),
                settings: settings.clone(),
                dialect: Arc::clone(dialect),
                reconciler: Arc::clone(reconciler),
                watched: Arc::clone(watched),
            };
            work.run(key)
        });
    }

    /// Processes the result of the work on `key`.
    fn finish(&mut self, key: Key, done: Result<WorkResult, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(controller = self.reconciler.name(), %error, "reconcile panicked; retrying");
            WorkResult::Failed
        });
        let workers = &mut self.workers;
        let next = match done {
            _ if !self.active => NextTreatment::Forget,
            WorkResult::Rest(at) => NextTreatment::Rest(at.map(|at| at.max(workers.later(MIN_DELAY)))),
            WorkResult::Failed => {
                NextTreatment::Retry(workers.later(Pace::default().failed.delay(workers.failures(&key))))
            }
            WorkResult::Overruled => {
                NextTreatment::Delay(workers.later(OVERRULED_BACKOFF.delay(workers.failures(&key))))
            }
        };
        workers.done(key, next);
    }

    /// Returns the longest sleep of the loop without an event.
    fn longest_pause(&self) -> Duration {
        if self.active && self.must_check_all {
            RETRY
        } else {
            LONGEST_SLEEP
        }
    }
}

/// Returns the resources that `reconciler` watches.
fn watched_by(reconciler: &dyn Reconciler) -> Arc<[GroupResource]> {
    let all = reconciler
        .watches()
        .into_iter()
        .chain(reconciler.former_resources());
    all.collect()
}

/// The input of a reconciler: the objects that it watches, and an inventory that is at least as new.
struct ReconcilerInput {
    lists: Lists,
    snapshot: Snapshot,
    now: Timestamp,
}

impl ReconcilerInput {
    async fn read(
        engine: &Engine,
        dialect: &dyn Dialect,
        watched: &[GroupResource],
    ) -> Result<Self, ReadinessError> {
        let lists = Lists::of(&**engine.source(), watched);
        let unknown = || ReadinessError::NotSynced {
            dialect: dialect.name(),
            why: "the engine does not have this system".to_owned(),
        };
        engine.complete(dialect.name())?;
        // The lists are from memory, so that a write of another server is not awaited: it makes its keys due.
        engine.caught_up(engine.source().revision()).await?;
        Ok(Self {
            lists,
            snapshot: engine.snapshot(dialect.name()).ok_or_else(unknown)?,
            now: engine.clock().now(),
        })
    }

    fn context(&self) -> Context<'_> {
        Context {
            objects: &self.lists,
            inventory: &*self.snapshot.inventory,
            now: self.now,
        }
    }
}

/// The work on one key.
struct Work {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: Arc<dyn Dialect>,
    reconciler: Arc<dyn Reconciler>,
    watched: Arc<[GroupResource]>,
}

impl Work {
    async fn run(self, key: Key) -> WorkResult {
        let start = Instant::now();
        let span = tracing::info_span!(
            "step",
            controller = self.reconciler.name(),
            %key,
            result = tracing::field::Empty,
        );
        let (result, done) = self.step(&key).instrument(span.clone()).await;
        span.record("result", result.as_str());
        self.settings.observer.stepped(&FinishedStep {
            dialect: self.dialect.name(),
            controller: self.reconciler.name(),
            key: &key,
            result,
            took: start.elapsed(),
        });
        done
    }

    /// Computes the step for `key`, and commits its writes.
    async fn step(&self, key: &Key) -> (StepResult, WorkResult) {
        let input = match ReconcilerInput::read(&self.engine, &*self.dialect, &self.watched).await {
            Ok(input) => input,
            Err(problem) => {
                tracing::warn!(%problem, "cannot reconcile yet; retrying");
                return (StepResult::Failed, WorkResult::Failed);
            }
        };
        let step = self.reconciler.step(key, &input.context());
        if step.writes.is_empty() {
            return (StepResult::Unchanged, WorkResult::Rest(step.due_at));
        }
        let commit = Commit {
            actor: self.reconciler.actor(),
            manager: manager(self.dialect.name(), self.reconciler.actor()),
            cause: format!("{} about {key}", self.reconciler.name()),
            writes: step.writes,
            guards: Vec::new(),
            dry_run: false,
        };
        match self.settings.committer.commit(commit).await {
            Ok(_) => (StepResult::Written, WorkResult::Rest(step.due_at)),
            // Another client changed an object in between, which is not an error.
            Err(error) if error.reason.is_outdated() => {
                tracing::debug!(problem = %error, "conflict in a reconcile; retrying");
                (StepResult::Conflict, WorkResult::Failed)
            }
            Err(error) if error.reason == WriteRefusal::Overruled => {
                tracing::warn!(problem = %error, "a write of the reconcile was changed as it was stored; retrying later");
                (StepResult::Failed, WorkResult::Overruled)
            }
            Err(error) => {
                tracing::warn!(problem = %error, "a write of the reconcile was rejected; retrying");
                (StepResult::Failed, WorkResult::Failed)
            }
        }
    }
}
