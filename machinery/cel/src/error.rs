//! Reason why an expression has no value.

/// Reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It costs more than it may. No operator absorbs this.
    #[error("operation cancelled: actual cost limit exceeded: it costs more than {limit}")]
    Cost {
        /// The limit.
        limit: u64,
    },
    /// An access review that was not made yet. No operator absorbs this: the caller makes the review,
    /// and evaluates again.
    #[error("the access review is not made yet")]
    Unasked(Box<crate::review::Review>),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// A failure in these words.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// Whether this ends the evaluation regardless of the operators around it.
    pub(crate) fn ends(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// No overload of a function or operator for its arguments.
    pub(crate) fn no_such_overload() -> Self {
        Self::failed("no such overload")
    }
}
