//! Retries while a server is busy, or not ready yet: 429 and 503 mean that nothing was done.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// First pause between two attempts if the server requests none.
const FIRST: Duration = Duration::from_millis(100);
/// Longest pause between two attempts if the server requests none.
const LONGEST: Duration = Duration::from_secs(5);

/// Retry policy for one server, which all clones of a client share.
#[derive(Clone)]
pub(crate) struct Patience {
    limit: Duration,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Start of the period in which the server only refuses.
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
    /// Retry after this pause.
    Again(Duration),
    /// No retries any more, neither of this request nor of later requests.
    GiveUp(Error),
}

impl Patience {
    /// Creates a policy with the time limit `limit`. It calls `tell` with each new reason to wait.
    pub(crate) fn new(limit: Duration, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            limit,
            tell: Arc::new(tell),
            state: Arc::default(),
        }
    }

    /// Whether the time limit was reached.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Restarts the time limit after an answer that does not ask the client to wait.
    pub(crate) fn answered(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.since = None;
        state.last_reason.clear();
    }

    /// Decides about a retry after a refusal of attempt `attempt`, counted from 0, of a request that began at
    /// `start`; `after` is the pause that the server requests.
    pub(crate) fn next(
        &self,
        code: u16,
        message: &str,
        start: Instant,
        attempt: u32,
        after: Option<Duration>,
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
            (self.tell)(message);
        }
        let default_pause = FIRST
            .saturating_mul(2u32.saturating_pow(attempt.min(10)))
            .min(LONGEST);
        let left = self.limit.saturating_sub(waited);
        NextStep::Again(
            after
                .filter(|after| !after.is_zero())
                .unwrap_or(default_pause)
                .min(left),
        )
    }
}

#[cfg(test)]
mod tests;
