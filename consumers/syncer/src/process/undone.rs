//! Writes that other clients undo downstream. The syncer repeats such a write with growing delays, so that it
//! does not fight another writer.

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
/// Number of times that a step is carried out, each soon after the last time, before the conflict is reported.
const REPORTED_AFTER: u32 = 3;

/// The last write downstream.
struct LastWrite {
    /// The step, and the hash of the copy that it wrote.
    fingerprint: (&'static str, String),
    at: Instant,
    /// Number of times that the step was carried out, each soon after the previous time.
    times: u32,
}

/// The last write of each object downstream.
#[derive(Default)]
pub(super) struct Undone {
    written: HashMap<Key, LastWrite>,
}

impl Undone {
    /// End of the delay for `step`, which was carried out before and undone; `None` where there is no
    /// delay.
    pub(super) fn waits(&self, key: &Key, step: &Step, now: Instant) -> Option<Instant> {
        let written = self.written.get(key)?;
        if fingerprint(step).as_ref() != Some(&written.fingerprint) {
            return None;
        }
        let factor = 2_u32.saturating_pow(written.times.saturating_sub(1));
        let due = written.at + DELAYS.0.saturating_mul(factor).min(DELAYS.1);
        (due > now).then_some(due)
    }

    /// Records that a step with the fingerprint `step` was carried out. Returns the number of times if it has
    /// to be reported.
    pub(super) fn record(
        &mut self,
        key: &Key,
        step: Option<(&'static str, String)>,
        now: Instant,
    ) -> Option<u32> {
        let fingerprint = step?;
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

/// The name of a step that writes downstream, and the hash of the copy that it writes.
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
    fn a_write_that_is_undone_is_made_again_after_growing_delays() {
        let key = Key {
            kind: 1,
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
        };
        let (mut undone, step) = (Undone::default(), create("1"));
        let mut now = Instant::now();
        assert_eq!(undone.waits(&key, &step, now), None, "the first time");
        let mut waited = Vec::new();
        let mut count = None;
        for _ in 0..12 {
            count = undone.record(&key, fingerprint(&step), now);
            let due = undone.waits(&key, &step, now).unwrap();
            waited.push((due - now).as_millis());
            now = due;
            assert_eq!(undone.waits(&key, &step, now), None);
        }
        assert_eq!(waited[..4], [200, 400, 800, 1600]);
        assert_eq!(waited[11], DELAYS.1.as_millis());
        assert_eq!(count, Some(12));
        // A different copy is not the one that was undone.
        assert_eq!(undone.waits(&key, &create("2"), now - DELAYS.1), None);
        now += KEPT_AFTER;
        assert_eq!(
            undone.record(&key, fingerprint(&step), now),
            None,
            "it stood long enough"
        );
        undone.forget(&key);
        assert_eq!(undone.waits(&key, &step, now), None);
    }
}
