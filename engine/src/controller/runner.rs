//! The loop of one dialect's controller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dialect_contract::{Outcome, Pace};
use meta::{Key, Revision, Timestamp};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::observer::Attempt;
use super::queue::{Next, Queue};
use crate::bind::BindError;
use crate::dirty::{Batch, Marked, Subscription};
use crate::engine::Engine;

/// The longest sleep before the clock is looked at again, since clocks can be set.
pub(super) const NAP: Duration = Duration::from_secs(30);
/// How soon a demand that says its time has come already is looked at again, at the earliest.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// What a runner is told from outside.
pub(super) struct Signals {
    /// It is to end.
    pub(super) stop: CancellationToken,
    /// It is to look at the clock.
    pub(super) looks: watch::Receiver<u64>,
    /// Whether it is to work.
    pub(super) leading: watch::Receiver<bool>,
}

/// One dialect's controller.
pub(super) struct Runner {
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    signals: Signals,
    subscription: Arc<Subscription>,
    queue: Queue,
    /// The changes up to here have been taken in.
    through: Revision,
    pace: Pace,
    /// Whether it works: it leads, and its gate is open.
    active: bool,
    work: JoinSet<Done>,
    /// The demands in `work`.
    running: HashMap<Id, Key>,
}

/// How one piece of work ended.
enum Done {
    /// There is a decision, and it is written.
    Decided(Outcome, Option<Timestamp>),
    /// There is no such demand.
    Gone,
    /// The decision could not be written.
    Failed,
}

impl Runner {
    pub(super) fn new(
        engine: Arc<Engine>,
        settings: Settings,
        dialect: &'static str,
        signals: Signals,
    ) -> Self {
        let subscription = engine.subscribe();
        Self {
            engine,
            settings,
            dialect,
            signals,
            subscription,
            queue: Queue::default(),
            through: Revision::default(),
            pace: Pace::default(),
            active: false,
            work: JoinSet::new(),
            running: HashMap::new(),
        }
    }

    /// Works until it is told to stop, and then finishes what it has begun.
    pub(super) async fn run(mut self) {
        let stop = self.signals.stop.clone();
        // Until the first load there is nothing to decide on.
        let first = tokio::select! {
            batch = self.subscription.next() => batch,
            () = stop.cancelled() => return,
        };
        self.take_in(first);
        loop {
            self.look();
            self.begin();
            let pause = self.pause();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(done) = self.work.join_next_with_id() => self.finish(done),
                batch = self.subscription.next() => self.take_in(batch),
                Ok(()) = self.signals.leading.changed() => self.judge(),
                Ok(()) = self.signals.looks.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        while let Some(done) = self.work.join_next_with_id().await {
            self.finish(done);
        }
    }

    /// Takes in what changes made due.
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
            Marked::Some(keys) => keys.into_iter().for_each(|key| self.add(key)),
            Marked::All => self.add_all(),
        }
    }

    /// Looks whether it is to work, and how. Beginning to work makes everything due: nobody knows what was missed.
    fn judge(&mut self) {
        let Some(snapshot) = self.engine.snapshot(self.dialect) else {
            return;
        };
        self.pace = snapshot.inventory.pace();
        let active = *self.signals.leading.borrow_and_update()
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
            self.queue.clear();
            self.settings.observer.queued(self.dialect, 0);
        }
    }

    fn add(&mut self, key: Key) {
        if self.queue.add(key) {
            self.settings.observer.queued(self.dialect, self.queue.depth());
        }
    }

    fn add_all(&mut self) {
        let snapshot = self.engine.snapshot(self.dialect);
        let demands = snapshot.map(|snapshot| snapshot.inventory.demands());
        demands.into_iter().flatten().for_each(|key| self.add(key));
    }

    /// Looks at the clock.
    fn look(&mut self) {
        self.signals.looks.mark_unchanged();
        let now = self.engine.clock().now();
        for _ in 0..self.queue.ring(now) {
            self.settings.observer.queued(self.dialect, self.queue.depth());
        }
    }

    /// Begins as much work as there may be at once.
    fn begin(&mut self) {
        while self.active
            && self.work.len() < self.pace.parallel.max(1)
            && let Some((key, waited)) = self.queue.take()
        {
            let depth = self.queue.depth();
            self.settings.observer.taken(self.dialect, depth, waited);
            let (engine, settings) = (Arc::clone(&self.engine), self.settings.clone());
            let work = work(engine, settings, self.dialect, key.clone(), self.through);
            let id = self.work.spawn(work).id();
            self.running.insert(id, key);
        }
    }

    fn finish(&mut self, done: Result<(Id, Done), JoinError>) {
        let (id, done) = match done {
            Ok(done) => done,
            Err(error) => {
                tracing::error!(dialect = self.dialect, %error, "decision panicked; retrying");
                (error.id(), Done::Failed)
            }
        };
        let Some(key) = self.running.remove(&id) else {
            return;
        };
        let next = self.next(&key, &done);
        if matches!(next, Next::Retry(_)) {
            self.settings.observer.retried(self.dialect);
        }
        if self.active {
            if self.queue.done(key, next) {
                self.settings.observer.queued(self.dialect, self.queue.depth());
            }
        } else {
            self.queue.done(key, Next::Forget);
        }
    }

    /// When a demand is looked at again.
    fn next(&self, key: &Key, done: &Done) -> Next {
        let now = self.engine.clock().now();
        let later = |delay: Duration| now.checked_add(delay).unwrap_or(Timestamp::MAX);
        let failures = self.queue.failures(key);
        match *done {
            Done::Gone => Next::Forget,
            Done::Failed => Next::Retry(later(self.pace.failed.delay(failures))),
            Done::Decided(outcome, due_at) => {
                let due_at = due_at.map(|due| due.max(later(AGAIN)));
                match self.pace.unplaced {
                    Some(backoff) if is_unplaced(outcome) => {
                        let retry = later(backoff.delay(failures).max(AGAIN));
                        Next::Retry(due_at.map_or(retry, |due| due.min(retry)))
                    }
                    _ => Next::Rest(due_at),
                }
            }
        }
    }

    /// How long nothing happens by time.
    fn pause(&self) -> Duration {
        let now = self.engine.clock().now();
        let next = self.queue.next_alarm();
        let until = next.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        until.unwrap_or(NAP).min(NAP)
    }
}

fn is_unplaced(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Unschedulable | Outcome::Partial | Outcome::Invalid
    )
}

/// Decides one demand, on a world that holds every change up to `since`, and writes the decision.
async fn work(
    engine: Arc<Engine>,
    settings: Settings,
    dialect: &'static str,
    key: Key,
    since: Revision,
) -> Done {
    let start = Instant::now();
    let settled = engine.settle(&*settings.committer, dialect, &key, since).await;
    let result = settled.as_ref().as_ref();
    settings.observer.attempted(&Attempt {
        dialect,
        demand: &key,
        result: result.map(|bound| bound.decision.outcome),
        took: start.elapsed(),
    });
    match result {
        Ok(bound) => Done::Decided(bound.decision.outcome, bound.decision.due_at),
        Err(BindError::NotFound(_)) => Done::Gone,
        // Others were faster, which is nobody's fault.
        Err(error @ BindError::Moved(_)) => {
            tracing::debug!(dialect, %key, %error, "cannot write a decision; retrying");
            Done::Failed
        }
        Err(error) => {
            tracing::warn!(dialect, %key, %error, "cannot write a decision; retrying");
            Done::Failed
        }
    }
}
