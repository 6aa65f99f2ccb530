//! Retries while a server is busy or not ready yet: after 429 and 503, the request was not carried out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// First pause between two attempts if the server requests none.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause between two attempts if the server requests none.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Retry policy for one server, which all clones of a client share.
#[derive(Clone)]
pub(crate) struct RetryPolicy {
    limit: Duration,
    report: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<Mutex<State>>,
}

/// State of the retries of all requests.
#[derive(Default)]
struct State {
    /// Time since which the server has only refused requests.
    since: Option<Instant>,
    /// Last reported reason.
    last_reason: String,
    /// Whether the time limit was reached.
    is_over: bool,
}

/// Next step after an answer.
pub(crate) enum NextStep {
    /// The answer is returned, since there is no reason to wait.
    Answer,
    /// The request is sent again after this pause.
    Retry(Duration),
    /// The time limit is reached: neither this request nor a later request is retried.
    GiveUp(Error),
}

impl RetryPolicy {
    /// Creates a policy with the time limit `limit`. The policy calls `report` with each new reason to
    /// wait.
    pub(crate) fn new(limit: Duration, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            limit,
            report: Arc::new(report),
            state: Arc::default(),
        }
    }

    /// Whether the time limit was reached.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Restarts the time limit after an answer that does not ask the client to wait.
    pub(crate) fn restart(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.since = None;
        state.last_reason.clear();
    }

    /// Decides about a retry after a refusal with `code`, `message` and the pause `retry_after` that the
    /// server requests. The request began at `start`, and `attempt`, counted from 0, was refused.
    pub(crate) fn next_step(
        &self,
        code: u16,
        message: &str,
        start: Instant,
        attempt: u32,
        retry_after: Option<Duration>,
    ) -> NextStep {
        if self.limit.is_zero() || !matches!(code, 429 | 503) {
            return NextStep::Answer;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *state.since.get_or_insert_with(Instant::now);
        // Answers to other requests may have restarted the time limit.
        let waited = since.elapsed().max(start.elapsed());
        if state.is_over || waited >= self.limit {
            state.is_over = true;
            return NextStep::GiveUp(Error::NotReady {
                limit: self.limit,
                message: message.to_owned(),
            });
        }
        if state.last_reason != message {
            message.clone_into(&mut state.last_reason);
            (self.report)(message);
        }
        let default_pause = MIN_PAUSE
            .saturating_mul(2u32.saturating_pow(attempt.min(10)))
            .min(MAX_PAUSE);
        let left = self.limit.saturating_sub(waited);
        NextStep::Retry(
            retry_after
                .filter(|pause| !pause.is_zero())
                .unwrap_or(default_pause)
                .min(left),
        )
    }
}

#[cfg(test)]
mod tests;
