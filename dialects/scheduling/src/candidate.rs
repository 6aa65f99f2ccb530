//! Candidates, and reasons of refusals.

/// A candidate: an index into the fleet, stable within one snapshot.
pub type Ix = u32;

/// The reason of a refusal: a code from the dialect's own table, and an index for its sentence (of the taint
/// or the term). The dialect's view renders the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason {
    /// The number of the dialect's code, assigned by [`filters!`](crate::filters).
    pub code: u16,
    /// The index of a detail that the dialect looks up; 0 without a detail.
    pub detail: u32,
}
