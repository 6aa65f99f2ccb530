//! The loop of the controller of one dialect.

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

/// The longest sleep before the clock is read again, since the clock may be adjusted.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Shortest delay before the next decision on a demand that is already due again.
pub(super) const MIN_DELAY: Duration = Duration::from_secs(1);
/// Back-off for writes whose decided content admission changed (a mutating webhook, for example): a user has
/// to change the configuration of admission first.
pub(super) const OVERRULED_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(10),
    most: Duration::from_secs(1000),
};

/// Delay before the next decision on a demand that another writer contests.
const CONTESTED_DELAY: Duration = Duration::from_mins(5);

/// Signals to a runner.
pub(super) struct Signals {
    /// Ends the runner.
    pub(super) stop: CancellationToken,
    /// Makes the runner read the clock, which a test has moved.
    pub(super) looks: watch::Receiver<u64>,
    /// Whether this replica is the leader.
    pub(super) leading: watch::Receiver<bool>,
}

/// The controller of one dialect.
pub(super) struct Runner {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    signals: Signals,
    subscription: Arc<Subscription>,
    workers: Workers<WorkResult>,
    /// Revision up to which all changes are processed.
    through: Revision,
    /// The due demands, each with the revision of the last change in the batch that made it due.
    since: HashMap<Key, Revision>,
    pace: Pace,
    /// Whether the controller works: this replica is the leader, the dialect is decided here and synced, and
    /// [`Settings::gate`] returns true.
    active: bool,
}

/// Outcome of the work on one demand.
enum WorkResult {
    /// The decision is made and written. The values are the outcome, and the time of the next decision, if
    /// any.
    Decided(Outcome, Option<Timestamp>),
    /// The demand does not exist, or another scheduler decides it.
    Gone,
    /// Another writer keeps changing the decision, so Berth does not write it any more.
    Contested,
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

    /// Runs until the stop signal, and then completes the running work.
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
            self.workers.queue_due();
            self.begin();
            let pause = self.workers.pause(LONGEST_SLEEP);
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

    /// Updates the pace, and starts or stops the work. At the start of work all demands are due, since
    /// changes may have been missed. Where another scheduler decides the dialect, no contest with it is left.
    fn update_active(&mut self) {
        let Some(snapshot) = self.engine.snapshot(self.dialect) else {
            return;
        };
        self.pace = snapshot.inventory.pace();
        let decides = self.engine.decides(self.dialect);
        if !decides {
            self.engine.end_contests(self.dialect);
        }
        let active = *self.signals.leading.borrow_and_update()
            && decides
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

    /// Queues all demands.
    fn add_all(&mut self) {
        // Changes may have been missed, so earlier answers are not used.
        self.since.clear();
        let snapshot = self.engine.snapshot(self.dialect);
        let demands = snapshot.map(|snapshot| snapshot.inventory.demands());
        self.workers.add(demands.into_iter().flatten());
    }

    /// Begins work on queued demands, as many at once as the pace allows.
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

    /// Processes the result of the work on `key`.
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

    /// Returns the treatment of the demand `key` after `result`.
    fn next(&self, key: &Key, result: &WorkResult) -> NextTreatment {
        let workers = &self.workers;
        let failures = workers.failures(key);
        match *result {
            WorkResult::Gone => NextTreatment::Forget,
            WorkResult::Contested => NextTreatment::Rest(Some(workers.later(CONTESTED_DELAY))),
            WorkResult::Failed => NextTreatment::Retry(workers.later(self.pace.failed.delay(failures))),
            WorkResult::Overruled => NextTreatment::Delay(workers.later(OVERRULED_BACKOFF.delay(failures))),
            WorkResult::Decided(outcome, due_at) => {
                let due_at = due_at.map(|due| due.max(workers.later(MIN_DELAY)));
                match self.pace.unplaced {
                    Some(backoff) if is_unplaced(outcome) => {
                        let retry = workers.later(backoff.delay(failures).max(MIN_DELAY));
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

/// Decides the demand `key` on a world with every change up to `through`, and writes the decision. If the
/// demand was already decided on a world with the change at `since`, which made it due, that answer is used.
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
        engine.end_contest(dialect, &key);
        settings.observer.skipped(dialect, &key);
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
            WorkResult::Contested
        }
        // Another client changed an object in between, which is not an error.
        Err(error @ BindError::Conflict(_)) => {
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
