//! Evaluation of programs, with a limited cost.

use std::any::Any;
use std::sync::Arc;

use crate::error::Error;
use crate::evaluate::{Evaluator, LazyVariables};
use crate::meter::Meter;
use crate::program::Program;
use crate::value::Value;

/// Result of an evaluation.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// Value of the expression, or the reason why it has none.
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

    /// Evaluates the expression with the variables of `lazy` after `variables`, and with the answers of
    /// access reviews in `lazy`.
    #[must_use]
    pub fn evaluate_with<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        limit: u64,
        lazy: &LazyVariables<'a>,
    ) -> Evaluation<'a> {
        let meter = self.meter(limit).with_decisions(Arc::clone(lazy.decisions()));
        self.run(variables, meter, Some(lazy))
    }

    /// Evaluates the expression like [`Self::evaluate`], with `data` for the functions of the caller
    /// ([`Meter::caller_data`]).
    #[must_use]
    pub fn evaluate_with_data<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        limit: u64,
        data: Arc<dyn Any + Send + Sync>,
    ) -> Evaluation<'a> {
        self.run(variables, self.meter(limit).with_caller_data(data), None)
    }

    fn meter(&self, limit: u64) -> Meter {
        Meter::new(limit, Arc::clone(&self.patterns), self.utc)
    }

    fn run<'a>(
        &'a self,
        variables: &'a [Value<'a>],
        meter: Meter,
        lazy: Option<&LazyVariables<'a>>,
    ) -> Evaluation<'a> {
        let mut evaluator = Evaluator::new(variables, meter, lazy);
        let value = evaluator.value(&self.root);
        Evaluation {
            value,
            cost: evaluator.cost(),
        }
    }
}
