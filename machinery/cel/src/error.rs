//! Errors of evaluations.

/// Reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The expression exceeds its cost limit. No operator absorbs this error.
    #[error("operation cancelled: actual cost limit exceeded: it costs more than {limit}")]
    Cost {
        /// The cost limit.
        limit: u64,
    },
    /// The access review is not made yet. No operator absorbs this error: the caller makes the review, and
    /// evaluates the expression again.
    #[error("the access review is not made yet")]
    PendingReview(Box<crate::review::Review>),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// Creates a failure with a message.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }

    /// Whether this error ends the evaluation, regardless of the operators around it.
    pub(crate) fn ends_evaluation(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Creates the error for arguments that no overload accepts.
    pub(crate) fn no_such_overload() -> Self {
        Self::failed("no such overload")
    }
}
