//! Authentication of bearer tokens by another API server, through TokenReview.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::Clock;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::TokenAuthenticator;
use crate::delegation::{self, AnswerCache, DelegationError, Reviewer};

/// Path for creating TokenReviews.
pub const PATH: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

/// Authenticator that sends TokenReviews. Positive and negative answers are cached, but no failures.
pub struct TokenReviews {
    reviewer: Arc<dyn Reviewer>,
    answers: AnswerCache<[u8; 32], Option<UserInfo>>,
    cache_time: Duration,
    /// Salt of the digests by which answers are cached: tokens are not kept, and with a random salt the
    /// digests are useless outside this process.
    salt: Uuid,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    authenticated: bool,
    user: User,
    error: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    username: String,
    uid: String,
    groups: Vec<String>,
    extra: std::collections::BTreeMap<String, Vec<String>>,
}

impl TokenReviews {
    /// Creates an authenticator that sends reviews to `reviewer`, and caches answers for `cache_time`.
    pub fn new(reviewer: Arc<dyn Reviewer>, cache_time: Duration, clock: Arc<dyn Clock>) -> Self {
        Self {
            reviewer,
            answers: AnswerCache::new(clock),
            cache_time,
            salt: Uuid::new_v4(),
        }
    }

    /// Sends a TokenReview. Returns the user; `None` if the token is not valid.
    async fn ask(&self, token: &str) -> Result<Option<UserInfo>, DelegationError> {
        let answer = delegation::ask(&*self.reviewer, PATH, &token_review(token)).await?;
        let malformed = |problem: serde_json::Error| DelegationError::Malformed {
            review: "TokenReview",
            problem: problem.to_string(),
        };
        let status = Status::deserialize(&answer["status"]).map_err(malformed)?;
        if !status.authenticated {
            // The reason is only logged; the client always gets 401.
            if !status.error.is_empty() {
                tracing::debug!(problem = status.error, "token refused");
            }
            return Ok(None);
        }
        if status.user.username.is_empty() {
            return Err(DelegationError::NoUser);
        }
        Ok(Some(UserInfo {
            name: status.user.username,
            uid: status.user.uid,
            groups: status.user.groups,
            extra: status.user.extra,
        }))
    }
}

/// Creates the TokenReview of a token.
fn token_review(token: &str) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}})
}

#[async_trait]
impl TokenAuthenticator for TokenReviews {
    async fn authenticate(&self, token: &str) -> Result<Option<UserInfo>, DelegationError> {
        let mut digest = Sha256::new();
        digest.update(self.salt.as_bytes());
        digest.update(token);
        let cache_time = |_: &Option<UserInfo>| self.cache_time;
        self.answers
            .get(digest.finalize().into(), cache_time, self.ask(token))
            .await
    }
}

#[cfg(test)]
mod tests;
