//! The changes of one resource that are still known, oldest first, and the revision below which they are not.

use std::sync::Arc;

use imbl::Vector;
use meta::{Object, Revision};

use crate::source::Event;

/// How much history a store keeps. A watcher or a list that asks for more gets `Expired`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Changes kept per resource.
    pub events: usize,
    /// Bytes of changed objects kept per resource.
    pub bytes: usize,
    /// Bytes of changed objects kept in all.
    pub total_bytes: usize,
}

impl Default for Limits {
    /// 16,384 changes and 32 MiB per resource, 256 MiB in all.
    fn default() -> Self {
        Self {
            events: 16 * 1024,
            bytes: 32 << 20,
            total_bytes: 256 << 20,
        }
    }
}

/// One change, and what is needed to undo it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What watchers get.
    pub(crate) event: Arc<Event>,
    /// The object before the change, at its own revision (a deletion's event carries the deletion's).
    pub(crate) before: Option<Arc<Object>>,
}

impl Entry {
    /// The bytes this entry answers for: the new object, or the deleted one.
    fn size(&self) -> usize {
        let change = &self.event.change;
        change
            .new
            .as_ref()
            .or(change.old.as_ref())
            .map_or(0, |object| object.bytes().len())
    }
}

/// The known changes of one resource. Cloning is cheap: the ring is persistent.
#[derive(Clone, Debug)]
pub(crate) struct History {
    entries: Vector<Entry>,
    floor: Revision,
    bytes: usize,
}

impl History {
    /// No changes yet; what happened up to `floor` is unknown.
    pub(crate) fn new(floor: Revision) -> Self {
        Self {
            entries: Vector::new(),
            floor,
            bytes: 0,
        }
    }

    /// Every change after this revision is known.
    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    /// The revision of the oldest change still known.
    pub(crate) fn oldest(&self) -> Option<Revision> {
        self.entries.front().map(|entry| entry.event.change.revision)
    }

    /// Whether there is any change after `revision`.
    pub(crate) fn moved_after(&self, revision: Revision) -> bool {
        self.entries
            .back()
            .is_some_and(|entry| entry.event.change.revision > revision)
    }

    /// Adds the newest change; gives the bytes added.
    pub(crate) fn push(&mut self, entry: Entry) -> usize {
        let size = entry.size();
        self.bytes += size;
        self.entries.push_back(entry);
        size
    }

    /// Whether more than `limits` allow for one resource is kept.
    pub(crate) fn over(&self, limits: &Limits) -> bool {
        self.entries.len() > limits.events || self.bytes > limits.bytes
    }

    /// Forgets the oldest change; gives the bytes freed, or `None` when there is none.
    pub(crate) fn forget_oldest(&mut self) -> Option<usize> {
        let entry = self.entries.pop_front()?;
        let size = entry.size();
        self.bytes -= size;
        self.floor = entry.event.change.revision;
        Some(size)
    }

    /// How many changes are known after `revision`.
    pub(crate) fn count_after(&self, revision: Revision) -> usize {
        self.entries.len() - self.position_after(revision)
    }

    /// The changes after `revision`, oldest first.
    pub(crate) fn after(&self, revision: Revision) -> impl DoubleEndedIterator<Item = &Entry> {
        let position = self.position_after(revision);
        self.entries.focus().narrow(position..).into_iter()
    }

    fn position_after(&self, revision: Revision) -> usize {
        if !self.moved_after(revision) {
            return self.entries.len();
        }
        match self
            .entries
            .binary_search_by(|entry| entry.event.change.revision.cmp(&revision))
        {
            Ok(position) => position + 1,
            Err(position) => position,
        }
    }
}
