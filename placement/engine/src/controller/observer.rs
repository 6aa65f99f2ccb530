//! Observers of controllers' work: for metrics, and for tests that count.

use std::time::Duration;

use berth_apimachinery::Key;
use berth_dialect_contract::Outcome;

use crate::bound::BindError;

/// One finished attempt to decide a demand and to write the decision.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The dialect.
    pub dialect: &'static str,
    /// The demand.
    pub demand: &'a Key,
    /// Outcome of the decision, or the reason why it was not made or not written.
    pub result: Result<Outcome, &'a BindError>,
    /// Time taken by deciding and writing.
    pub took: Duration,
}

/// Outcome of one step of a reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The step is written.
    Written,
    /// Nothing had to be written.
    Unchanged,
    /// Others were faster; it is tried again.
    Conflict,
    /// It was refused, or the world was unavailable; it is tried again.
    Failed,
}

impl StepResult {
    /// The token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Written => "Written",
            Self::Unchanged => "Unchanged",
            Self::Conflict => "Conflict",
            Self::Failed => "Error",
        }
    }
}

/// One finished step of a reconciler.
#[derive(Clone, Copy, Debug)]
pub struct FinishedStep<'a> {
    /// The reconciler's dialect.
    pub dialect: &'static str,
    /// The reconciler's name.
    pub controller: &'static str,
    /// Key of the object.
    pub key: &'a Key,
    /// Outcome.
    pub result: StepResult,
    /// Time for reading and writing.
    pub took: Duration,
}

/// Follows the controllers. A queue is named after its dialect, a reconciler's after the reconciler. Called
/// on their tasks: must not block.
pub trait Observer: Send + Sync + 'static {
    /// A demand of `dialect` was put in the queue, which has `depth` of them now.
    fn queued(&self, dialect: &'static str, depth: usize);

    /// A demand was taken from the queue after `waited`; `depth` are left.
    fn taken(&self, dialect: &'static str, depth: usize, waited: Duration);

    /// A decision was made, or failed.
    fn attempted(&self, attempt: &Attempt<'_>);

    /// A demand of `dialect` that another scheduler decides is left to it.
    fn left(&self, _dialect: &'static str, _demand: &Key) {}

    /// A demand is tried again after a failure, or because it found no place.
    fn retried(&self, dialect: &'static str);

    /// A reconciler took a step, or failed to.
    fn stepped(&self, _stepped: &FinishedStep<'_>) {}

    /// Whether these controllers are the ones that work.
    fn leading(&self, is_leading: bool);
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn queued(&self, _: &'static str, _: usize) {}
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, _: &Attempt<'_>) {}
    fn retried(&self, _: &'static str) {}
    fn leading(&self, _: bool) {}
}
