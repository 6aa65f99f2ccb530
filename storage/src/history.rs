//! The known changes of one resource, oldest first, and the revision up to which changes are unknown.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_apimachinery::{Object, Revision};
use imbl::Vector;

use crate::source::Event;

/// Limits of a store's history. A watcher or a list that needs more gets `Expired`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximal number of kept changes of each resource.
    pub events: usize,
    /// Maximal memory, in bytes, of the kept changes of each resource.
    pub bytes: usize,
    /// Maximal memory, in bytes, of the kept changes of all resources.
    pub total_bytes: usize,
    /// Time for which changes are kept at least, within the other limits. A client that was disconnected for
    /// longer has to list again.
    pub age: Duration,
    /// Memory, in bytes, of the kept changes of a resource above which changes older than `age` are
    /// forgotten.
    pub aged_bytes: usize,
}

impl Default for Limits {
    /// Defaults: 16,384 changes and 32 MiB for each resource, 256 MiB in total, for five minutes, which is
    /// the interval at which a kube-apiserver compacts etcd. A resource keeps older changes while all its
    /// changes need at most 1 MiB.
    fn default() -> Self {
        Self {
            events: 16 * 1024,
            bytes: 32 << 20,
            total_bytes: 256 << 20,
            age: Duration::from_mins(5),
            aged_bytes: 1 << 20,
        }
    }
}

/// Approximate memory of a change in addition to the bytes of its object: parsed metadata, spans, keys, and
/// the change itself.
const OVERHEAD: usize = 1280;

/// Returns the approximate memory of `object`, as if it shared nothing.
pub(crate) fn weight(object: &Object) -> usize {
    OVERHEAD + object.len()
}

/// Number of the newest changes that keep their frames. Most watchers need only these changes; a watcher that
/// is further behind encodes frames itself.
const MAX_FRAMES: usize = 256;

/// Number of the newest changes that are searched one by one, before a binary search: most watchers are
/// behind by fewer changes.
const MAX_LAG: usize = 4;

/// One change, and the data to undo it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Event for watchers.
    pub(crate) event: Arc<Event>,
    /// The object before the change, at its own revision (the event of a deletion has the deletion's
    /// revision).
    pub(crate) before: Option<Arc<Object>>,
    /// Time at which the change was recorded.
    pub(crate) at: Instant,
}

impl Entry {
    /// Returns the memory that counts for this entry: that of the new object, or of the deleted object.
    fn size(&self) -> usize {
        let change = &self.event.change;
        let object = change.new.as_ref().or(change.old.as_ref());
        object.map_or(OVERHEAD, |object| weight(object))
    }
}

/// The known changes of one resource. Cloning is cheap, since the vector is persistent.
#[derive(Clone, Debug)]
pub(crate) struct History {
    entries: Vector<Entry>,
    /// Revision after which every change is known.
    floor: Revision,
    /// Memory that counts for the entries.
    bytes: usize,
}

impl History {
    /// Creates a history without changes; changes up to `floor` are unknown.
    pub(crate) fn new(floor: Revision) -> Self {
        Self {
            entries: Vector::new(),
            floor,
            bytes: 0,
        }
    }

    /// Returns the revision after which every change is known.
    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    /// Returns the revision of the oldest known change.
    pub(crate) fn oldest(&self) -> Option<Revision> {
        self.entries.front().map(|entry| entry.event.change.revision)
    }

    /// Whether there is any change after `revision`.
    pub(crate) fn has_changes_after(&self, revision: Revision) -> bool {
        self.entries
            .back()
            .is_some_and(|entry| entry.event.change.revision > revision)
    }

    /// Adds the newest change; returns the memory that counts for it, in bytes.
    pub(crate) fn push(&mut self, entry: Entry) -> usize {
        let size = entry.size();
        self.bytes += size;
        self.entries.push_back(entry);
        self.drop_frame();
        size
    }

    /// Removes the frame of the change that is no longer one of the [`MAX_FRAMES`] newest ones. With a frame,
    /// a change needs twice the memory that counts for it.
    fn drop_frame(&mut self) {
        let index = self.entries.len().checked_sub(MAX_FRAMES + 1);
        let Some(entry) = index.and_then(|index| self.entries.get(index)) else {
            return;
        };
        if entry.event.frame.get().is_none() {
            return;
        }
        let entry = Entry {
            event: Arc::new(Event::new(entry.event.change.clone())),
            before: entry.before.clone(),
            at: entry.at,
        };
        if let Some(index) = index {
            self.entries.set(index, entry);
        }
    }

    /// Whether the known changes exceed the limits of one resource.
    pub(crate) fn exceeds(&self, limits: &Limits) -> bool {
        self.entries.len() > limits.events || self.bytes > limits.bytes
    }

    /// Whether the oldest change is older than `limits.age` at `now`, while all changes exceed
    /// `limits.aged_bytes`.
    pub(crate) fn has_aged(&self, limits: &Limits, now: Instant) -> bool {
        self.bytes > limits.aged_bytes
            && self
                .entries
                .front()
                .is_some_and(|entry| now.duration_since(entry.at) > limits.age)
    }

    /// Forgets the oldest change; returns the memory that counted for it, or `None` when there is no change.
    pub(crate) fn forget_oldest(&mut self) -> Option<usize> {
        let entry = self.entries.pop_front()?;
        let size = entry.size();
        self.bytes -= size;
        self.floor = entry.event.change.revision;
        Some(size)
    }

    /// Returns the number of known changes after `revision`.
    pub(crate) fn count_after(&self, revision: Revision) -> usize {
        self.entries.len() - self.position_after(revision)
    }

    /// Returns the changes after `revision`, oldest first.
    pub(crate) fn after(&self, revision: Revision) -> impl DoubleEndedIterator<Item = &Entry> {
        let position = self.position_after(revision);
        self.entries.focus().narrow(position..).into_iter()
    }

    /// Returns the events of the first `max` changes after `revision`, oldest first, and of all other changes
    /// that have the revision of the last of these: a cursor, which is a revision, cannot stand between them.
    /// The event of a change that is not among the [`MAX_FRAMES`] newest ones is a copy, so that its frame
    /// is not kept here.
    pub(crate) fn events_after(&self, revision: Revision, max: usize) -> impl Iterator<Item = Arc<Event>> {
        let start = self.position_after(revision);
        let first_framed = self.entries.len().saturating_sub(MAX_FRAMES);
        let mut last = None;
        let entries = self.entries.focus().narrow(start..).into_iter().enumerate();
        entries
            .take_while(move |(index, entry)| {
                let revision = entry.event.change.revision;
                let is_taken = *index < max || last == Some(revision);
                last = Some(revision);
                is_taken
            })
            .map(move |(index, entry)| match start + index < first_framed {
                true => Arc::new(Event::new(entry.event.change.clone())),
                false => Arc::clone(&entry.event),
            })
    }

    fn position_after(&self, revision: Revision) -> usize {
        let length = self.entries.len();
        for behind in 0..MAX_LAG {
            let entry = length.checked_sub(behind + 1);
            let entry = entry.and_then(|index| self.entries.get(index));
            if entry.is_none_or(|entry| entry.event.change.revision <= revision) {
                return length - behind;
            }
        }
        // Several changes may have this revision. No entry compares as equal, so that the position is after
        // all of them.
        let order = |entry: &Entry| entry.event.change.revision.cmp(&revision).then(Ordering::Less);
        let (Ok(position) | Err(position)) = self.entries.binary_search_by(order);
        position
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::{Change, GroupResource, Key};
    use serde_json::json;

    use super::*;

    fn entry(revision: u64) -> Entry {
        let value = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
        let object = Object::new(&value, Revision(revision)).unwrap();
        let resource = GroupResource {
            group: "",
            resource: "as",
        };
        let change = Change {
            revision: Revision(revision),
            key: Key::new(resource, "", "x"),
            old: None,
            new: Some(Arc::new(object)),
        };
        Entry {
            event: Arc::new(Event::new(change)),
            before: None,
            at: Instant::now(),
        }
    }

    #[test]
    fn only_the_newest_changes_keep_frames() {
        let mut history = History::new(Revision(0));
        for revision in 1..=MAX_FRAMES as u64 + 3 {
            let entry = entry(revision);
            entry.event.frame.set("frame".into()).unwrap();
            history.push(entry);
        }
        let revisions = history
            .after(Revision(0))
            .map(|entry| entry.event.change.revision.0);
        assert!(revisions.eq(1..=MAX_FRAMES as u64 + 3));
        let framed = history
            .after(Revision(0))
            .map(|entry| entry.event.frame.get().is_some());
        assert!(framed.eq((1..=MAX_FRAMES + 3).map(|position| position > 3)));
    }

    #[test]
    fn a_change_that_is_read_late_keeps_no_frame() {
        let mut history = History::new(Revision(0));
        for revision in 1..=MAX_FRAMES as u64 + 3 {
            history.push(entry(revision));
        }
        for event in history.events_after(Revision(0), usize::MAX) {
            event.frame.set("frame".into()).unwrap();
        }
        let framed = history
            .after(Revision(0))
            .map(|entry| entry.event.frame.get().is_some());
        assert!(framed.eq((1..=MAX_FRAMES + 3).map(|position| position > 3)));
    }

    #[test]
    fn changes_of_one_revision_are_read_together() {
        let mut history = History::new(Revision(0));
        for revision in [1, 2, 2, 2, 3, 4, 5, 6, 7, 8] {
            history.push(entry(revision));
        }
        let read = |after, max| -> Vec<u64> {
            let events = history.events_after(Revision(after), max);
            events.map(|event| event.change.revision.0).collect()
        };
        assert_eq!(read(0, 1), [1]);
        assert_eq!(read(0, 2), [1, 2, 2, 2]);
        assert_eq!(read(1, 1), [2, 2, 2]);
        assert_eq!(read(2, 2), [3, 4]);
        assert_eq!(read(7, 2), [8]);
        assert_eq!(history.count_after(Revision(2)), 6);
    }

    #[test]
    fn changes_after_a_revision_are_found_near_the_end_and_far_from_it() {
        let mut history = History::new(Revision(0));
        assert_eq!(history.count_after(Revision(7)), 0);
        let revisions = (1..=40).map(|number| number * 10);
        for revision in revisions.clone() {
            history.push(entry(revision));
        }
        for after in 0..=410 {
            let expected = revisions.clone().filter(|revision| *revision > after).count();
            assert_eq!(history.count_after(Revision(after)), expected, "after {after}");
        }
    }
}
