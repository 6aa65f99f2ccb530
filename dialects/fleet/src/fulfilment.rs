//! The fulfilment of a placement policy by a decision.

/// The fulfilment of a placement policy by a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFulfilment {
    /// Whether all requested clusters were found; for PickAll, whether every cluster that fits was picked.
    pub(crate) fulfilled: bool,
    /// The message of the condition, such as `found 2 of the 3 clusters asked for`.
    pub(crate) message: String,
}
