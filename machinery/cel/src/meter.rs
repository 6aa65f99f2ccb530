//! Meter of the cost of an evaluation so far.
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
const STEPS: u64 = 4;

/// Meter that counts the cost, and ends evaluations that exceed their limit.
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
    /// Data for the caller's own functions.
    beside: Option<Arc<dyn Any + Send + Sync>>,
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
            beside: None,
        }
    }

    /// Returns the meter with data for the caller's own functions.
    pub(crate) fn with_beside(self, beside: Arc<dyn Any + Send + Sync>) -> Self {
        Self {
            beside: Some(beside),
            ..self
        }
    }

    /// Returns the data of [`Program::evaluate_beside`](crate::Program::evaluate_beside), if they are a
    /// `T`.
    #[must_use]
    pub fn beside<T: 'static>(&self) -> Option<&T> {
        self.beside.as_deref()?.downcast_ref()
    }

    /// Returns the meter with the answers of access reviews.
    pub(crate) fn with_decisions(self, decisions: Arc<Decisions>) -> Self {
        Self { decisions, ..self }
    }

    /// Returns the answer of `review`.
    ///
    /// # Errors
    /// [`Error::Unasked`] when the review was not made.
    pub(crate) fn decision(&self, review: Review) -> Result<Arc<Decision>, Error> {
        match self.decisions.get(&review) {
            Some(decision) => Ok(Arc::clone(decision)),
            None => Err(Error::Unasked(Box::new(review))),
        }
    }

    /// Whether timestamps are converted to UTC.
    pub(crate) fn utc(&self) -> bool {
        self.utc
    }

    /// Returns the cost so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.max(self.steps / STEPS)
    }

    /// Spends `cost`.
    ///
    /// # Errors
    /// When the cost exceeds its limit.
    pub fn charge(&mut self, cost: usize) -> Result<(), Error> {
        self.spent = self.spent.saturating_add(cost as u64);
        self.check(self.spent)
    }

    /// Spends the cost of reading or creating `count` bytes.
    ///
    /// # Errors
    /// When the cost exceeds its limit.
    pub fn bytes(&mut self, count: usize) -> Result<(), Error> {
        self.charge(count.div_ceil(10))
    }

    /// Counts a step.
    pub(crate) fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        self.check(self.steps / STEPS)
    }

    fn check(&self, spent: u64) -> Result<(), Error> {
        if spent > self.limit {
            return Err(Error::Cost { limit: self.limit });
        }
        Ok(())
    }

    /// Returns the compiled `pattern`. The first compilation of a pattern that is not a literal
    /// is charged.
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
