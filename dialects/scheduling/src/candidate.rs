//! Candidates, and reasons of refusals.

/// A candidate: an index into the fleet, stable within one snapshot.
pub type Ix = u32;

/// The reason of a refusal: a code from the dialect's own table, and a number for its sentence, such as the
/// index of a taint. The dialect renders the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason {
    /// The number of the dialect's code, assigned by [`filters!`](crate::filters).
    pub code: u16,
    /// The number of a detail, such as an index or a limit; 0 without a detail.
    pub detail: u32,
}
