//! Fences: when each was last passed.
//!
//! They live in memory only, and that suffices: a fence orders a write after the snapshot of its
//! decision, and every decision in flight ends with the process that has the store. A decision made
//! after a restart starts from a snapshot at or after the loaded revision, which is newer than every
//! passing before it. One process holds a store at a time.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Revision;

use crate::error::StoreError;

/// Beyond this many, the older half is folded into the floor.
const LIMIT: usize = 65_536;

/// Revision of the last passing of each fence.
#[derive(Debug)]
pub(crate) struct Fences {
    passed: HashMap<Arc<str>, Revision>,
    floor: Revision,
}

impl Fences {
    /// No fence was passed after `start`.
    pub(crate) fn new(start: Revision) -> Self {
        Self {
            passed: HashMap::new(),
            floor: start,
        }
    }

    /// Upper bound of the last passing of `name`.
    pub(crate) fn last(&self, name: &str) -> Revision {
        self.passed.get(name).copied().unwrap_or(self.floor)
    }

    /// Records that `name` was passed at `revision`.
    pub(crate) fn pass(&mut self, name: Arc<str>, revision: Revision) {
        self.passed.insert(name, revision);
        if self.passed.len() > LIMIT {
            self.forget_older_half();
        }
    }

    /// Forgetting is safe in one direction only. A forgotten fence counts as passed at the floor, so a
    /// decision on an older snapshot is refused and never admitted by mistake.
    fn forget_older_half(&mut self) {
        let mut revisions: Vec<_> = self.passed.values().copied().collect();
        revisions.sort_unstable();
        self.floor = revisions.get(revisions.len() / 2).copied().unwrap_or(self.floor);
        let floor = self.floor;
        self.passed.retain(|_, revision| *revision > floor);
    }
}

/// `Fenced` when a fence last passed at `at` may not have been passed after `not_after`.
pub(crate) fn check(name: &str, at: Revision, not_after: Revision) -> Result<(), StoreError> {
    if at > not_after {
        return Err(StoreError::Fenced {
            name: name.to_owned(),
            at,
            not_after,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_fence_counts_as_passed_at_the_floor() {
        let mut fences = Fences::new(Revision(5));
        assert_eq!(fences.last("a"), Revision(5));
        for index in 0..=LIMIT as u64 {
            fences.pass(format!("fence-{index}").into(), Revision(10 + index));
        }
        assert!(fences.passed.len() <= LIMIT / 2 + 1);
        assert!(
            fences.last("fence-0") >= Revision(10),
            "never earlier than it really was"
        );
        assert_eq!(
            fences.last(&format!("fence-{LIMIT}")),
            Revision(10 + LIMIT as u64)
        );
    }
}
