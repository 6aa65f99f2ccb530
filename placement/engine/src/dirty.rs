//! Marks of objects that changes made stale, for consumers that work at their own pace.
//!
//! A slow consumer loses nothing and blocks no producer: marks of the same subject merge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_apimachinery::{Key, Revision};
use berth_dialect_contract::{AffectedDemands, Consequences};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A set of marked items, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkedSet<T> {
    /// The given items.
    Some(BTreeSet<T>),
    /// All items, including deleted ones.
    All,
}

impl<T> Default for MarkedSet<T> {
    fn default() -> Self {
        Self::Some(BTreeSet::new())
    }
}

impl<T: Ord> MarkedSet<T> {
    /// Whether nothing is marked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Some(set) if set.is_empty())
    }

    /// Marks the items of `more`, or all items where it is `None`.
    pub fn mark(&mut self, more: Option<impl IntoIterator<Item = T>>) {
        match (self, more) {
            (Self::All, _) => {}
            (Self::Some(set), Some(more)) => set.extend(more),
            (this, None) => *this = Self::All,
        }
    }

    fn merge(&mut self, other: Self) {
        match other {
            Self::Some(set) => self.mark(Some(set)),
            Self::All => *self = Self::All,
        }
    }
}

/// Stale objects of one dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// The demands to decide again.
    pub decide: MarkedSet<Key>,
    /// The demands whose view may differ.
    pub demands: MarkedSet<Key>,
    /// The targets, by cluster name, whose view may differ.
    pub targets: MarkedSet<Arc<str>>,
    /// The members of `decide` are to be decided on a world with every change up to this revision. Zero where
    /// all demands are due without a change.
    pub since: Revision,
}

impl Dirty {
    /// Marks of all objects.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            decide: MarkedSet::All,
            demands: MarkedSet::All,
            targets: MarkedSet::All,
            since: Revision::default(),
        }
    }

    /// Whether nothing is stale.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.decide.is_empty() && self.demands.is_empty() && self.targets.is_empty()
    }

    /// Adds the consequences of the change that was folded at `revision`.
    pub fn add(&mut self, consequences: Consequences, revision: Revision) {
        if !matches!(consequences.decide, AffectedDemands::None) {
            self.since = self.since.max(revision);
        }
        add(&mut self.decide, consequences.decide);
        add(&mut self.demands, consequences.demands);
        self.targets.mark(consequences.targets);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.decide.merge(other.decide);
        self.demands.merge(other.demands);
        self.targets.merge(other.targets);
        self.since = self.since.max(other.since);
    }
}

pub(crate) fn add(marked: &mut MarkedSet<Key>, affected: AffectedDemands) {
    match affected {
        AffectedDemands::None => {}
        AffectedDemands::Some(keys) => marked.mark(Some(keys)),
        AffectedDemands::All => marked.mark(None::<Vec<Key>>),
    }
}

/// Objects that became stale since the last batch.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Revision up to which this batch and the earlier ones have the marks of every change.
    pub through: Revision,
    /// Stale objects, by dialect name.
    pub dirty: BTreeMap<&'static str, Dirty>,
}

#[derive(Debug, Default)]
struct PendingMarks {
    batch: Batch,
    news: bool,
}

/// One consumer's marks. Dropping it ends the subscription.
#[derive(Debug, Default)]
pub struct Subscription {
    pending: Mutex<PendingMarks>,
    wake: Notify,
}

impl Subscription {
    /// Waits until something changed and takes all marks. A batch may have no marks.
    pub async fn next(&self) -> Batch {
        loop {
            if let Some(batch) = self.take() {
                return batch;
            }
            self.wake.notified().await;
        }
    }

    /// Waits for a change, and does not take the marks: more may be added to them.
    pub async fn changed(&self) {
        while !self.pending.lock().news {
            self.wake.notified().await;
        }
    }

    fn take(&self) -> Option<Batch> {
        let mut pending = self.pending.lock();
        if !pending.news {
            return None;
        }
        pending.news = false;
        let through = pending.batch.through;
        Some(Batch {
            through,
            dirty: std::mem::take(&mut pending.batch.dirty),
        })
    }

    /// Adds marks. Together with the earlier marks they cover all changes up to `through`.
    pub(crate) fn mark(&self, through: Revision, dirty: impl IntoIterator<Item = (&'static str, Dirty)>) {
        {
            let mut pending = self.pending.lock();
            pending.batch.through = through;
            pending.news = true;
            for (dialect, dirty) in dirty {
                pending.batch.dirty.entry(dialect).or_default().merge(dirty);
            }
        }
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;

    use super::*;

    const TOYS: GroupResource = GroupResource::new("toys.example", "toys");

    #[tokio::test]
    async fn marks_fall_together_until_they_are_taken() {
        let subscription = Subscription::default();
        let mut first = Dirty::default();
        let consequences = |name: &str| Consequences {
            decide: AffectedDemands::Some(vec![Key::new(TOYS, "ns", name)]),
            ..Consequences::nothing()
        };
        let shown = Consequences {
            targets: None,
            ..Consequences::default()
        };
        first.add(consequences("a"), Revision(1));
        let mut second = Dirty::default();
        second.add(consequences("b"), Revision(2));
        second.add(shown, Revision(3));
        subscription.mark(Revision(1), [("toy", first)]);
        subscription.mark(Revision(3), [("toy", second)]);
        subscription.changed().await;
        let batch = subscription.next().await;
        assert_eq!(batch.through, Revision(3));
        let dirty = &batch.dirty["toy"];
        assert_eq!(dirty.since, Revision(2), "what makes nothing due does not count");
        assert!(matches!(&dirty.decide, MarkedSet::Some(keys) if keys.len() == 2));
        assert!(dirty.demands.is_empty());
        assert_eq!(dirty.targets, MarkedSet::All);
        assert!(subscription.take().is_none());
    }
}
