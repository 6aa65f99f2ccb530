//! The queue of one controller: demands that are due, demands in work, and demands that become due at a known
//! time. The keys of a reconciler are queued in the same way.
//!
//! A demand is in the queue at most once, however often it becomes due, and only one task works on it at a
//! time. A demand that becomes due while a task works on it is due again afterwards.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use berth_apimachinery::{Key, Timestamp};

/// Treatment of a demand after the work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextTreatment {
    /// The demand is due again after a change, or at this time, if any.
    Rest(Option<Timestamp>),
    /// The demand is tried again after a change, or at this time.
    Retry(Timestamp),
    /// The demand is tried again at this time and not sooner, even after a change. Otherwise Berth's own
    /// writes, whose content admission changed, would make the demand due again at once.
    Delay(Timestamp),
    /// The demand was deleted.
    Forget,
}

/// The state of one key.
#[derive(Debug, Default)]
struct Entry {
    /// Time at which the key was queued; `None` if it is not in the queue.
    queued: Option<Instant>,
    /// Whether a task works on the key.
    running: bool,
    /// Whether the key became due during the work on it.
    again: bool,
    /// Time at which the key becomes due without a change, if any.
    at: Option<Timestamp>,
    /// Number of failed attempts since the last change.
    failures: u32,
    /// Whether the key does not become due before `at`, even after a change.
    is_delayed: bool,
}

/// The queue of one controller.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The keys that are due, the oldest first.
    ready: VecDeque<Key>,
    entries: HashMap<Key, Entry>,
    /// The keys that become due at a time.
    alarms: BTreeSet<(Timestamp, Key)>,
}

impl Queue {
    /// Adds `key`, which a change made due, and resets the count of failures. A delayed key is not added
    /// before its time, and its failures still count. Returns whether the key is new in the queue.
    pub(super) fn add(&mut self, key: Key) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.is_delayed && entry.at.is_some() {
            return false;
        }
        if !entry.is_delayed {
            entry.failures = 0;
        }
        self.enqueue(key)
    }

    /// Puts `key` into the queue, or notes that it is due again after the running work. Returns whether the
    /// key is new in the queue.
    fn enqueue(&mut self, key: Key) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(at) = entry.at.take() {
            self.alarms.remove(&(at, key.clone()));
        }
        if entry.running {
            entry.again = true;
            return false;
        }
        if entry.queued.is_some() {
            return false;
        }
        entry.queued = Some(Instant::now());
        self.ready.push_back(key);
        true
    }

    /// Queues the keys that are due at `now`. Returns the number of newly queued keys.
    pub(super) fn queue_due(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        while let Some((at, _)) = self.alarms.first()
            && *at <= now
            && let Some((_, key)) = self.alarms.pop_first()
        {
            count += usize::from(self.enqueue(key));
        }
        count
    }

    /// Takes the oldest key from the queue, with the time that it has waited.
    pub(super) fn take(&mut self) -> Option<(Key, Duration)> {
        let key = self.ready.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        let waited = entry
            .queued
            .take()
            .map(|since| since.elapsed())
            .unwrap_or_default();
        entry.running = true;
        Some((key, waited))
    }

    /// Returns the number of failed attempts at `key`, if the present attempt fails, too.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        let before = self.entries.get(key).map_or(0, |entry| entry.failures);
        before.saturating_add(1)
    }

    /// Records the end of the work on `key`. Returns whether the key is in the queue again.
    pub(super) fn done(&mut self, key: Key, next: NextTreatment) -> bool {
        let Some(entry) = self.entries.get_mut(&key) else {
            return false;
        };
        entry.running = false;
        entry.is_delayed = matches!(next, NextTreatment::Delay(_));
        if std::mem::take(&mut entry.again) && !entry.is_delayed {
            entry.failures = 0;
            return self.enqueue(key);
        }
        let at = match next {
            NextTreatment::Rest(at) => {
                entry.failures = 0;
                at
            }
            NextTreatment::Retry(at) | NextTreatment::Delay(at) => {
                entry.failures = entry.failures.saturating_add(1);
                Some(at)
            }
            NextTreatment::Forget => {
                self.entries.remove(&key);
                return false;
            }
        };
        match at {
            Some(at) => {
                entry.at = Some(at);
                self.alarms.insert((at, key));
            }
            None => drop(self.entries.remove(&key)),
        }
        false
    }

    /// Removes all keys except those in work.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.alarms.clear();
        self.entries.retain(|_, entry| {
            entry.queued = None;
            entry.again = false;
            entry.at = None;
            entry.running
        });
    }

    /// Returns the number of keys in the queue.
    pub(super) fn depth(&self) -> usize {
        self.ready.len()
    }

    /// Returns the next time at which a key becomes due without a change.
    pub(super) fn next_alarm(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;

    use super::*;

    const TOYS: GroupResource = GroupResource::new("toys.example", "toys");

    fn key(name: &str) -> Key {
        Key::new(TOYS, "ns", name)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn take(queue: &mut Queue) -> Option<Key> {
        queue.take().map(|(key, _)| key)
    }

    #[test]
    fn a_demand_stands_once_and_is_worked_on_once_at_a_time() {
        let mut queue = Queue::default();
        assert!(queue.add(key("a")) && queue.add(key("b")) && !queue.add(key("a")));
        assert_eq!(queue.depth(), 2);
        assert_eq!(take(&mut queue), Some(key("a")));
        assert!(!queue.add(key("a")) && !queue.add(key("a")));
        assert_eq!(take(&mut queue), Some(key("b")));
        assert_eq!(take(&mut queue), None);
        assert!(
            queue.done(key("a"), NextTreatment::Rest(None)),
            "it became due meanwhile"
        );
        assert!(!queue.done(key("b"), NextTreatment::Rest(None)));
        assert_eq!(take(&mut queue), Some(key("a")));
        assert!(!queue.done(key("a"), NextTreatment::Forget));
        assert!(queue.entries.is_empty() && queue.alarms.is_empty());
    }

    #[test]
    fn alarms_ring_in_time_and_changes_come_before_them() {
        let mut queue = Queue::default();
        for name in ["a", "b"] {
            queue.add(key(name));
            let taken = take(&mut queue).unwrap();
            queue.done(taken, NextTreatment::Rest(Some(at(10))));
        }
        assert_eq!((queue.queue_due(at(9)), queue.next_alarm()), (0, Some(at(10))));
        assert!(queue.add(key("b")));
        assert_eq!(queue.queue_due(at(10)), 1);
        assert_eq!(
            (take(&mut queue), take(&mut queue)),
            (Some(key("b")), Some(key("a")))
        );
        assert_eq!((queue.queue_due(at(99)), queue.next_alarm()), (0, None));
    }

    #[test]
    fn failures_count_until_something_changes() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        for expected in 1..=3 {
            let taken = take(&mut queue).unwrap();
            assert_eq!(queue.failures(&taken), expected);
            queue.done(taken, NextTreatment::Retry(at(1)));
            queue.queue_due(at(1));
        }
        queue.add(key("a"));
        assert_eq!(queue.failures(&key("a")), 1);
    }

    #[test]
    fn what_is_held_waits_for_its_time_whatever_changes() {
        let mut queue = Queue::default();
        queue.add(key("a"));
        for round in 1..=3 {
            let taken = take(&mut queue).unwrap();
            assert_eq!(queue.failures(&taken), round);
            // The change by the own write arrives during the work, and again after it.
            assert!(!queue.add(key("a")));
            assert!(!queue.done(taken, NextTreatment::Delay(at(10 * i64::from(round)))));
            assert!(!queue.add(key("a")));
            assert_eq!(take(&mut queue), None);
            assert_eq!(queue.queue_due(at(10 * i64::from(round))), 1);
        }
        let taken = take(&mut queue).unwrap();
        queue.done(taken, NextTreatment::Rest(None));
        assert!(queue.add(key("a")), "once it went well, changes count again");
        assert_eq!(queue.failures(&key("a")), 1);
    }

    #[test]
    fn clearing_keeps_only_what_is_being_worked_on() {
        let mut queue = Queue::default();
        assert!(queue.add(key("a")) && queue.add(key("b")));
        let taken = take(&mut queue).unwrap();
        queue.add(taken.clone());
        queue.clear();
        assert_eq!(take(&mut queue), None);
        assert!(!queue.done(taken, NextTreatment::Rest(None)));
        assert!(queue.entries.is_empty());
        assert!(queue.add(key("b")));
    }
}
