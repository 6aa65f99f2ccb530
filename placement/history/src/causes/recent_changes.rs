//! The last few changes about one decision, or about all decisions of a dialect, oldest first.

use std::collections::VecDeque;

use berth_apimachinery::{Revision, Timestamp};

use super::{MAX_DELAY, MAX_WAIT, RecentChange, within};

/// Highest number of remembered changes of each sort (due or view) for a decision.
pub(super) const MAX_CHANGES: usize = 4;

/// The changes that made a decision due.
#[derive(Clone, Debug, Default)]
pub(super) struct DueChanges {
    changes: VecDeque<DueChange>,
    /// Number of earlier changes that also made the decision due, and that newer ones displaced.
    displaced: u64,
}

/// A change that made a decision due.
#[derive(Clone, Debug)]
struct DueChange {
    recent: RecentChange,
    /// Time of the first later decision that had nothing to write; `None` before such a decision.
    decided: Option<Timestamp>,
}

impl DueChange {
    /// Whether the change can no longer be a cause.
    fn is_over(&self, now: Timestamp) -> bool {
        let decided = self.decided.is_some_and(|at| !within(at, now, MAX_DELAY));
        decided || !within(self.recent.at, now, MAX_WAIT)
    }

    fn revision(&self) -> Revision {
        self.recent.change.revision
    }
}

impl DueChanges {
    pub(super) fn add(&mut self, recent: RecentChange) {
        if self.changes.len() >= MAX_CHANGES
            && let Some(oldest) = self.changes.pop_front()
        {
            self.displaced += u64::from(oldest.decided.is_none());
        }
        self.changes.push_back(DueChange {
            recent,
            decided: None,
        });
    }

    /// The newest change up to `through`, and the number of earlier changes that waited for the same
    /// decision.
    pub(super) fn newest(&self, through: Revision, now: Timestamp) -> Option<(RecentChange, u64)> {
        let up_to = self.changes.iter().filter(|due| due.revision() <= through);
        let found = up_to.rev().find(|due| !due.is_over(now))?;
        Some((found.recent.clone(), self.waiting_before(found)))
    }

    /// The newest `wanted` change that existed at `seen_at`, or else the first `wanted` change after it, and
    /// the number of earlier changes that waited for the same decision.
    pub(super) fn newest_at(
        &self,
        seen_at: Timestamp,
        now: Timestamp,
        wanted: impl Fn(&RecentChange) -> bool,
    ) -> Option<(RecentChange, u64)> {
        let mut alive = self
            .changes
            .iter()
            .filter(|due| !due.is_over(now) && wanted(&due.recent));
        let found = last_by(&mut alive.clone(), seen_at, |due| due.recent.at).or_else(|| alive.next())?;
        Some((found.recent.clone(), self.waiting_before(found)))
    }

    fn waiting_before(&self, found: &DueChange) -> u64 {
        let older = self
            .changes
            .iter()
            .filter(|due| due.revision() < found.revision());
        let waiting = older.filter(|due| due.decided.is_none()).count();
        self.displaced + waiting as u64
    }

    /// Records that the changes up to `through` were decided at `now`, with nothing to write.
    pub(super) fn settle(&mut self, through: Revision, now: Timestamp) {
        let decided = self.changes.iter_mut().filter(|due| due.revision() <= through);
        let mut any = false;
        for due in decided {
            due.decided.get_or_insert(now);
            any = true;
        }
        if any {
            self.displaced = 0;
        }
    }

    pub(super) fn drop_through(&mut self, through: Revision) {
        let count = self.changes.len();
        self.changes.retain(|due| due.revision() > through);
        // Without an earlier change, the displaced ones may be later than `through`.
        if self.changes.len() < count {
            self.displaced = 0;
        }
    }

    pub(super) fn drop_over(&mut self, now: Timestamp) {
        self.changes.retain(|due| !due.is_over(now));
        if self.changes.is_empty() {
            self.displaced = 0;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The changes that may have altered a Decision without a new decision.
#[derive(Clone, Debug, Default)]
pub(super) struct ViewChanges(VecDeque<RecentChange>);

impl ViewChanges {
    pub(super) fn add(&mut self, recent: RecentChange) {
        if self.0.len() >= MAX_CHANGES {
            self.0.pop_front();
        }
        self.0.push_back(recent);
    }

    /// The newest `wanted` change that existed at `seen_at`, or else the first `wanted` change after it.
    pub(super) fn newest_at(
        &self,
        seen_at: Timestamp,
        wanted: impl Fn(&RecentChange) -> bool,
    ) -> Option<RecentChange> {
        let mut all = self.0.iter().filter(|recent| wanted(recent));
        last_by(&mut all.clone(), seen_at, |recent| recent.at)
            .or_else(|| all.next())
            .cloned()
    }

    pub(super) fn drop_through(&mut self, through: Revision) {
        self.0.retain(|recent| recent.change.revision > through);
    }

    pub(super) fn drop_over(&mut self, now: Timestamp) {
        self.0.retain(|recent| within(recent.at, now, MAX_DELAY));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The last of `changes` that existed at `seen_at`.
fn last_by<T>(
    changes: &mut impl DoubleEndedIterator<Item = T>,
    seen_at: Timestamp,
    at: impl Fn(&T) -> Timestamp,
) -> Option<T> {
    changes.rev().find(|change| at(change) <= seen_at)
}
