//! Recent nominations, with increasing delays before a replaced nomination is repeated, so that Berth does
//! not race another dispatcher that replaces the clusters.

use std::collections::HashMap;
use std::time::Duration;

/// Delay before the first repetition of a nomination.
const MIN_DELAY: Duration = Duration::from_secs(1);
/// Longest delay before a repetition.
const MAX_DELAY: Duration = Duration::from_mins(5);
/// Time after which a nomination is forgotten.
const MAX_AGE: Duration = Duration::from_mins(10);
/// Number of repetitions after which another dispatcher is reported. Fewer may have a harmless cause, such as
/// an eviction of the Workload.
const REPORTED_REPETITIONS: u32 = 3;

/// Last nomination for a Workload, with the number of repetitions.
struct LastNomination {
    names: Vec<String>,
    at: Duration,
    repetitions: u32,
}

/// Recent nominations, by the uid of the Workload. Times are from a monotonic clock.
#[derive(Default)]
pub(super) struct RecentNominations(HashMap<String, LastNomination>);

/// Earliest time at which clusters may be nominated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NominationTime {
    /// At once.
    Now,
    /// Later, since another client has replaced this nomination.
    After {
        /// The remaining delay.
        delay: Duration,
        /// Whether the nomination was replaced so often that another dispatcher is reported.
        is_contested: bool,
    },
}

impl RecentNominations {
    /// Earliest time at which the clusters `names` may be nominated for the Workload with `uid`.
    pub(super) fn nomination_time(&self, uid: &str, names: &[String], now: Duration) -> NominationTime {
        let Some(last) = self.0.get(uid).filter(|last| last.names == names) else {
            return NominationTime::Now;
        };
        let delay = MIN_DELAY
            .saturating_mul(2_u32.saturating_pow(last.repetitions))
            .min(MAX_DELAY);
        match (last.at + delay).checked_sub(now) {
            Some(remaining) if !remaining.is_zero() => NominationTime::After {
                delay: remaining,
                is_contested: last.repetitions >= REPORTED_REPETITIONS,
            },
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
        assert_eq!(recent.nomination_time("u", &names, now), NominationTime::Now);
        let mut delays = Vec::new();
        for _ in 0..12 {
            recent.record("u", &names, now);
            let NominationTime::After { delay, is_contested } = recent.nomination_time("u", &names, now)
            else {
                panic!("it is repeated at once")
            };
            delays.push((delay.as_secs(), is_contested));
            now += delay;
            assert_eq!(recent.nomination_time("u", &names, now), NominationTime::Now);
            assert_eq!(recent.nomination_time("u", &other, now), NominationTime::Now);
        }
        assert_eq!(delays[..4], [(1, false), (2, false), (4, false), (8, true)]);
        assert_eq!(delays[11], (300, true));
        // A forgotten nomination is repeated without a delay.
        now += MAX_AGE;
        recent.record("v", &names, now);
        assert_eq!(recent.nomination_time("u", &names, now), NominationTime::Now);
    }
}
