//! What controllers tell of their work: for metrics, and for tests that count.

use std::time::Duration;

use dialect_contract::Outcome;
use meta::Key;

use crate::bind::BindError;

/// One finished attempt to decide a demand and write what was decided.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The dialect.
    pub dialect: &'static str,
    /// The demand.
    pub demand: &'a Key,
    /// How the decision ended, or why there is none or it could not be written.
    pub result: Result<Outcome, &'a BindError>,
    /// How long deciding and writing took.
    pub took: Duration,
}

/// Follows the controllers. Called on their tasks: must not block.
pub trait Observer: Send + Sync + 'static {
    /// A demand of `dialect` was put in the queue, which has `depth` of them now.
    fn queued(&self, dialect: &'static str, depth: usize);

    /// A demand was taken from the queue, where it stood for `waited`; `depth` are left.
    fn taken(&self, dialect: &'static str, depth: usize, waited: Duration);

    /// A decision was made, or failed.
    fn attempted(&self, attempt: &Attempt<'_>);

    /// A demand is tried again after a failure, or because it found no place.
    fn retried(&self, dialect: &'static str);

    /// Whether these controllers are the ones that work.
    fn leading(&self, is_leading: bool);
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn queued(&self, _: &'static str, _: usize) {}
    fn taken(&self, _: &'static str, _: usize, _: Duration) {}
    fn attempted(&self, _: &Attempt<'_>) {}
    fn retried(&self, _: &'static str) {}
    fn leading(&self, _: bool) {}
}
