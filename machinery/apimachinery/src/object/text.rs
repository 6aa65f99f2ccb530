//! JSON of an object. The sets of fields in its managedFields, which are equal in many objects, are stored
//! once; in the text of the object, `{}` stands in their place.

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
    /// Creates a text without shared sets.
    pub(super) fn unshared(bytes: impl Into<Bytes>) -> Self {
        Self {
            own: bytes.into(),
            sets: Box::default(),
        }
    }

    /// Creates the text of `bytes`, and converts `spans`, the spans of the parts in `bytes`, to spans in the
    /// text's own bytes.
    pub(super) fn new<'a>(bytes: impl Into<Cow<'a, [u8]>>, spans: &Spans) -> (Self, Spans) {
        let managed = spans.managed.range();
        let text = Self::sharing(bytes.into(), managed.clone());
        let spans = spans.resized(managed.len() - text.excess());
        (text, spans)
    }

    /// Creates the text of `bytes`, and shares the sets in the managed fields at `managed`.
    fn sharing(bytes: Cow<'_, [u8]>, managed: Range<usize>) -> Self {
        let found = sets::find(&bytes, managed);
        if found.is_empty() {
            return Self::unshared(bytes.into_owned());
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

    /// The own bytes: valid JSON, with empty sets in place of the shared ones. Spans are ranges of these
    /// bytes.
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

    /// Appends the text at `range` of the own bytes, including the shared sets, to `out`.
    pub(super) fn write(&self, range: Range<usize>, out: &mut Vec<u8>) {
        self.for_each_piece(range, |piece| out.extend_from_slice(piece));
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

    /// Calls `append` with each piece of the text at `range` of the own bytes: own bytes, and shared sets in
    /// place of their placeholders.
    fn for_each_piece(&self, range: Range<usize>, mut append: impl FnMut(&[u8])) {
        let mut position = range.start;
        for (placeholder, set) in &self.sets {
            let placeholder = *placeholder as usize;
            if range.contains(&placeholder) {
                append(&self.own[position..placeholder]);
                append(set);
                position = placeholder + EMPTY.len();
            }
        }
        append(&self.own[position..range.end]);
    }

    /// Returns the text at `range` of the own bytes, including the shared sets. The bytes are copied only if
    /// the text has shared sets.
    pub(super) fn slice(&self, range: Range<usize>) -> Bytes {
        if self.sets.is_empty() {
            return self.own.slice(range);
        }
        let mut out = Vec::with_capacity(range.len() + self.excess());
        self.write(range, &mut out);
        out.into()
    }
}
