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
    /// Outcome of the decision, or the reason why there is none or it is not written.
    pub result: Result<Outcome, &'a BindError>,
    /// Duration of the decision and the write.
    pub took: Duration,
}

/// Outcome of one step of a reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The step is written.
    Written,
    /// Nothing had to be written.
    Unchanged,
    /// Another client changed an object in between; the step is tried again.
    Conflict,
    /// A write was refused, or the world was unavailable; the step is tried again.
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
    /// Outcome of the step.
    pub result: StepResult,
    /// Duration of the step, with reads and writes.
    pub took: Duration,
}

/// Observer of the controllers. The queue of a controller has the name of its dialect, and the queue of a
/// reconciler has the name of the reconciler. Methods are called on the tasks of the controllers, and must
/// not block.
pub trait Observer: Send + Sync + 'static {
    /// A key was put in the queue named `dialect`, or the queue was cleared; it now has `depth` keys.
    fn queued(&self, dialect: &'static str, depth: usize);

    /// A key was taken from the queue after `waited`; `depth` keys remain.
    fn taken(&self, dialect: &'static str, depth: usize, waited: Duration);

    /// A decision was made, or failed.
    fn attempted(&self, attempt: &Attempt<'_>);

    /// A demand of `dialect` was left to the other scheduler, which decides it.
    fn left(&self, _dialect: &'static str, _demand: &Key) {}

    /// A key will be tried again after a failure, or because a demand found no place.
    fn retried(&self, dialect: &'static str);

    /// A step of a reconciler succeeded or failed.
    fn stepped(&self, _stepped: &FinishedStep<'_>) {}

    /// This replica became the leader, or is the leader no longer.
    fn leading(&self, is_leading: bool);
}

/// Observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn queued(&self, _: &'static str, _: usize) {}
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, _: &Attempt<'_>) {}
    fn retried(&self, _: &'static str) {}
    fn leading(&self, _: bool) {}
}
