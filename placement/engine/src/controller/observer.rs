//! Observers of the work of controllers, for metrics and tests.

use std::time::Duration;

use berth_apimachinery::Key;
use berth_dialect_contract::Outcome;

use crate::bound::BindError;

/// A finished attempt to decide a demand and to write the decision.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The name of the dialect.
    pub dialect: &'static str,
    /// Key of the demand.
    pub demand: &'a Key,
    /// Outcome of the decision; or the reason why there is no decision, or the decision was not written.
    pub result: Result<Outcome, &'a BindError>,
    /// Duration of the decision and the write.
    pub took: Duration,
}

/// Outcome of one step of a reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The step is written.
    Written,
    /// The step had nothing to write.
    Unchanged,
    /// Another client changed an object in between. The step is tried again.
    Conflict,
    /// A write was refused, or the engine could not decide yet. The step is tried again.
    Failed,
}

impl StepResult {
    /// Returns the text of the result in metrics.
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

/// A finished step of a reconciler.
#[derive(Clone, Copy, Debug)]
pub struct FinishedStep<'a> {
    /// The name of the reconciler's dialect.
    pub dialect: &'static str,
    /// The name of the reconciler.
    pub controller: &'static str,
    /// Key of the object of the step.
    pub key: &'a Key,
    /// Outcome of the step.
    pub result: StepResult,
    /// Duration of the step, with reads and writes.
    pub took: Duration,
}

/// Observer of the controllers. The queue of a dialect's controller has the name of the dialect, and the
/// queue of a reconciler has the name of the reconciler. Methods are called on the tasks of the controllers,
/// and must not block.
pub trait Observer: Send + Sync + 'static {
    /// Called when a key was added to `queue`, or the queue was cleared; `depth` keys are now in the queue.
    fn queued(&self, queue: &'static str, depth: usize);

    /// Called when a key was taken from `queue` after the time `waited`; `depth` keys remain.
    fn taken(&self, queue: &'static str, depth: usize, waited: Duration);

    /// Called after each attempt to decide a demand and to write the decision.
    fn attempted(&self, attempt: &Attempt<'_>);

    /// Called when a demand of `dialect` was skipped, since another scheduler decides it.
    fn skipped(&self, _dialect: &'static str, _demand: &Key) {}

    /// Called when a key of `queue` will be tried again, after a failure or since a demand found no place.
    fn retried(&self, queue: &'static str);

    /// Called after each step of a reconciler.
    fn stepped(&self, _stepped: &FinishedStep<'_>) {}

    /// Called when this replica became the leader, or is no longer the leader.
    fn leading(&self, is_leading: bool);
}

/// Observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoopObserver;

impl Observer for NoopObserver {
    fn queued(&self, _: &'static str, _: usize) {}
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, _: &Attempt<'_>) {}
    fn retried(&self, _: &'static str) {}
    fn leading(&self, _: bool) {}
}
