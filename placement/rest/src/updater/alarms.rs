//! Alarms: the times at which objects may change without a write.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use berth_apimachinery::Timestamp;

use super::{Item, Subject};

/// The longest sleep before the clock is read again, since clocks can be set.
const NAP: Duration = Duration::from_secs(30);

/// Times at which objects may change without a write.
#[derive(Default)]
pub struct Alarms {
    at: BTreeSet<(Timestamp, Item)>,
    of: HashMap<Item, Timestamp>,
}

impl Alarms {
    /// Sets the time of the next update of `item` to `at`, or removes it.
    pub fn set(&mut self, item: Item, at: Option<Timestamp>) {
        if let Some(before) = self.of.remove(&item) {
            self.at.remove(&(before, item.clone()));
        }
        if let Some(at) = at {
            self.at.insert((at, item.clone()));
            self.of.insert(item, at);
        }
    }

    /// Takes the items that are due at `now`, by dialect.
    pub fn take(&mut self, now: Timestamp) -> BTreeMap<&'static str, BTreeSet<Subject>> {
        let mut due: BTreeMap<_, BTreeSet<Subject>> = BTreeMap::new();
        while let Some((at, _)) = self.at.first()
            && *at <= now
            && let Some((_, item)) = self.at.pop_first()
        {
            self.of.remove(&item);
            due.entry(item.0).or_default().insert(item.1);
        }
        due
    }

    /// Time to sleep at `now`.
    pub fn pause(&self, now: Timestamp) -> Duration {
        let Some((at, _)) = self.at.first() else {
            return NAP;
        };
        Duration::try_from(at.duration_since(now))
            .unwrap_or_default()
            .min(NAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn alarms_ring_once_and_can_be_moved() {
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
        assert_eq!(alarms.pause(at(99)), NAP);
    }
}
