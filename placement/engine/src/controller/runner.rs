//! The loop of one dialect's controller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{Key, Revision, Timestamp};
use berth_dialect_contract::{Backoff, Outcome, Pace};
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::observer::Attempt;
use super::queue::NextTreatment;
use super::workers::Workers;
use crate::bound::BindError;
use crate::dirty::{Batch, MarkedSet, Subscription};
use crate::engine::Engine;

/// The longest sleep before the clock is read again, since clocks can be set.
pub(super) const NAP: Duration = Duration::from_secs(30);
/// Shortest delay before the next decision on a demand that is already due again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// Back-off for writes whose decided content admission changed (a mutating webhook, for example): a user has
/// to change the configuration of admission first.
pub(super) const OVERRULED: Backoff = Backoff {
    first: Duration::from_secs(10),
    most: Duration::from_secs(1000),
};

/// Delay before the next decision on a demand that another writer contests.
const CONTESTED_DELAY: Duration = Duration::from_mins(5);

/// Signals for a runner from outside.
pub(super) struct Signals {
    /// Ends the runner.
    pub(super) stop: CancellationToken,
    /// Makes the runner read the clock.
    pub(super) looks: watch::Receiver<u64>,
    /// Whether this replica is the leader.
    pub(super) leading: watch::Receiver<bool>,
}

/// One dialect's controller.
pub(super) struct Runner {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    signals: Signals,
    subscription: Arc<Subscription>,
    workers: Workers<WorkResult>,
    /// Revision up to which all changes are processed.
    through: Revision,
    /// For each demand that changes made due: the revision of the last change in its batch.
    since: HashMap<Key, Revision>,
    pace: Pace,
    /// Whether the controller works: its replica is the leader, its dialect is decided here and its objects
    /// are known, and its gate is open.
    active: bool,
}

/// Outcome of one piece of work.
enum WorkResult {
    /// The decision is made and written; its outcome, and the time of the next decision, if any.
    Decided(Outcome, Option<Timestamp>),
    /// The demand does not exist, or another scheduler decides it.
    Gone,
    /// Another writer keeps changing the decision, so that Berth leaves it alone.
    LeftAlone,
    /// The decision could not be made or written.
    Failed,
    /// Admission changed the decided content of a written object.
    Overruled,
}

impl Runner {
    pub(super) fn new(
        engine: Arc<Engine>,
        settings: Settings,
        dialect: &'static str,
        signals: Signals,
    ) -> Self {
        let subscription = engine.subscribe();
        let (clock, observer) = (Arc::clone(engine.clock()), Arc::clone(&settings.observer));
        Self {
            workers: Workers::new(dialect, clock, observer),
            engine,
            settings,
            dialect,
            signals,
            subscription,
            through: Revision::default(),
            since: HashMap::new(),
            pace: Pace::default(),
            active: false,
        }
    }

    /// Works until it is stopped, and then completes its running work.
    pub(super) async fn run(mut self) {
        let stop = self.signals.stop.clone();
        // No demand can be decided before the first load.
        let first = tokio::select! {
            batch = self.subscription.next() => batch,
            () = stop.cancelled() => return,
        };
        self.take_in(first);
        loop {
            self.signals.looks.mark_unchanged();
            self.workers.ring();
            self.begin();
            let pause = self.workers.pause(NAP);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some((key, result)) = self.workers.next() => self.finish(key, result),
                batch = self.subscription.next() => self.take_in(batch),
                Ok(()) = self.signals.leading.changed() => self.update_active(),
                Ok(()) = self.signals.looks.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        while let Some((key, result)) = self.workers.next().await {
            self.finish(key, result);
        }
    }

    /// Processes a batch of marks: records its revision, checks whether the controller has to work, and
    /// queues the due demands.
    fn take_in(&mut self, mut batch: Batch) {
        self.through = batch.through;
        self.update_active();
        let Some(dirty) = batch.dirty.remove(self.dialect) else {
            return;
        };
        if !self.active {
            return;
        }
        match dirty.decide {
            MarkedSet::Some(keys) => {
                let since = dirty.since;
                self.since.extend(keys.iter().map(|key| (key.clone(), since)));
                self.workers.add(keys);
            }
            MarkedSet::All => self.add_all(),
        }
    }

    /// Updates the pace, and starts or stops the work. At a start all demands are due, since missed changes
    /// are unknown.
    fn update_active(&mut self) {
        let Some(snapshot) = self.engine.snapshot(self.dialect) else {
            return;
        };
        self.pace = snapshot.inventory.pace();
        let active = *self.signals.leading.borrow_and_update()
            && self.engine.decides(self.dialect)
            && (self.settings.gate)(self.dialect)
            && self.engine.complete(self.dialect).is_ok();
        if active == self.active {
            return;
        }
        self.active = active;
        tracing::info!(dialect = self.dialect, active, "scheduler started or stopped");
        if active {
            self.add_all();
        } else {
            self.since.clear();
            self.workers.clear();
        }
    }

    fn add_all(&mut self) {
        // Missed changes are unknown, so that earlier answers are void.
        self.since.clear();
        let snapshot = self.engine.snapshot(self.dialect);
        let demands = snapshot.map(|snapshot| snapshot.inventory.demands());
        self.workers.add(demands.into_iter().flatten());
    }

    /// Begins work on due keys, up to the number that is allowed at once.
    fn begin(&mut self) {
        if !self.active {
            return;
        }
        let (engine, settings) = (&self.engine, &self.settings);
        let (dialect, through, since) = (self.dialect, self.through, &mut self.since);
        self.workers.begin(self.pace.parallel.max(1), |key| {
            let since = since.remove(&key);
            work(Arc::clone(engine), settings.clone(), dialect, key, since, through)
        });
    }

    fn finish(&mut self, key: Key, result: Result<WorkResult, JoinError>) {
        let result = result.unwrap_or_else(|error| {
            tracing::error!(dialect = self.dialect, %error, "decision panicked; retrying");
            WorkResult::Failed
        });
        let next = match self.active {
            true => self.next(&key, &result),
            false => NextTreatment::Forget,
        };
        self.workers.done(key, next);
    }

    /// The next treatment of a demand.
    fn next(&self, key: &Key, result: &WorkResult) -> NextTreatment {
        let workers = &self.workers;
        let failures = workers.failures(key);
        match *result {
            WorkResult::Gone => NextTreatment::Forget,
            WorkResult::LeftAlone => NextTreatment::Rest(Some(workers.later(CONTESTED_DELAY))),
            WorkResult::Failed => NextTreatment::Retry(workers.later(self.pace.failed.delay(failures))),
            WorkResult::Overruled => NextTreatment::Hold(workers.later(OVERRULED.delay(failures))),
            WorkResult::Decided(outcome, due_at) => {
                let due_at = due_at.map(|due| due.max(workers.later(AGAIN)));
                match self.pace.unplaced {
                    Some(backoff) if is_unplaced(outcome) => {
                        let retry = workers.later(backoff.delay(failures).max(AGAIN));
                        NextTreatment::Retry(due_at.map_or(retry, |due| due.min(retry)))
                    }
                    _ => NextTreatment::Rest(due_at),
                }
            }
        }
    }
}

fn is_unplaced(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Unschedulable | Outcome::Partial | Outcome::Invalid
    )
}

/// Decides one demand, on a world with every change up to `through`, and writes the decision. If the demand
/// was already decided after the change at `since` that made it due, that answer is used.
async fn work(
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    key: Key,
    since: Option<Revision>,
    through: Revision,
) -> WorkResult {
    let start = Instant::now();
    let snapshot = engine.snapshot(dialect);
    if snapshot.is_some_and(|snapshot| !engine.is_entrusted(&snapshot, &key)) {
        settings.observer.left(dialect, &key);
        return WorkResult::Gone;
    }
    if let Some(answer) = since.and_then(|since| engine.recent_answer(dialect, &key, since)) {
        settings.observer.attempted(&Attempt {
            dialect,
            demand: &key,
            result: Ok(answer.outcome),
            took: start.elapsed(),
        });
        return WorkResult::Decided(answer.outcome, answer.due_at);
    }
    let settlement = engine.settle(&*settings.committer, dialect, &key, through).await;
    let result = settlement.as_ref().as_ref();
    settings.observer.attempted(&Attempt {
        dialect,
        demand: &key,
        result: result.map(|bound| bound.decision.outcome),
        took: start.elapsed(),
    });
    match result {
        Ok(bound) => WorkResult::Decided(bound.decision.outcome, bound.decision.due_at),
        Err(BindError::NotFound(_) | BindError::Observed(_)) => WorkResult::Gone,
        Err(BindError::Contested(contest)) => {
            if contest.is_new {
                tracing::warn!(dialect, %key, "{contest}");
            }
            WorkResult::LeftAlone
        }
        // Another client changed an object in between, which is not an error.
        Err(error @ BindError::Moved(_)) => {
            tracing::debug!(dialect, %key, %error, "cannot write a decision; retrying");
            WorkResult::Failed
        }
        Err(error @ BindError::Overruled(_)) => {
            tracing::warn!(dialect, %key, %error, "a decision was changed as it was stored; retrying later");
            WorkResult::Overruled
        }
        Err(error) => {
            tracing::warn!(dialect, %key, %error, "cannot write a decision; retrying");
            WorkResult::Failed
        }
    }
}
