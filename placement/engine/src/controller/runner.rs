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
use crate::bound::{BindError, BindOutcome};
use crate::dirty::{Batch, MarkedSet, Subscription};
use crate::engine::Engine;

/// The longest sleep before the clock is read again, since the clock may be adjusted.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Shortest delay before the next decision on a demand that is already due again.
pub(super) const MIN_DELAY: Duration = Duration::from_secs(1);
/// Back-off after admission (a mutating webhook, for example) changed the decided content of a write. The
/// delays are long, since each further attempt fails until a user changes the configuration of admission.
pub(super) const OVERRULED_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(10),
    longest: Duration::from_secs(1000),
};

/// Delay before the next decision on a demand that another writer contests.
const CONTESTED_DELAY: Duration = Duration::from_mins(5);

/// Signals to a runner.
pub(super) struct Signals {
    /// Ends the runner.
    pub(super) stop: CancellationToken,
    /// Number of times that a test moved the clock. The runner reads the clock at each change.
    pub(super) clock_moves: watch::Receiver<u64>,
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
    processed: Revision,
    /// Revisions of the last changes that made demands due, by demand. A demand that is due without a change
    /// has none.
    due_revisions: HashMap<Key, Revision>,
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
            processed: Revision::default(),
            due_revisions: HashMap::new(),
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
            self.signals.clock_moves.mark_unchanged();
            self.workers.queue_due();
            self.begin();
            let pause = self.workers.pause(LONGEST_SLEEP);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some((key, result)) = self.workers.next() => self.finish(key, result),
                batch = self.subscription.next() => self.take_in(batch),
                Ok(()) = self.signals.leading.changed() => self.update_active(),
                Ok(()) = self.signals.clock_moves.changed() => {}
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
        self.processed = batch.through;
        self.update_active();
        let Some(dirty) = batch.dirty.remove(self.dialect) else {
            return;
        };
        if !self.active {
            return;
        }
        match dirty.decide {
            MarkedSet::Some(keys) => {
                let due_revision = dirty.since;
                self.due_revisions
                    .extend(keys.iter().map(|key| (key.clone(), due_revision)));
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
            self.due_revisions.clear();
            self.workers.clear();
        }
    }

    /// Queues all demands.
    fn add_all(&mut self) {
        // Changes may have been missed, so earlier answers are not used.
        self.due_revisions.clear();
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
        let (dialect, processed, due_revisions) = (self.dialect, self.processed, &mut self.due_revisions);
        self.workers.begin(self.pace.parallel.max(1), |key| {
            let due_revision = due_revisions.remove(&key);
            let (engine, settings) = (Arc::clone(engine), settings.clone());
            work(engine, settings, dialect, key, due_revision, processed)
        });
    }

    /// Processes the result of the work on `key`.
    fn finish(&mut self, key: Key, result: Result<WorkResult, JoinError>) {
        let result = result.unwrap_or_else(|error| {
            tracing::error!(dialect = self.dialect, %key, %error, "decision panicked; retrying");
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

/// Decides the demand `key` on a world with every change up to `processed`, and writes the decision. If the
/// demand was already decided on a world with the change at `due_revision`, which made it due, that answer is
/// used.
async fn work(
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    key: Key,
    due_revision: Option<Revision>,
    processed: Revision,
) -> WorkResult {
    let start = Instant::now();
    let snapshot = engine.snapshot(dialect);
    if snapshot.is_some_and(|snapshot| !engine.is_entrusted(&snapshot, &key)) {
        engine.end_contest(dialect, &key);
        settings.observer.skipped(dialect, &key);
        return WorkResult::Gone;
    }
    let recent_answer = due_revision.and_then(|revision| engine.recent_answer(dialect, &key, revision));
    if let Some(answer) = recent_answer {
        settings.observer.attempted(&Attempt {
            dialect,
            demand: &key,
            result: Ok(answer.outcome),
            took: start.elapsed(),
        });
        return WorkResult::Decided(answer.outcome, answer.due_at);
    }
    let settlement = engine
        .settle(&*settings.committer, dialect, &key, processed)
        .await;
    let result = settlement.as_ref().as_ref();
    settings.observer.attempted(&Attempt {
        dialect,
        demand: &key,
        result: result.map(|bound| bound.decision.outcome),
        took: start.elapsed(),
    });
    work_result(dialect, &key, result)
}

/// Converts the settlement of the demand `key` to the result of the work, and logs errors.
fn work_result(dialect: &'static str, key: &Key, settlement: Result<&BindOutcome, &BindError>) -> WorkResult {
    let error = match settlement {
        Ok(bound) => return WorkResult::Decided(bound.decision.outcome, bound.decision.due_at),
        Err(error) => error,
    };
    match error {
        BindError::NotFound(_) | BindError::Observed(_) => WorkResult::Gone,
        BindError::Contested(contest) => {
            if contest.is_new {
                tracing::warn!(dialect, %key, "{contest}");
            }
            WorkResult::Contested
        }
        // Another client changed an object in between, which is not an error.
        BindError::Conflict(_) => {
            tracing::debug!(dialect, %key, %error, "cannot write a decision; retrying");
            WorkResult::Failed
        }
        BindError::Overruled(_) => {
            tracing::warn!(dialect, %key, %error, "a decision was changed as it was stored; retrying later");
            WorkResult::Overruled
        }
        BindError::Rejected(_) => {
            tracing::warn!(dialect, %key, %error, "cannot write a decision; retrying");
            WorkResult::Failed
        }
        BindError::Refused(_) | BindError::Unplaced(_) | BindError::NotReady(_) => {
            tracing::warn!(dialect, %key, %error, "cannot make a decision; retrying");
            WorkResult::Failed
        }
    }
}
