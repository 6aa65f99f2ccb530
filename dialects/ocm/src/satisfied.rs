//! Whether a placement has its wanted clusters.

/// The condition PlacementSatisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SatisfiedCondition {
    /// True or False.
    pub(crate) status: bool,
    /// The token.
    pub(crate) reason: &'static str,
    /// The sentence.
    pub(crate) message: String,
}
