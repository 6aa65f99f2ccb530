//! Faults of plans and simulations: problems of the input, and faults of a dialect.

use std::fmt;

use berth_apimachinery::{FieldError, Key};

/// A problem of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Position in the input; empty for the input as a whole.
    pub at: String,
    /// The problem, with its field path.
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

/// A dialect broke its contract, or the result of a plan is no longer needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{demand}: {problem}")]
pub struct Fault {
    /// The demand that was decided.
    pub demand: Key,
    /// The broken part of the contract, or the reason why the plan ended.
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
