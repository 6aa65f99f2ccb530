//! Waiting for a server that is busy, or not ready yet: after 429 and 503 nothing was done.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// First pause between two tries where the server names none.
const FIRST: Duration = Duration::from_millis(100);
/// Longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(5);

/// Patience with one server, which all clones of a client share.
#[derive(Clone)]
pub(crate) struct Patience {
    limit: Duration,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Since when the server answers nothing else.
    since: Option<Instant>,
    /// Newest reason that was reported.
    told: String,
    /// Whether the limit was reached.
    is_over: bool,
}

/// Next step after a refusal.
pub(crate) enum NextStep {
    /// There is no reason to wait: the refusal is the answer.
    Answer,
    /// Another try after this pause.
    Again(Duration),
    /// No more tries, of this request and of all later ones.
    GiveUp(Error),
}

impl Patience {
    /// Patience for `limit`. It calls `tell` with each new reason to wait.
    pub(crate) fn new(limit: Duration, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            limit,
            tell: Arc::new(tell),
            state: Arc::default(),
        }
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// After any other answer, waiting starts over.
    pub(crate) fn answered(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.since = None;
        state.told.clear();
    }

    /// Judges a refusal of try number `tried`, from 0, of a request that was `begun` then; `after` is the
    /// pause that the server asks for.
    pub(crate) fn next(
        &self,
        code: u16,
        message: &str,
        begun: Instant,
        tried: u32,
        after: Option<Duration>,
    ) -> NextStep {
        if self.limit.is_zero() || !matches!(code, 429 | 503) {
            return NextStep::Answer;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *state.since.get_or_insert_with(Instant::now);
        // Answers of other kinds may come in between.
        let waited = since.elapsed().max(begun.elapsed());
        if state.is_over || waited >= self.limit {
            state.is_over = true;
            return NextStep::GiveUp(Error::NotReady {
                limit: self.limit,
                message: message.to_owned(),
            });
        }
        if state.told != message {
            message.clone_into(&mut state.told);
            (self.tell)(message);
        }
        let own = FIRST
            .saturating_mul(2u32.saturating_pow(tried.min(10)))
            .min(LONGEST);
        let left = self.limit.saturating_sub(waited);
        NextStep::Again(after.filter(|after| !after.is_zero()).unwrap_or(own).min(left))
    }
}

#[cfg(test)]
mod tests;
