//! Delays before the same clusters are nominated again, so that Berth does not race another dispatcher that
//! replaces them.

use std::collections::HashMap;
use std::time::Duration;

/// Delay before the first repetition, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));
/// Time after which a nomination is forgotten.
const MAX_AGE: Duration = Duration::from_mins(10);
/// Highest number of repetitions that may have another cause, such as an eviction of the Workload. More
/// repetitions are due to another dispatcher.
const HARMLESS_REPETITIONS: u32 = 3;

/// Last nomination for a Workload, with the number of its repetitions.
struct LastNomination {
    names: Vec<String>,
    at: Duration,
    repetitions: u32,
}

/// Recent nominations, by the uid of the Workload. Times are from a monotonic clock.
#[derive(Default)]
pub(super) struct RecentNominations(HashMap<String, LastNomination>);

/// Earliest time of a nomination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NominationTime {
    /// The clusters are nominated now.
    Now,
    /// The clusters are nominated again after the delay. The flag is true if they were replaced too often,
    /// which is reported.
    After(Duration, bool),
}

impl RecentNominations {
    /// Earliest time for nominating `names` for the Workload with `uid`.
    pub(super) fn when(&self, uid: &str, names: &[String], now: Duration) -> NominationTime {
        let Some(last) = self.0.get(uid).filter(|last| last.names == names) else {
            return NominationTime::Now;
        };
        let pause = PAUSES
            .0
            .saturating_mul(2_u32.saturating_pow(last.repetitions))
            .min(PAUSES.1);
        match (last.at + pause).checked_sub(now) {
            Some(remaining) if !remaining.is_zero() => {
                NominationTime::After(remaining, last.repetitions >= HARMLESS_REPETITIONS)
            }
            _ => NominationTime::Now,
        }
    }

    /// Records that `names` are nominated for the Workload with `uid`.
    pub(super) fn record(&mut self, uid: &str, names: &[String], now: Duration) {
        self.0.retain(|_, last| now.saturating_sub(last.at) < MAX_AGE);
        let before = self.0.remove(uid).filter(|last| last.names == names);
        let last = LastNomination {
            names: names.to_vec(),
            at: now,
            repetitions: before.map_or(0, |last| last.repetitions.saturating_add(1)),
        };
        self.0.insert(uid.to_owned(), last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_nomination_is_repeated_more_and_more_slowly_and_another_at_once() {
        let (mut recent, names, other) = (RecentNominations::default(), ["a".to_owned()], ["b".to_owned()]);
        let mut now = Duration::ZERO;
        assert_eq!(recent.when("u", &names, now), NominationTime::Now);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            recent.record("u", &names, now);
            let NominationTime::After(pause, is_fight) = recent.when("u", &names, now) else {
                panic!("it is repeated at once")
            };
            pauses.push((pause.as_secs(), is_fight));
            now += pause;
            assert_eq!(recent.when("u", &names, now), NominationTime::Now);
            assert_eq!(recent.when("u", &other, now), NominationTime::Now);
        }
        assert_eq!(pauses[..4], [(1, false), (2, false), (4, false), (8, true)]);
        assert_eq!(pauses[11], (300, true));
        // A forgotten nomination is repeated without a delay.
        now += MAX_AGE;
        recent.record("v", &names, now);
        assert_eq!(recent.when("u", &names, now), NominationTime::Now);
    }
}
