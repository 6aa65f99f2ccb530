//! Pace of the writes to a ClusterProfile: values that change often are written at most once in 30 seconds.
//! All writes together come once in 30 seconds on average, and at most ten at once (KEP-4322).
//!
//! The limit also holds if a client on a hub keeps changing fields that Berth restores.

use std::collections::VecDeque;

use berth_apimachinery::Timestamp;
use jiff::SignedDuration;

/// Shortest time between two writes of values that change often, and average time between any two writes.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Highest number of writes that come at once.
const BURST: usize = 10;

/// The writes of one profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Time of the last write of status values alone.
    fast: Option<Timestamp>,
    /// Times of the last writes.
    all: VecDeque<Timestamp>,
}

impl Pace {
    /// Earliest time of the write; `None` if the object may be written at `now`. `is_fast` is true if only
    /// values of the status change.
    pub(super) fn due(&self, is_fast: bool, now: Timestamp) -> Option<Timestamp> {
        let fast = self
            .fast
            .filter(|_| is_fast)
            .and_then(|last| last.checked_add(PAUSE).ok());
        let oldest = self.all.front().filter(|_| self.all.len() >= BURST);
        let burst = i32::try_from(BURST).unwrap_or(i32::MAX);
        let next_free = oldest.and_then(|first| first.checked_add(PAUSE * burst).ok());
        fast.max(next_free).filter(|due| *due > now)
    }

    /// Records a write.
    pub(super) fn record(&mut self, is_fast: bool, now: Timestamp) {
        if is_fast {
            self.fast = Some(now);
        }
        self.all.push_back(now);
        if self.all.len() > BURST {
            self.all.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn values_wait_thirty_seconds_and_health_does_not() {
        let mut pace = Pace::default();
        assert_eq!(pace.due(true, at(100)), None);
        pace.record(true, at(100));
        assert_eq!(pace.due(true, at(101)), Some(at(130)));
        assert_eq!(pace.due(false, at(101)), None);
        assert_eq!(pace.due(true, at(130)), None);
    }

    #[test]
    fn ten_writes_in_five_minutes_and_no_more() {
        let mut pace = Pace::default();
        for second in 0..10 {
            assert_eq!(pace.due(false, at(second)), None);
            pace.record(false, at(second));
        }
        assert_eq!(pace.due(false, at(10)), Some(at(300)));
        pace.record(false, at(300));
        assert_eq!(pace.due(false, at(300)), Some(at(301)));
    }
}
