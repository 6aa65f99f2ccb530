//! Variables that are defined by expressions. A variable is evaluated on first use, and its value is cached.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::Outcome;
use crate::error::Error;
use crate::program::Program;
use crate::review::Decisions;
use crate::value::Value;

/// Highest number of variables in a chain in which each depends on the next, since the evaluation of each
/// uses the stack.
const MAX_CHAIN: usize = 32;

/// A variable that is defined by an expression.
#[derive(Debug)]
pub struct Variable {
    /// Name of the variable, without `variables.`.
    pub name: String,
    /// The expression, or the reason why it could not be compiled.
    pub program: Result<Program, String>,
}

/// Variables with cached values, for several evaluations with the same `globals`. A variable may use the
/// variables before it.
pub struct LazyVariables<'a> {
    variables: &'a [Variable],
    globals: &'a [Value<'a>],
    decisions: Arc<Decisions>,
    limit: u64,
    values: RefCell<Vec<Option<Outcome<'a>>>>,
    cost: Cell<u64>,
    depth: Cell<usize>,
}

impl<'a> LazyVariables<'a> {
    /// Creates the cache of `variables`, which are evaluated in the scope of `globals`, each at a cost of at
    /// most `limit`.
    #[must_use]
    pub fn new(
        variables: &'a [Variable],
        globals: &'a [Value<'a>],
        decisions: Arc<Decisions>,
        limit: u64,
    ) -> Self {
        Self {
            variables,
            globals,
            decisions,
            limit,
            values: RefCell::new(vec![None; variables.len()]),
            cost: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    /// Returns the cost of evaluating variables since the last call.
    #[must_use]
    pub fn take_cost(&self) -> u64 {
        self.cost.take()
    }

    pub(crate) fn decisions(&self) -> &Arc<Decisions> {
        &self.decisions
    }

    /// Returns the value of the variable at `index`, evaluated now or earlier.
    pub(super) fn value(&self, index: usize) -> Outcome<'a> {
        if let Some(Some(known)) = self.values.borrow().get(index) {
            return known.clone();
        }
        let Some(Variable { name, program }) = self.variables.get(index) else {
            return Err(Error::failed("no such attribute"));
        };
        let program = match program {
            Ok(program) => program,
            Err(problem) => {
                let text = format!("composited variable {name:?} fails to compile: {problem}");
                return Err(Error::failed(text));
            }
        };
        if self.depth.get() >= MAX_CHAIN {
            return Err(Error::failed(format!(
                "more than {MAX_CHAIN} variables depend on one another"
            )));
        }
        self.depth.set(self.depth.get() + 1);
        let evaluation = program.evaluate_with(self.globals, self.limit, self);
        self.depth.set(self.depth.get() - 1);
        let value = match evaluation.value {
            Err(Error::PendingReview(review)) => return Err(Error::PendingReview(review)),
            Err(Error::Failed(problem)) => Err(Error::failed(format!(
                "composited variable {name:?} fails to evaluate: {problem}"
            ))),
            other => other,
        };
        self.cost.set(self.cost.get().saturating_add(evaluation.cost));
        if let Some(known) = self.values.borrow_mut().get_mut(index) {
            *known = Some(value.clone());
        }
        value
    }
}
