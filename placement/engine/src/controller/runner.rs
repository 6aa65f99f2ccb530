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
/// Back-off for writes that other clients change as they are stored: a user has to change the
/// configuration of these clients first.
pub(super) const OVERRULED: Backoff = Backoff {
    first: Duration::from_secs(10),
    most: Duration::from_secs(1000),
};

/// Delay before the next decision on a demand that another writer contests.
const CONTESTED: Duration = Duration::from_mins(5);

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
    workers: Workers<Done>,
    /// Revision up to which all changes are processed.
    through: Revision,
    /// The last change of each demand that is in the queue because of changes.
    since: HashMap<Key, Revision>,
    pace: Pace,
    /// Whether the controller works: its replica is the leader, its dialect is decided here, and its
    /// gate is open.
    active: bool,
}

/// Outcome of one piece of work.
enum Done {
    /// The decision is made and written.
    Decided(Outcome, Option<Timestamp>),
    /// The demand does not exist, or another scheduler decides it.
    Gone,
    /// Another writer keeps changing the decision, so that Berth leaves it alone.
    LeftAlone,
    /// The decision could not be written.
    Failed,
    /// Other clients changed the written objects.
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
        // Before the first load nothing can be decided.
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
                Some((key, done)) = self.workers.next() => self.finish(key, done),
                batch = self.subscription.next() => self.take_in(batch),
                Ok(()) = self.signals.leading.changed() => self.judge(),
                Ok(()) = self.signals.looks.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        while let Some((key, done)) = self.workers.next().await {
            self.finish(key, done);
        }
    }

    /// Queues the keys that changes made due.
    fn take_in(&mut self, mut batch: Batch) {
        self.through = batch.through;
        self.judge();
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

    /// Checks whether the controller has to work. When it begins, all demands are due, since missed
    /// changes are unknown.
    fn judge(&mut self) {
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

    /// Begins work on as many keys as allowed at once.
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

    fn finish(&mut self, key: Key, done: Result<Done, JoinError>) {
        let done = done.unwrap_or_else(|error| {
            tracing::error!(dialect = self.dialect, %error, "decision panicked; retrying");
            Done::Failed
        });
        let next = match self.active {
            true => self.next(&key, &done),
            false => NextTreatment::Forget,
        };
        self.workers.done(key, next);
    }

    /// The next treatment of a demand.
    fn next(&self, key: &Key, done: &Done) -> NextTreatment {
        let workers = &self.workers;
        let failures = workers.failures(key);
        match *done {
            Done::Gone => NextTreatment::Forget,
            Done::LeftAlone => NextTreatment::Rest(Some(workers.later(CONTESTED))),
            Done::Failed => NextTreatment::Retry(workers.later(self.pace.failed.delay(failures))),
            Done::Overruled => NextTreatment::Hold(workers.later(OVERRULED.delay(failures))),
            Done::Decided(outcome, due_at) => {
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
) -> Done {
    let start = Instant::now();
    let snapshot = engine.snapshot(dialect);
    if snapshot.is_some_and(|snapshot| !engine.is_entrusted(&snapshot, &key)) {
        settings.observer.left(dialect, &key);
        return Done::Gone;
    }
    if let Some(answer) = since.and_then(|since| engine.answered(dialect, &key, since)) {
        settings.observer.attempted(&Attempt {
            dialect,
            demand: &key,
            result: Ok(answer.outcome),
            took: start.elapsed(),
        });
        return Done::Decided(answer.outcome, answer.due_at);
    }
    let settled = engine.settle(&*settings.committer, dialect, &key, through).await;
    let result = settled.as_ref().as_ref();
    settings.observer.attempted(&Attempt {
        dialect,
        demand: &key,
        result: result.map(|bound| bound.decision.outcome),
        took: start.elapsed(),
    });
    match result {
        Ok(bound) => Done::Decided(bound.decision.outcome, bound.decision.due_at),
        Err(BindError::NotFound(_) | BindError::Observed(_)) => Done::Gone,
        Err(BindError::Contested(contest)) => {
            if contest.is_new {
                tracing::warn!(dialect, %key, "{contest}");
            }
            Done::LeftAlone
        }
        // Another client changed an object in between, which is not an error.
        Err(error @ BindError::Moved(_)) => {
            tracing::debug!(dialect, %key, %error, "cannot write a decision; retrying");
            Done::Failed
        }
        Err(error @ BindError::Overruled(_)) => {
            tracing::warn!(dialect, %key, %error, "a decision was changed as it was stored; retrying later");
            Done::Overruled
        }
        Err(error) => {
            tracing::warn!(dialect, %key, %error, "cannot write a decision; retrying");
            Done::Failed
        }
    }
}
