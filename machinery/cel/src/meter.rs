//! Meter of the cost of an evaluation so far.
//!
//! The units are those of cel-go and Kubernetes: 1 for a variable, a field or a call, 10 for a list, 30
//! for a map, 1 for ten bytes of text that are read or made. In addition every step counts, since
//! operations without a cost upstream (constants, `&&`, `||`) take time as well.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Error;
use crate::pattern::Pattern;
use crate::review::{Decision, Decisions, Review};

/// Number of steps for one unit of cost.
const STEPS: u64 = 4;

/// Counts cost, and ends evaluations that cost too much.
pub struct Meter {
    spent: u64,
    steps: u64,
    limit: u64,
    /// Patterns that are literals of the expression, compiled with it.
    known: Arc<HashMap<String, Arc<Pattern>>>,
    /// Patterns met on the way.
    met: HashMap<String, Arc<Pattern>>,
    /// Whether moments are considered in UTC, wherever they were written.
    utc: bool,
    /// The access reviews made so far.
    decisions: Arc<Decisions>,
    /// Data for the caller's own functions.
    beside: Option<Arc<dyn Any + Send + Sync>>,
}

impl Meter {
    pub(crate) fn new(limit: u64, known: Arc<HashMap<String, Arc<Pattern>>>, utc: bool) -> Self {
        Self {
            spent: 0,
            steps: 0,
            limit,
            known,
            met: HashMap::new(),
            utc,
            decisions: Arc::default(),
            beside: None,
        }
    }

    /// Returns the meter with the data of the caller's own functions.
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

    /// Returns the meter with the outcomes of access reviews.
    pub(crate) fn with_decisions(self, decisions: Arc<Decisions>) -> Self {
        Self { decisions, ..self }
    }

    /// Returns the outcome of `review`.
    ///
    /// # Errors
    /// [`Error::Unasked`] when it was not made.
    pub(crate) fn decision(&self, review: Review) -> Result<Arc<Decision>, Error> {
        match self.decisions.get(&review) {
            Some(decision) => Ok(Arc::clone(decision)),
            None => Err(Error::Unasked(Box::new(review))),
        }
    }

    /// Whether moments are considered in UTC.
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
    /// When more was spent than may be.
    pub fn charge(&mut self, cost: usize) -> Result<(), Error> {
        self.spent = self.spent.saturating_add(cost as u64);
        self.check(self.spent)
    }

    /// Spends the cost of reading or making `count` bytes.
    ///
    /// # Errors
    /// When more was spent than may be.
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

    /// The compiled `pattern`. One that is made by the expression costs its compilation.
    pub(crate) fn pattern(&mut self, pattern: &str) -> Result<Arc<Pattern>, Error> {
        if let Some(found) = self.known.get(pattern).or_else(|| self.met.get(pattern)) {
            return Ok(Arc::clone(found));
        }
        self.charge(500 + pattern.len())?;
        let compiled = Arc::new(Pattern::compile(pattern).map_err(Error::Failed)?);
        self.charge(10 * compiled.weight())?;
        self.met.insert(pattern.to_owned(), Arc::clone(&compiled));
        Ok(compiled)
    }
}
