//! Meter of the cost of an evaluation.
//!
//! The units are the same as in cel-go and Kubernetes: 1 for a variable, a field or a call, 10 for a list, 30
//! for a map, 1 for ten bytes of text that are read or created. The cost is at least a quarter of the number
//! of steps, since operations without a cost in cel-go (constants, `&&`, `||`) take time as well.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::pattern::Pattern;
use crate::review::{Decision, Decisions, Review};

/// Number of steps that cost one unit.
const STEPS_PER_UNIT: u64 = 4;

/// Meter of the cost of one evaluation, which fails when the cost exceeds its limit.
pub struct Meter {
    spent: u64,
    steps: u64,
    limit: u64,
    /// Literal patterns of the expression, compiled with it.
    literals: Arc<HashMap<String, Arc<Pattern>>>,
    /// Other patterns, compiled during the evaluation.
    dynamic: HashMap<String, Arc<Pattern>>,
    /// Whether timestamps are converted to UTC, regardless of their own offset.
    utc: bool,
    /// Answers of the access reviews made so far.
    decisions: Arc<Decisions>,
    /// Data for the functions of the caller.
    caller_data: Option<Arc<dyn Any + Send + Sync>>,
}

impl Meter {
    pub(crate) fn new(limit: u64, literals: Arc<HashMap<String, Arc<Pattern>>>, utc: bool) -> Self {
        Self {
            spent: 0,
            steps: 0,
            limit,
            literals,
            dynamic: HashMap::new(),
            utc,
            decisions: Arc::default(),
            caller_data: None,
        }
    }

    /// Returns the meter with data for the functions of the caller.
    pub(crate) fn with_caller_data(self, data: Arc<dyn Any + Send + Sync>) -> Self {
        Self {
            caller_data: Some(data),
            ..self
        }
    }

    /// Returns the data of [`Program::evaluate_with_data`](crate::Program::evaluate_with_data), if they are a
    /// `T`.
    #[must_use]
    pub fn caller_data<T: 'static>(&self) -> Option<&T> {
        self.caller_data.as_deref()?.downcast_ref()
    }

    /// Returns the meter with the answers of access reviews.
    pub(crate) fn with_decisions(self, decisions: Arc<Decisions>) -> Self {
        Self { decisions, ..self }
    }

    /// Returns the answer of `review`.
    ///
    /// # Errors
    /// [`Error::PendingReview`] when the review was not made.
    pub(crate) fn decision(&self, review: Review) -> Result<Arc<Decision>, Error> {
        match self.decisions.get(&review) {
            Some(decision) => Ok(Arc::clone(decision)),
            None => Err(Error::PendingReview(Box::new(review))),
        }
    }

    /// Whether timestamps are converted to UTC.
    pub(crate) fn uses_utc(&self) -> bool {
        self.utc
    }

    /// Returns the cost so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.max(self.steps / STEPS_PER_UNIT)
    }

    /// Adds `cost` to the cost so far.
    ///
    /// # Errors
    /// When the cost exceeds its limit.
    pub fn charge(&mut self, cost: usize) -> Result<(), Error> {
        self.spent = self.spent.saturating_add(cost as u64);
        self.check(self.spent)
    }

    /// Adds the cost of reading or creating `count` bytes.
    ///
    /// # Errors
    /// When the cost exceeds its limit.
    pub fn charge_bytes(&mut self, count: usize) -> Result<(), Error> {
        self.charge(count.div_ceil(10))
    }

    /// Counts one step of the evaluation.
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        self.check(self.steps / STEPS_PER_UNIT)
    }

    fn check(&self, spent: u64) -> Result<(), Error> {
        if spent > self.limit {
            return Err(Error::Cost { limit: self.limit });
        }
        Ok(())
    }

    /// Returns the compiled `pattern`. The first compilation of a pattern that is not a literal is charged.
    pub(crate) fn pattern(&mut self, pattern: &str) -> Result<Arc<Pattern>, Error> {
        if let Some(found) = self.literals.get(pattern).or_else(|| self.dynamic.get(pattern)) {
            return Ok(Arc::clone(found));
        }
        self.charge(500 + pattern.len())?;
        let compiled = Arc::new(Pattern::compile(pattern).map_err(Error::Failed)?);
        self.charge(10 * compiled.weight())?;
        self.dynamic.insert(pattern.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }
}
