//! Downstream writes that other clients undo. The syncer repeats such a write with growing delays, so that it
//! does not compete with another writer without pause.

use std::collections::HashMap;
use std::time::Duration;

use berth_dialect_kcp::syncer_view::copy::Record;
use berth_dialect_kcp::syncer_view::step::Step;
use tokio::time::Instant;

use super::mirrors::Key;

/// The delay before a write that was undone once is repeated, and the longest delay.
const DELAYS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_mins(1));
/// Time after which a write counts as kept: a repetition after this time does not mean that another program
/// undid the write.
pub(super) const KEPT_AFTER: Duration = Duration::from_mins(5);
/// Number of times that a step is carried out, each within [`KEPT_AFTER`] of the previous time, before the
/// conflict is reported.
const REPORTED_AFTER: u32 = 3;

/// The last downstream write of an object.
struct LastWrite {
    /// The step, and the hash of the copy that it wrote.
    fingerprint: (&'static str, String),
    at: Instant,
    /// Number of times that the step was carried out, each within [`KEPT_AFTER`] of the previous time.
    times: u32,
}

/// The last downstream write of each object.
#[derive(Default)]
pub(super) struct LastWrites {
    written: HashMap<Key, LastWrite>,
}

impl LastWrites {
    /// End of the delay for `step` on `key`, if `step` repeats the last write; `None` where there is no
    /// delay.
    pub(super) fn delay_end(&self, key: &Key, step: &Step, now: Instant) -> Option<Instant> {
        let written = self.written.get(key)?;
        if fingerprint(step).as_ref() != Some(&written.fingerprint) {
            return None;
        }
        let factor = 2_u32.saturating_pow(written.times.saturating_sub(1));
        let due = written.at + DELAYS.0.saturating_mul(factor).min(DELAYS.1);
        (due > now).then_some(due)
    }

    /// Records that a step on `key` was carried out. `fingerprint` is that of the step. Returns the number of
    /// repetitions if they have to be reported.
    pub(super) fn record(
        &mut self,
        key: &Key,
        fingerprint: Option<(&'static str, String)>,
        now: Instant,
    ) -> Option<u32> {
        let fingerprint = fingerprint?;
        let times = match self.written.get(key) {
            Some(before) if before.fingerprint == fingerprint && now - before.at < KEPT_AFTER => {
                before.times + 1
            }
            _ => 1,
        };
        self.written.insert(
            key.clone(),
            LastWrite {
                fingerprint,
                at: now,
                times,
            },
        );
        (times >= REPORTED_AFTER).then_some(times)
    }

    /// Forgets `key`, whose object is removed from the cluster.
    pub(super) fn forget(&mut self, key: &Key) {
        self.written.remove(key);
    }
}

/// The name of `step`, and the hash of the copy that it writes; `None` for steps that do not write a copy
/// downstream.
pub(super) fn fingerprint(step: &Step) -> Option<(&'static str, String)> {
    match step {
        Step::Create(object) | Step::Update(object) => Some((step.name(), Record::of(object).hash)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use berth_dialect_kcp::syncer_view::copy::copy;
    use serde_json::json;

    use super::*;

    fn create(data: &str) -> Step {
        let up =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": data}});
        Step::Create(copy("x", &up, "kcp1"))
    }

    #[test]
    fn an_undone_write_is_repeated_after_growing_delays() {
        let key = Key {
            kind: 1,
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
        };
        let (mut writes, step) = (LastWrites::default(), create("1"));
        let mut now = Instant::now();
        assert_eq!(writes.delay_end(&key, &step, now), None, "it is the first write");
        let mut waited = Vec::new();
        let mut count = None;
        for _ in 0..12 {
            count = writes.record(&key, fingerprint(&step), now);
            let due = writes.delay_end(&key, &step, now).unwrap();
            waited.push((due - now).as_millis());
            now = due;
            assert_eq!(writes.delay_end(&key, &step, now), None);
        }
        assert_eq!(waited[..4], [200, 400, 800, 1600]);
        assert_eq!(waited[11], DELAYS.1.as_millis());
        assert_eq!(count, Some(12));
        // A different copy is not the one that was undone.
        assert_eq!(writes.delay_end(&key, &create("2"), now - DELAYS.1), None);
        now += KEPT_AFTER;
        assert_eq!(
            writes.record(&key, fingerprint(&step), now),
            None,
            "it was kept long enough"
        );
        writes.forget(&key);
        assert_eq!(writes.delay_end(&key, &step, now), None);
    }
}
