//! Limit on the writes to an existing ClusterProfile: values that change often are written at most once in 30
//! seconds. All writes together come at most once in 30 seconds on average, in bursts of at most ten
//! (KEP-4322).
//!
//! The limit also holds if a client on a hub keeps changing fields that Berth restores.

use std::collections::VecDeque;

use berth_apimachinery::Timestamp;
use jiff::SignedDuration;

/// Shortest time between two writes of values that change often, and the shortest average time between any
/// writes.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Highest number of writes without a pause.
const BURST: usize = 10;

/// Limit on the writes to one profile, with the times of the last writes.
#[derive(Clone, Debug, Default)]
pub(super) struct RateLimiter {
    /// Time of the last write that only changed values of the status other than the health of the cluster.
    last_frequent: Option<Timestamp>,
    /// Times of the last writes of any kind, at most [`BURST`].
    all: VecDeque<Timestamp>,
}

impl RateLimiter {
    /// Earliest time of the next write; `None` if the object may be written at `now`. `is_frequent` is true
    /// for a write that only changes values of the status other than the health of the cluster.
    pub(super) fn due(&self, is_frequent: bool, now: Timestamp) -> Option<Timestamp> {
        let frequent = self
            .last_frequent
            .filter(|_| is_frequent)
            .and_then(|last| last.checked_add(PAUSE).ok());
        let oldest = self.all.front().filter(|_| self.all.len() >= BURST);
        let burst = i32::try_from(BURST).unwrap_or(i32::MAX);
        let next_free = oldest.and_then(|first| first.checked_add(PAUSE * burst).ok());
        frequent.max(next_free).filter(|due| *due > now)
    }

    /// Records a write at `now`.
    pub(super) fn record(&mut self, is_frequent: bool, now: Timestamp) {
        if is_frequent {
            self.last_frequent = Some(now);
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
        let mut limiter = RateLimiter::default();
        assert_eq!(limiter.due(true, at(100)), None);
        limiter.record(true, at(100));
        assert_eq!(limiter.due(true, at(101)), Some(at(130)));
        assert_eq!(limiter.due(false, at(101)), None);
        assert_eq!(limiter.due(true, at(130)), None);
    }

    #[test]
    fn ten_writes_in_five_minutes_and_no_more() {
        let mut limiter = RateLimiter::default();
        for second in 0..10 {
            assert_eq!(limiter.due(false, at(second)), None);
            limiter.record(false, at(second));
        }
        assert_eq!(limiter.due(false, at(10)), Some(at(300)));
        limiter.record(false, at(300));
        assert_eq!(limiter.due(false, at(300)), Some(at(301)));
    }
}
