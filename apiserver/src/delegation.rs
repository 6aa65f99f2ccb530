//! Questions that another API server answers: which user has this token, may this user do that. This module has
//! the deadlines and the repetition of the questions (docs/reference.md, "Identity").
//!
//! The reviews are in [`crate::authn::token_review`] and [`crate::authz::subject_access_review`]; a
//! [`Reviewer`] of the program sends them.

mod remembered;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use remembered::AnswerCache;

/// Time limit of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// Most attempts before a question counts as unanswered.
const ATTEMPTS: u32 = 5;
/// Wait after the first failure; half as long again after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Carries review objects to the API server that answers them.
#[async_trait]
pub trait Reviewer: Send + Sync + 'static {
    /// Creates `review` (with apiVersion, kind and spec) at `path`. Returns the review of the answer, with its
    /// status.
    ///
    /// # Errors
    /// Reason why there is no answer.
    async fn review(&self, path: &str, review: &Value) -> Result<Value, ReviewError>;
}

/// Reason why a review has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReviewError {
    /// Description of the problem.
    pub message: String,
    /// Whether the same question may be answered a moment later: the server was busy, failing, or out of
    /// reach.
    pub passing: bool,
}

/// The reason why an authorizer, or an authenticator of tokens, could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DelegationError {
    /// The server that was asked gave no answer.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The answer is not a review.
    #[error("the answer to a {review} has no proper status: {problem}")]
    Malformed {
        /// The kind of the review.
        review: &'static str,
        /// Description of the problem.
        problem: String,
    },
    /// The answer is both yes and no.
    #[error("the answer to a SubjectAccessReview says both allowed and denied")]
    Contradiction,
    /// The answer says that the token is valid, but has no user.
    #[error("the answer to a TokenReview says authenticated, and names no user")]
    Nameless,
    /// None of several could answer: the reason of each.
    #[error("{}", joined(.0))]
    Several(Vec<DelegationError>),
    /// An answer of the program's own.
    #[error("{0}")]
    Other(String),
}

fn joined(problems: &[DelegationError]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// Asks until there is an answer: five times at most, each within ten seconds.
pub(crate) async fn ask(reviewer: &dyn Reviewer, path: &str, review: &Value) -> Result<Value, ReviewError> {
    let mut wait = FIRST_WAIT;
    for attempt in 1.. {
        let problem = match tokio::time::timeout(ATTEMPT, reviewer.review(path, review)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(problem)) => problem,
            Err(_) => ReviewError {
                message: format!("no answer within {ATTEMPT:?}"),
                passing: true,
            },
        };
        if !problem.passing || attempt == ATTEMPTS {
            return Err(problem);
        }
        tracing::debug!(path, attempt, %problem, "asking again");
        tokio::time::sleep(wait).await;
        wait += wait / 2;
    }
    unreachable!("the last attempt returns")
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
