//! Reviews that another API server answers (docs/reference.md, "Identity"): the user of a token, or the
//! permission for a request. This module has the timeouts and the retries.
//!
//! The reviews are in [`crate::authn::token_review`] and [`crate::authz::subject_access_review`]; a
//! [`Reviewer`] of the program sends them.

mod answer_cache;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use answer_cache::AnswerCache;

/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Highest number of attempts of one review.
const ATTEMPTS: u32 = 5;
/// Delay before the second attempt. Each further delay is one and a half times as long as the previous delay.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Sender of review objects to the API server that answers them.
#[async_trait]
pub trait Reviewer: Send + Sync + 'static {
    /// Creates `review` (with apiVersion, kind and spec) at `path`. Returns the review in the answer, which
    /// has a status.
    ///
    /// # Errors
    /// Reason why the review has no answer.
    async fn review(&self, path: &str, review: &Value) -> Result<Value, ReviewError>;
}

/// Reason why a review has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReviewError {
    /// Description of the problem.
    pub message: String,
    /// Whether a retry may succeed: the server was busy, failing, or unreachable.
    pub temporary: bool,
}

/// Reason why an authorizer, or an authenticator of tokens, could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DelegationError {
    /// The server did not answer.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The answer has no valid status.
    #[error("the answer to a {review} has no valid status: {problem}")]
    Malformed {
        /// The kind of the review.
        review: &'static str,
        /// Description of the problem.
        problem: String,
    },
    /// The answer both allows and denies.
    #[error("the answer to a SubjectAccessReview says both allowed and denied")]
    Contradiction,
    /// The answer says that the token is valid, but has no user.
    #[error("the answer to a TokenReview says authenticated, and names no user")]
    NoUser,
    /// No authorizer decided, and at least one failed. Contains the errors of all authorizers that failed.
    #[error("{}", joined(.0))]
    Several(Vec<DelegationError>),
    /// An error of the program's own authorizer or authenticator.
    #[error("{0}")]
    Other(String),
}

fn joined(problems: &[DelegationError]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Sends `review`, and repeats this after a temporary failure: at most [`ATTEMPTS`] times, each with the
/// timeout [`ATTEMPT_TIMEOUT`].
pub(crate) async fn ask(reviewer: &dyn Reviewer, path: &str, review: &Value) -> Result<Value, ReviewError> {
    let mut delay = FIRST_DELAY;
    for attempt in 1.. {
        let problem = match tokio::time::timeout(ATTEMPT_TIMEOUT, reviewer.review(path, review)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(problem)) => problem,
            Err(_) => ReviewError {
                message: format!("no answer within {ATTEMPT_TIMEOUT:?}"),
                temporary: true,
            },
        };
        if !problem.temporary || attempt == ATTEMPTS {
            return Err(problem);
        }
        tracing::debug!(path, attempt, %problem, "a review failed and is sent again");
        tokio::time::sleep(delay).await;
        delay += delay / 2;
    }
    unreachable!("the last attempt returns")
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
