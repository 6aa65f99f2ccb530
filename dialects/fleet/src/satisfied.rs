//! Whether a policy is fulfilled, in words.

/// Whether the policy is fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFulfilment {
    /// Whether everything wanted was found.
    pub(crate) fulfilled: bool,
    /// The sentence.
    pub(crate) message: String,
}
