//! Queue of keys, like the workqueue of client-go: each key is queued at most once, is processed by one task
//! at a time, and is retried with growing delays after failures.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::mirrors::Key;

/// The delay after the first failure, and the longest delay.
const DELAYS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// Queue of keys, with the keys that are being processed and the keys that wait for a retry.
#[derive(Default)]
pub(super) struct Queue {
    /// Keys to process, the oldest first.
    ready: VecDeque<Key>,
    /// The keys in `ready`.
    queued: HashSet<Key>,
    /// Keys that are being processed.
    running: HashSet<Key>,
    /// Keys that became due again during their processing.
    due_again: HashSet<Key>,
    /// Number of failures in a row.
    failures: HashMap<Key, u32>,
    /// Keys that become due at a time.
    retries: BTreeSet<(Instant, Key)>,
    /// The time of each key in `retries`, where a key is at most once.
    retry_times: HashMap<Key, Instant>,
}

impl Queue {
    /// Adds `key`, whose objects have changed.
    pub(super) fn add(&mut self, key: Key) {
        if self.running.contains(&key) {
            self.due_again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Takes the oldest key, to process it.
    pub(super) fn take(&mut self) -> Option<Key> {
        let key = self.ready.pop_front()?;
        // The attempt that begins takes the place of a planned retry.
        if let Some(at) = self.retry_times.remove(&key) {
            self.retries.remove(&(at, key.clone()));
        }
        self.queued.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// Records that `key` was processed without a failure.
    pub(super) fn done(&mut self, key: Key) {
        self.failures.remove(&key);
        self.running.remove(&key);
        if self.due_again.remove(&key) {
            self.add(key);
        }
    }

    /// Records a failed attempt at `key`, which is due again after a delay, even if its objects have changed
    /// during the attempt. The delay grows with each failure, up to the longest of [`DELAYS`]. Returns the
    /// number of failures in a row.
    pub(super) fn retry_failed(&mut self, key: Key, now: Instant) -> u32 {
        self.running.remove(&key);
        self.due_again.remove(&key);
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = DELAYS
            .0
            .saturating_mul(2_u32.saturating_pow(*failures))
            .min(DELAYS.1);
        *failures = failures.saturating_add(1);
        let count = *failures;
        self.plan_retry(key, now + delay);
        count
    }

    /// Records that `key` was not processed. It is due again at the time `at`, or when its objects change.
    pub(super) fn retry_at(&mut self, key: Key, at: Instant) {
        self.running.remove(&key);
        self.due_again.remove(&key);
        self.plan_retry(key, at);
    }

    /// Makes `key` due at the time `at`. No retry of the key is planned: [`Self::take`] removes it.
    fn plan_retry(&mut self, key: Key, at: Instant) {
        self.retry_times.insert(key.clone(), at);
        self.retries.insert((at, key));
    }

    /// Adds the keys whose next attempt is due at `now`.
    pub(super) fn add_due(&mut self, now: Instant) {
        while let Some((at, _)) = self.retries.first()
            && *at <= now
            && let Some((_, key)) = self.retries.pop_first()
        {
            self.retry_times.remove(&key);
            self.add(key);
        }
    }

    /// Time of the next retry.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retries.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key {
            kind: 0,
            namespace: String::new(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_key_is_queued_once_and_processed_by_one_task_at_a_time() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.take(), Some(key("a")));
        assert_eq!(queue.take(), None);
        queue.add(key("a"));
        assert_eq!(queue.take(), None, "it is being processed");
        queue.done(key("a"));
        assert_eq!(queue.take(), Some(key("a")), "it became due meanwhile");
    }

    #[test]
    fn an_attempt_before_a_retry_takes_its_place() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for _ in 0..2 {
            queue.add(key("a"));
            queue.take();
            queue.retry_failed(key("a"), now);
        }
        assert_eq!(queue.next_retry(), Some(now + DELAYS.0 * 2));
        queue.add(key("a"));
        queue.take();
        queue.done(key("a"));
        assert_eq!(queue.next_retry(), None);
    }

    #[test]
    fn delays_grow_until_it_works() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        let wait = |queue: &mut Queue| {
            queue.add(key("a"));
            queue.take();
            queue.retry_failed(key("a"), now);
            let due = queue.next_retry().unwrap();
            queue.add_due(due);
            assert_eq!(queue.take(), Some(key("a")));
            due - now
        };
        let first: Vec<Duration> = (0..3).map(|_| wait(&mut queue)).collect();
        assert_eq!(first, [100, 200, 400].map(Duration::from_millis));
        for _ in 0..40 {
            wait(&mut queue);
        }
        assert_eq!(wait(&mut queue), DELAYS.1);
        queue.done(key("a"));
        assert_eq!(wait(&mut queue), DELAYS.0);
    }
}
