//! JSON of an object. Parts that thousands of objects share are stored once.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::sets::{self, Set};
use super::spans::Spans;

/// Placeholder for a shared set.
const EMPTY: &[u8] = b"{}";

/// JSON of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The JSON with an empty set in the place of each shared set.
    own: Bytes,
    /// Shared sets, each with the position of its empty set.
    sets: Box<[(u32, Set)]>,
}

impl Text {
    /// Creates a text without shared parts.
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self {
            own: bytes.into(),
            sets: Box::default(),
        }
    }

    /// Creates the text of `bytes` with the given `spans`, and returns the corresponding spans in the text's
    /// own bytes.
    pub(super) fn placed<'a>(bytes: impl Into<Cow<'a, [u8]>>, spans: &Spans) -> (Self, Spans) {
        let managed = spans.managed.range();
        let text = Self::sharing(bytes.into(), managed.clone());
        let spans = spans.resized(managed.len() - text.excess());
        (text, spans)
    }

    /// Creates the text of `bytes` with the managed fields at `managed`.
    fn sharing(bytes: Cow<'_, [u8]>, managed: Range<usize>) -> Self {
        let found = sets::find(&bytes, managed);
        if found.is_empty() {
            return Self::whole(bytes.into_owned());
        }
        let excess: usize = found.iter().map(|set| set.len() - EMPTY.len()).sum();
        let mut own = Vec::with_capacity(bytes.len() - excess);
        let mut sets = Vec::with_capacity(found.len());
        let mut position = 0;
        for set in found {
            own.extend_from_slice(&bytes[position..set.start]);
            let placeholder = u32::try_from(own.len()).expect("an object is no larger than its request");
            own.extend_from_slice(EMPTY);
            position = set.end;
            sets.push((placeholder, sets::share(&bytes[set])));
        }
        own.extend_from_slice(&bytes[position..]);
        Self {
            own: own.into(),
            sets: sets.into(),
        }
    }

    /// The own bytes, with empty sets in place of shared ones: they are valid JSON. Every position in a span
    /// refers to these bytes.
    pub(super) fn own(&self) -> &Bytes {
        &self.own
    }

    /// The range of all own bytes.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.own.len()
    }

    /// Number of bytes by which the shared sets exceed their placeholders.
    pub(super) fn excess(&self) -> usize {
        self.sets.iter().map(|(_, set)| set.len() - EMPTY.len()).sum()
    }

    /// Number of bytes of the text.
    pub(super) fn len(&self) -> usize {
        self.own.len() + self.excess()
    }

    /// Appends the own bytes at `range`, including the shared sets, to `out`.
    pub(super) fn write(&self, range: Range<usize>, out: &mut Vec<u8>) {
        self.each(range, |piece| out.extend_from_slice(piece));
    }

    /// Returns the text with the own bytes at `cut`, which is after all sets, replaced by `replacement`.
    pub(super) fn spliced(&self, cut: Range<usize>, replacement: &[u8]) -> Self {
        let mut own = Vec::with_capacity(self.own.len() - cut.len() + replacement.len());
        own.extend_from_slice(&self.own[..cut.start]);
        own.extend_from_slice(replacement);
        own.extend_from_slice(&self.own[cut.end..]);
        Self {
            own: own.into(),
            sets: self.sets.clone(),
        }
    }

    /// Whether both texts have equal shared sets.
    pub(super) fn shares(&self, other: &Self) -> bool {
        self.sets == other.sets
    }

    /// Calls `piece` with the pieces of the own bytes at `range`, including the shared sets.
    fn each(&self, range: Range<usize>, mut piece: impl FnMut(&[u8])) {
        let mut position = range.start;
        for (placeholder, set) in &self.sets {
            let placeholder = *placeholder as usize;
            if range.contains(&placeholder) {
                piece(&self.own[position..placeholder]);
                piece(set);
                position = placeholder + EMPTY.len();
            }
        }
        piece(&self.own[position..range.end]);
    }

    /// Returns the own bytes at `range`, including the shared sets: copied only if there are any.
    pub(super) fn slice(&self, range: Range<usize>) -> Bytes {
        if self.sets.is_empty() {
            return self.own.slice(range);
        }
        let mut out = Vec::with_capacity(range.len() + self.excess());
        self.write(range, &mut out);
        out.into()
    }
}
