//! Evaluation of a checked expression.

use std::any::Any;
use std::sync::Arc;

use crate::error::Error;
use crate::evaluate::{Evaluator, Lazy};
use crate::meter::Meter;
use crate::program::Program;
use crate::value::Value;

/// Result of an evaluation.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or the reason why there is none.
    pub value: Result<Value<'a>, Error>,
    /// Cost of the evaluation.
    pub cost: u64,
}

impl Program {
    /// Evaluates the expression with `variables` in the order of their declaration, at a cost of at most
    /// `limit`.
    #[must_use]
    pub fn evaluate<'a>(&'a self, variables: &'a [Value<'a>], limit: u64) -> Evaluation<'a> {
        self.run(variables, self.meter(limit), None)
    }

    /// Evaluates the expression with `lazy` variables after the others, and with the answers of access
    /// reviews.
    #[must_use]
    pub fn evaluate_with<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        limit: u64,
        lazy: &Lazy<'a>,
    ) -> Evaluation<'a> {
        let meter = self.meter(limit).with_decisions(Arc::clone(lazy.decisions()));
        self.run(variables, meter, Some(lazy))
    }

    /// Evaluates the expression like [`Self::evaluate`], with data `beside` for the caller's own functions
    /// ([`Meter::beside`]).
    #[must_use]
    pub fn evaluate_beside<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        limit: u64,
        beside: Arc<dyn Any + Send + Sync>,
    ) -> Evaluation<'a> {
        self.run(variables, self.meter(limit).with_beside(beside), None)
    }

    fn meter(&self, limit: u64) -> Meter {
        Meter::new(limit, Arc::clone(&self.patterns), self.utc)
    }

    fn run<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        meter: Meter,
        lazy: Option<&Lazy<'a>>,
    ) -> Evaluation<'a> {
        let mut evaluator = Evaluator::new(variables, meter, lazy);
        let value = evaluator.value(&self.root);
        Evaluation {
            value,
            cost: evaluator.cost(),
        }
    }
}
