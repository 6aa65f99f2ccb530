//! Spans in an object's bytes, in a compact form, since every object has them.

use std::ops::Range;

/// A range of bytes. Four bytes suffice for a position, since no object is as large as four gigabytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Returns the span as a range.
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let place = |at: usize| u32::try_from(at).expect("an object is no larger than its request");
        Self {
            start: place(range.start),
            end: place(range.end),
        }
    }
}

/// Spans of the parts of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spans {
    /// Span of the text of `apiVersion`, without its quotes.
    pub(super) api_version: Span,
    /// Span of the text of `kind`, without its quotes.
    pub(super) kind: Span,
    /// Span of the value of `metadata`, including braces.
    pub(super) metadata: Span,
    /// Span of the value of `metadata.annotations`, including braces; empty where it is absent.
    pub(super) annotations: Span,
    /// Span of the value of `metadata.managedFields`, including brackets; empty where it is absent.
    pub(super) managed: Span,
    /// Span of the digits of `metadata.resourceVersion`.
    pub(super) revision: Span,
}

impl Spans {
    /// Returns the spans after the bytes at `cut` were replaced by `length` bytes, with the digits of the
    /// revision at `revision`.
    pub(super) fn spliced(&self, cut: Range<usize>, length: usize, revision: Range<usize>) -> Self {
        let shift = |at: usize| {
            if at > cut.start {
                at + length - cut.len()
            } else {
                at
            }
        };
        let moved = |span: Span| Span::from(shift(span.start())..shift(span.range().end));
        Self {
            api_version: moved(self.api_version),
            kind: moved(self.kind),
            metadata: moved(self.metadata),
            annotations: moved(self.annotations),
            managed: moved(self.managed),
            revision: revision.into(),
        }
    }

    /// Returns the spans after the managed fields were replaced by `managed` bytes.
    pub(super) fn resized(&self, managed: usize) -> Self {
        let cut = self.managed.range();
        // The revision comes after the managed fields.
        let digits = self.revision.range();
        let start = digits.start + managed - cut.len();
        match cut.is_empty() {
            true => *self,
            false => self.spliced(cut, managed, start..start + digits.len()),
        }
    }
}
