//! Errors of plans and simulations: problems of the input, and faults of a dialect.

use std::fmt;

use berth_apimachinery::{FieldError, Key};

/// A problem of the input of a plan or simulation.
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

/// Failure of a decision: the dialect broke its contract, or the result is no longer needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{demand}: {problem}")]
pub struct Fault {
    /// The demand on which the decision failed.
    pub demand: Key,
    /// The broken part of the contract, or the reason why the work ended early.
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
