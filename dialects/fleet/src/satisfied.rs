//! The fulfilment of a policy, with a sentence about it.

/// The fulfilment of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFulfilment {
    /// Whether every requested cluster was found.
    pub(crate) fulfilled: bool,
    /// The sentence about the fulfilment.
    pub(crate) message: String,
}
