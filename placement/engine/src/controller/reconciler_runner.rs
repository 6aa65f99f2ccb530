//! The loop of one reconciler ([`berth_dialect_contract::Reconciler`]): it takes changes in, keeps due keys
//! with back-off and alarms, and makes one guarded step per key.
//!
//! A reconciler watches the source itself, since it reads resources of other dialects, too, and the
//! resources may depend on the configuration. Whenever it may have missed changes (when it begins to work,
//! the watch is lost or the configuration changes), it checks all objects once.

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
use super::runner::{AGAIN, NAP, OVERRULED, Signals};
use super::workers::Workers;
use crate::behind::Behind;
use crate::bind::manager;
use crate::bound::Commit;
use crate::dirty::Subscription;
use crate::engine::Engine;
use crate::snapshot::Snapshot;

/// Highest number of changes that are processed at once.
const BATCH: usize = 512;
/// Highest number of keys that are worked on at once.
const PARALLEL: usize = 16;
/// Delay before a source that does not answer is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// One reconciler at work.
pub(super) struct ReconcilerRunner {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: Arc<dyn Dialect>,
    signals: Signals,
    /// Wakes the loop for changes in the engine, such as a dialect that becomes complete.
    subscription: Arc<Subscription>,
    reconciler: Arc<dyn Reconciler>,
    watched: Arc<[GroupResource]>,
    workers: Workers<Done>,
    /// Whether the reconciler works: its replica is the leader, and its dialect is complete and decided
    /// here.
    active: bool,
    /// Whether all objects have to be checked.
    must_check_all: bool,
}

/// Outcome of one piece of work.
enum Done {
    /// Nothing is left to do until this time.
    Rest(Option<Timestamp>),
    /// The work has to be tried again.
    Failed,
    /// Other clients changed the written objects.
    Overruled,
}

impl ReconcilerRunner {
    /// The runner of `reconciler`, a reconciler of `dialect`.
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

    /// Works until it is stopped, and then completes its running work.
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

    /// Processes changes until the configuration changes, or the watch is lost.
    async fn follow(&mut self) -> Result<(), StoreError> {
        self.configure();
        let mut resources = self.watched.to_vec();
        resources.push(config::RESOURCE);
        let source = Arc::clone(self.engine.source());
        let mut watch = source.watch(Scope::Many(resources), source.revision())?;
        let configuration = config::key(self.dialect.name());
        loop {
            self.update_active();
            self.signals.looks.mark_unchanged();
            self.workers.ring();
            self.take_all().await;
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
                    self.take_in(&events).await;
                }
                _ = self.subscription.next() => {}
                Ok(()) = self.signals.leading.changed() => {}
                Ok(()) = self.signals.looks.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Replaces the reconciler by the reconciler of the configuration in force.
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

    /// The world for the evaluation of changes; `None` while it is not synced.
    async fn world(&self) -> Option<World> {
        match World::read(&self.engine, &*self.dialect, &self.watched).await {
            Ok(world) => Some(world),
            Err(problem) => {
                let controller = self.reconciler.name();
                tracing::warn!(controller, %problem, "not synced yet; reconciling everything once it is");
                None
            }
        }
    }

    async fn take_in(&mut self, events: &[Arc<Event>]) {
        if !self.active || self.must_check_all || events.is_empty() {
            return;
        }
        let Some(world) = self.world().await else {
            self.must_check_all = true;
            return;
        };
        let context = world.context();
        let changes = events.iter().map(|event| &event.change);
        let due: Vec<Key> = changes
            .flat_map(|change| self.reconciler.due(change, &context))
            .collect();
        self.workers.add(due);
    }

    async fn take_all(&mut self) {
        if !self.active || !self.must_check_all {
            return;
        }
        if let Some(world) = self.world().await {
            self.must_check_all = false;
            let due = self.reconciler.all(&world.context());
            self.workers.add(due);
        }
    }

    /// Begins work on as many keys as allowed at once.
    fn begin(&mut self) {
        if !self.active {
            return;
        }
        let (engine, settings, dialect) = (&self.engine, &self.settings, &self.dialect);
        let (reconciler, watched) = (&self.reconciler, &self.watched);
        self.workers.begin(PARALLEL, |key| {
            let work = Work {
                engine: Arc::clone(engine),
                settings: settings.clone(),
                dialect: Arc::clone(dialect),
                reconciler: Arc::clone(reconciler),
                watched: Arc::clone(watched),
            };
            work.on(key)
        });
    }

    fn finish(&mut self, key: Key, done: Result<Done, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(controller = self.reconciler.name(), %error, "reconcile panicked; retrying");
            Done::Failed
        });
        let workers = &mut self.workers;
        let next = match done {
            _ if !self.active => NextTreatment::Forget,
            Done::Rest(at) => NextTreatment::Rest(at.map(|at| at.max(workers.later(AGAIN)))),
            Done::Failed => {
                NextTreatment::Retry(workers.later(Pace::default().failed.delay(workers.failures(&key))))
            }
            Done::Overruled => NextTreatment::Hold(workers.later(OVERRULED.delay(workers.failures(&key)))),
        };
        workers.done(key, next);
    }

    /// Longest wait when nothing happens.
    fn longest_pause(&self) -> Duration {
        if self.active && self.must_check_all {
            RETRY
        } else {
            NAP
        }
    }
}

/// Resources that `reconciler` watches.
fn watched_by(reconciler: &dyn Reconciler) -> Arc<[GroupResource]> {
    let all = reconciler.watches().into_iter().chain(reconciler.former());
    all.collect()
}

/// The objects that a reconciler watches, and an inventory that is at least as new.
struct World {
    lists: Lists,
    snapshot: Snapshot,
    now: Timestamp,
}

impl World {
    async fn read(engine: &Engine, dialect: &dyn Dialect, watched: &[GroupResource]) -> Result<Self, Behind> {
        let lists = Lists::of(&**engine.source(), watched);
        let unknown = || Behind::Held {
            dialect: dialect.name(),
            why: "the engine does not know it".to_owned(),
        };
        Ok(Self {
            lists,
            snapshot: engine.fresh(dialect.name()).await?.ok_or_else(unknown)?,
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

/// One step to be taken.
struct Work {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: Arc<dyn Dialect>,
    reconciler: Arc<dyn Reconciler>,
    watched: Arc<[GroupResource]>,
}

impl Work {
    async fn on(self, key: Key) -> Done {
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

    async fn step(&self, key: &Key) -> (StepResult, Done) {
        let world = match World::read(&self.engine, &*self.dialect, &self.watched).await {
            Ok(world) => world,
            Err(problem) => {
                tracing::warn!(%problem, "cannot reconcile yet; retrying");
                return (StepResult::Failed, Done::Failed);
            }
        };
        let step = self.reconciler.step(key, &world.context());
        if step.writes.is_empty() {
            return (StepResult::Unchanged, Done::Rest(step.due_at));
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
            Ok(_) => (StepResult::Written, Done::Rest(step.due_at)),
            // Another client changed an object in between, which is not an error.
            Err(error) if error.why.is_moved() => {
                tracing::debug!(problem = %error, "conflict in a reconcile; retrying");
                (StepResult::Conflict, Done::Failed)
            }
            Err(error) if error.why == WriteRefusal::Overruled => {
                tracing::warn!(problem = %error, "a write of the reconcile was changed as it was stored; retrying later");
                (StepResult::Failed, Done::Overruled)
            }
            Err(error) => {
                tracing::warn!(problem = %error, "a write of the reconcile was rejected; retrying");
                (StepResult::Failed, Done::Failed)
            }
        }
    }
}
