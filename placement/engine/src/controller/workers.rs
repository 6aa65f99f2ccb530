//! The queue of one controller, and the tasks that work on its keys. Each controller has its own [`Workers`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use berth_apimachinery::{Clock, Key, Timestamp};
use tokio::task::{Id, JoinError, JoinSet};

use super::observer::Observer;
use super::queue::{NextTreatment, Queue};

/// A queue of keys, and the tasks that work on them. Each task returns a `D`.
pub(super) struct Workers<D> {
    /// Name of the queue for the observer.
    name: &'static str,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    queue: Queue,
    work: JoinSet<D>,
    /// The key on which each task in `work` works.
    running: HashMap<Id, Key>,
}

impl<D: Send + 'static> Workers<D> {
    pub(super) fn new(name: &'static str, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        Self {
            name,
            clock,
            observer,
            queue: Queue::default(),
            work: JoinSet::new(),
            running: HashMap::new(),
        }
    }

    /// Queues `keys`.
    pub(super) fn add(&mut self, keys: impl IntoIterator<Item = Key>) {
        for key in keys {
            if self.queue.add(key) {
                self.observer.queued(self.name, self.queue.depth());
            }
        }
    }

    /// Forgets the queued keys. Running work goes on.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.observer.queued(self.name, 0);
    }

    /// Queues the keys whose time has come.
    pub(super) fn queue_due(&mut self) {
        for _ in 0..self.queue.queue_due(self.clock.now()) {
            self.observer.queued(self.name, self.queue.depth());
        }
    }

    /// Begins `work` on the oldest keys, as long as fewer than `parallel` tasks run.
    pub(super) fn begin<W>(&mut self, parallel: usize, mut work: impl FnMut(Key) -> W)
    where
        W: Future<Output = D> + Send + 'static,
    {
        while self.work.len() < parallel
            && let Some((key, waited)) = self.queue.take()
        {
            self.observer.taken(self.name, self.queue.depth(), waited);
            let id = self.work.spawn(work(key.clone())).id();
            self.running.insert(id, key);
        }
    }

    /// Waits until work on a key ends, and returns the key and the outcome; `None` when no task runs. Cancel
    /// safe.
    pub(super) async fn next(&mut self) -> Option<(Key, Result<D, JoinError>)> {
        loop {
            let (id, done) = match self.work.join_next_with_id().await? {
                Ok((id, done)) => (id, Ok(done)),
                Err(error) => (error.id(), Err(error)),
            };
            if let Some(key) = self.running.remove(&id) {
                return Some((key, done));
            }
        }
    }

    /// Records the end of work on `key`; `next` determines when the key is due again, if at all.
    pub(super) fn done(&mut self, key: Key, next: NextTreatment) {
        if matches!(next, NextTreatment::Retry(_) | NextTreatment::Delay(_)) {
            self.observer.retried(self.name);
        }
        if self.queue.done(key, next) {
            self.observer.queued(self.name, self.queue.depth());
        }
    }

    /// Number of failed attempts at `key`, including the present attempt.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        self.queue.failures(key)
    }

    /// The time `delay` from now.
    pub(super) fn later(&self, delay: Duration) -> Timestamp {
        self.clock.now().checked_add(delay).unwrap_or(Timestamp::MAX)
    }

    /// Time until the next key is due; `longest` at most.
    pub(super) fn pause(&self, longest: Duration) -> Duration {
        let now = self.clock.now();
        let next = self.queue.next_alarm();
        let until = next.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        until.unwrap_or(longest).min(longest)
    }
}
