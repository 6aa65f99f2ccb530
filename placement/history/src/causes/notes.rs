//! Notes of the last few changes about one decision, or about all of a dialect, oldest first.

use std::collections::VecDeque;

use berth_apimachinery::{Revision, Timestamp};

use super::{MAX_DELAY, MAX_WAIT, Note, within};

/// Maximal number of notes of one kind for each decision.
pub(super) const MAX_NOTES: usize = 4;

/// The changes that made a decision due.
#[derive(Clone, Debug, Default)]
pub(super) struct Dues {
    notes: VecDeque<DueNote>,
    /// Number of earlier changes that made the same decision due, and whose notes newer ones displaced.
    before: u64,
}

/// A change that made a decision due.
#[derive(Clone, Debug)]
struct DueNote {
    note: Note,
    /// Time of a decision without writes.
    decided: Option<Timestamp>,
}

impl DueNote {
    /// Whether the note is not needed any more.
    fn is_over(&self, now: Timestamp) -> bool {
        let decided = self.decided.is_some_and(|at| !within(at, now, MAX_DELAY));
        decided || !within(self.note.at, now, MAX_WAIT)
    }

    fn revision(&self) -> Revision {
        self.note.change.revision
    }
}

impl Dues {
    pub(super) fn add(&mut self, note: Note) {
        if self.notes.len() >= MAX_NOTES
            && let Some(oldest) = self.notes.pop_front()
        {
            self.before += u64::from(oldest.decided.is_none());
        }
        self.notes.push_back(DueNote { note, decided: None });
    }

    /// The newest change up to `through`, and the number of earlier changes that waited for the same
    /// decision.
    pub(super) fn newest(&self, through: Revision, now: Timestamp) -> Option<(Note, u64)> {
        let up_to = self.notes.iter().filter(|due| due.revision() <= through);
        let found = up_to.rev().find(|due| !due.is_over(now))?;
        Some((found.note.clone(), self.waiting_before(found)))
    }

    /// The newest `wanted` change that existed at `seen_at`, or else the first `wanted` change after it, and
    /// the number of earlier changes that waited for the same decision.
    pub(super) fn newest_at(
        &self,
        seen_at: Timestamp,
        now: Timestamp,
        wanted: impl Fn(&Note) -> bool,
    ) -> Option<(Note, u64)> {
        let mut alive = self
            .notes
            .iter()
            .filter(|due| !due.is_over(now) && wanted(&due.note));
        let found = last_by(&mut alive.clone(), seen_at, |due| due.note.at).or_else(|| alive.next())?;
        Some((found.note.clone(), self.waiting_before(found)))
    }

    fn waiting_before(&self, found: &DueNote) -> u64 {
        let older = self.notes.iter().filter(|due| due.revision() < found.revision());
        let waiting = older.filter(|due| due.decided.is_none()).count();
        self.before + waiting as u64
    }

    /// Records that the changes up to `through` were decided at `now`, with nothing to write.
    pub(super) fn settle(&mut self, through: Revision, now: Timestamp) {
        let decided = self.notes.iter_mut().filter(|due| due.revision() <= through);
        let mut any = false;
        for due in decided {
            due.decided = Some(now);
            any = true;
        }
        if any {
            self.before = 0;
        }
    }

    pub(super) fn drop_through(&mut self, through: Revision) {
        self.notes.retain(|due| due.revision() > through);
        self.before = 0;
    }

    pub(super) fn drop_over(&mut self, now: Timestamp) {
        self.notes.retain(|due| !due.is_over(now));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }
}

/// The changes that may have altered the form of a Decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Views(VecDeque<Note>);

impl Views {
    pub(super) fn add(&mut self, note: Note) {
        if self.0.len() >= MAX_NOTES {
            self.0.pop_front();
        }
        self.0.push_back(note);
    }

    /// The newest `wanted` change that existed at `seen_at`, or else the first `wanted` change after it.
    pub(super) fn newest_at(&self, seen_at: Timestamp, wanted: impl Fn(&Note) -> bool) -> Option<Note> {
        let mut all = self.0.iter().filter(|note| wanted(note));
        last_by(&mut all.clone(), seen_at, |note| note.at)
            .or_else(|| all.next())
            .cloned()
    }

    pub(super) fn drop_through(&mut self, through: Revision) {
        self.0.retain(|note| note.change.revision > through);
    }

    pub(super) fn drop_over(&mut self, now: Timestamp) {
        self.0.retain(|note| within(note.at, now, MAX_DELAY));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The last of `notes` that existed at `seen_at`.
fn last_by<T>(
    notes: &mut impl DoubleEndedIterator<Item = T>,
    seen_at: Timestamp,
    at: impl Fn(&T) -> Timestamp,
) -> Option<T> {
    notes.rev().find(|note| at(note) <= seen_at)
}
