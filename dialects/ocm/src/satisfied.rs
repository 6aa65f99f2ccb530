//! The condition that tells whether a placement has its requested clusters.

/// The condition PlacementSatisfied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SatisfiedCondition {
    /// The status of the condition: True or False.
    pub(crate) status: bool,
    /// The reason of the condition.
    pub(crate) reason: &'static str,
    /// The message of the condition.
    pub(crate) message: String,
}
