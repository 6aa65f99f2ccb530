//! Fences, with the revision at which each was last passed.
//!
//! The memory store and the embedded store have their fences only in memory, which is sufficient: only one
//! process at a time has such a store, and every pending decision ends with that process. A decision after a
//! restart is based on a snapshot at or after the loaded revision, and no fence was passed after that
//! revision. In etcd, fences are keys.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Revision;

use crate::error::StoreError;

/// Maximal number of fences with a revision of their own; beyond it, the older half is merged into the floor.
const LIMIT: usize = 65_536;

/// Revisions at which fences were last passed.
#[derive(Debug)]
pub(crate) struct Fences {
    passed: HashMap<Arc<str>, Revision>,
    /// Upper limit of the revision at which any other fence was last passed.
    floor: Revision,
}

impl Fences {
    /// Creates fences, none of which was passed after `start`.
    pub(crate) fn new(start: Revision) -> Self {
        Self {
            passed: HashMap::new(),
            floor: start,
        }
    }

    /// Returns an upper limit of the revision at which `name` was last passed.
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

    /// Forgets the older half of the fences. A forgotten fence counts as passed at the floor, so a decision
    /// on an older snapshot may be refused without need, but is never admitted by mistake.
    fn forget_older_half(&mut self) {
        let mut revisions: Vec<_> = self.passed.values().copied().collect();
        revisions.sort_unstable();
        self.floor = revisions.get(revisions.len() / 2).copied().unwrap_or(self.floor);
        let floor = self.floor;
        self.passed.retain(|_, revision| *revision > floor);
    }
}

/// Returns `Fenced` if `at`, the revision at which the fence `name` was last passed, is after `not_after`.
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
