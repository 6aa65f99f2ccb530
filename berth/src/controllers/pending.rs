//! Demands that the controllers could not place, each with the time of its first failed attempt: for the
//! metrics `scheduler_pending_decisions` and `scheduler_pending_decision_oldest_seconds`.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use berth_apimachinery::Key;
use berth_apiserver::metrics::Series;
use berth_dialect_contract::Outcome;
use berth_engine::controller::Attempt;
use parking_lot::Mutex;

/// Result of the last attempt at a demand, and the time since which the demand has had no place.
#[derive(Clone, Copy, Debug)]
struct PendingState {
    result: &'static str,
    since: Instant,
}

/// Demands that have no place after the last attempt of this process, by dialect and key.
#[derive(Debug, Default)]
pub(super) struct PendingDemands(Mutex<HashMap<(&'static str, Key), PendingState>>);

impl PendingDemands {
    /// Records the end of an attempt; `result` is the label of the metrics.
    pub(super) fn record_attempt(&self, attempt: &Attempt<'_>, result: &'static str) {
        let is_pending = match attempt.result {
            Ok(outcome) => matches!(
                outcome,
                Outcome::Partial | Outcome::Unschedulable | Outcome::Invalid
            ),
            Err(berth_engine::BindError::NotFound(_) | berth_engine::BindError::Observed(_)) => false,
            Err(_) => true,
        };
        let key = (attempt.dialect, attempt.demand.clone());
        let mut all = self.0.lock();
        if is_pending {
            let since = Instant::now();
            all.entry(key).or_insert(PendingState { result, since }).result = result;
        } else {
            all.remove(&key);
        }
    }

    /// Removes a demand that another scheduler decides.
    pub(super) fn remove(&self, dialect: &'static str, demand: &Key) {
        self.0.lock().remove(&(dialect, demand.clone()));
    }

    /// Removes all demands, when this process is no longer the leader.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Numbers of demands, by dialect and result.
    pub(super) fn counts(&self) -> Vec<Series> {
        let groups = self.by_result().into_iter();
        #[expect(clippy::cast_precision_loss, reason = "there are not 2^52 demands")]
        groups
            .map(|(labels, (count, _))| series(labels, count as f64))
            .collect()
    }

    /// Seconds since the first failed attempt at the demand that has been pending for longest, by dialect and
    /// result.
    pub(super) fn oldest(&self) -> Vec<Series> {
        let groups = self.by_result().into_iter();
        groups
            .map(|(labels, (_, oldest))| series(labels, oldest.as_secs_f64()))
            .collect()
    }

    fn by_result(&self) -> BTreeMap<(&'static str, &'static str), (usize, Duration)> {
        let mut all = BTreeMap::new();
        for ((dialect, _), state) in &*self.0.lock() {
            let (count, oldest) = all.entry((*dialect, state.result)).or_insert((0, Duration::ZERO));
            *count += 1;
            *oldest = state.since.elapsed().max(*oldest);
        }
        all
    }
}

fn series((dialect, result): (&'static str, &'static str), value: f64) -> Series {
    (
        vec![("dialect", dialect.to_owned()), ("result", result.to_owned())],
        value,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(demand: &Key, outcome: Outcome) -> Attempt<'_> {
        Attempt {
            dialect: "ocm",
            demand,
            result: Ok(outcome),
            took: Duration::ZERO,
        }
    }

    #[test]
    fn a_demand_is_pending_from_its_first_attempt_without_a_place_until_it_has_one() {
        let resource = berth_apimachinery::GroupResource::intern("g.io", "demands");
        let (a, b) = (Key::new(resource, "ns", "a"), Key::new(resource, "ns", "b"));
        let pending = PendingDemands::default();
        pending.record_attempt(&attempt(&a, Outcome::Unschedulable), "Unschedulable");
        let first = pending.0.lock()[&("ocm", a.clone())].since;
        pending.record_attempt(&attempt(&a, Outcome::Invalid), "Invalid");
        pending.record_attempt(&attempt(&b, Outcome::Invalid), "Invalid");
        assert_eq!(pending.0.lock()[&("ocm", a.clone())].since, first);
        let labels = vec![("dialect", "ocm".to_owned()), ("result", "Invalid".to_owned())];
        assert_eq!(pending.counts(), [(labels, 2.0)]);
        assert!(pending.oldest()[0].1 >= 0.0);
        pending.record_attempt(&attempt(&a, Outcome::Scheduled), "Scheduled");
        assert_eq!(pending.counts()[0].1, 1.0);
        pending.clear();
        assert!(pending.counts().is_empty());
    }
}
