//! Candidates, and reasons of refusals.

/// A candidate: an index into the fleet, stable within one snapshot.
pub type Ix = u32;

/// The reason of a refusal: a code of the dialect's own table, and an index for its sentence (which
/// taint, which term). Text is made by the dialect's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reason {
    /// The number of the dialect's code, as [`filters!`](crate::filters) gives it.
    pub code: u16,
    /// A detail that the dialect can look up again; 0 where it is absent.
    pub detail: u32,
}
