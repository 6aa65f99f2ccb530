//! Alarms: the times at which objects may change without a write, and so have to be rendered again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use berth_apimachinery::Timestamp;

use super::{Item, Subject};

/// Maximal time between two reads of the clock, since a clock can be set.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// Times of the next updates of items, each item at most once.
#[derive(Default)]
pub struct Alarms {
    by_time: BTreeSet<(Timestamp, Item)>,
    by_item: HashMap<Item, Timestamp>,
}

impl Alarms {
    /// Sets the time of the next update of `item` to `at`; `None` removes the time.
    pub fn set(&mut self, item: Item, at: Option<Timestamp>) {
        if let Some(before) = self.by_item.remove(&item) {
            self.by_time.remove(&(before, item.clone()));
        }
        if let Some(at) = at {
            self.by_time.insert((at, item.clone()));
            self.by_item.insert(item, at);
        }
    }

    /// Removes the items that are due at `now`, and returns them by dialect.
    pub fn take(&mut self, now: Timestamp) -> BTreeMap<&'static str, BTreeSet<Subject>> {
        let mut due: BTreeMap<_, BTreeSet<Subject>> = BTreeMap::new();
        while let Some((at, _)) = self.by_time.first()
            && *at <= now
            && let Some((_, item)) = self.by_time.pop_first()
        {
            self.by_item.remove(&item);
            due.entry(item.0).or_default().insert(item.1);
        }
        due
    }

    /// Returns the time from `now` until the next item is due, but at most 30 seconds.
    pub fn pause(&self, now: Timestamp) -> Duration {
        let Some((at, _)) = self.by_time.first() else {
            return MAX_SLEEP;
        };
        Duration::try_from(at.duration_since(now))
            .unwrap_or_default()
            .min(MAX_SLEEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_item_is_due_once_and_its_time_can_be_changed() {
        let item = |name: &str| ("toy", Subject::Target(name.into()));
        let mut alarms = Alarms::default();
        alarms.set(item("a"), Some(at(10)));
        alarms.set(item("b"), Some(at(20)));
        alarms.set(item("a"), Some(at(15)));
        assert_eq!(alarms.pause(at(12)), Duration::from_secs(3));
        assert!(alarms.take(at(14)).is_empty());
        assert_eq!(alarms.take(at(15))["toy"].len(), 1);
        alarms.set(item("b"), None);
        assert!(alarms.take(at(99)).is_empty());
        assert_eq!(alarms.pause(at(99)), MAX_SLEEP);
    }
}
