//! A clock for tests.

use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;

/// A clock that stays at one instant until it is moved.
#[derive(Debug, Default)]
pub struct SteppedClock(Mutex<Timestamp>);

impl SteppedClock {
    /// Creates a clock at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves the clock by `duration`, back if it is negative.
    pub fn advance(&self, duration: SignedDuration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += duration;
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
