//! Faults of plans and simulations: problems of the input, and faults of a dialect.

use std::fmt;

use berth_apimachinery::{FieldError, Key};

/// Something wrong with the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// State after; empty for the input as a whole.
    pub at: String,
    /// Problem, with its field path.
    pub error: FieldError,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            return write!(f, "{}", self.error);
        }
        write!(f, "{}: {}", self.at, self.error)
    }
}

/// A dialect broke its contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{demand}: {problem}")]
pub struct Fault {
    /// The demand that was decided.
    pub demand: Key,
    /// Problems.
    pub problem: String,
}

impl Fault {
    pub(crate) fn new(demand: &Key, problem: String) -> Self {
        Self {
            demand: demand.clone(),
            problem,
        }
    }
}
