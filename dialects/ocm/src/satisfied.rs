//! The condition about whether a placement has its requested clusters.

/// The condition PlacementSatisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SatisfiedCondition {
    /// The status of the condition: True or False.
    pub(crate) status: bool,
    /// The token.
    pub(crate) reason: &'static str,
    /// The sentence.
    pub(crate) message: String,
}
