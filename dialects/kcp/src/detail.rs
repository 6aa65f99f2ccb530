//! The part of a decision that only kcp has.

use crate::condition::ScheduledCondition;
use crate::select::Choice;
use std::sync::Arc;

/// Data for the sentences and writes of a decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// The annotation to write; `None` leaves it unchanged.
    pub(crate) annotation: Option<String>,
    /// The new content of the condition; `None` leaves it unchanged.
    pub(crate) condition: Option<ScheduledCondition>,
    /// The locations of the scope; empty for any location, or without a search.
    pub(crate) locations: Vec<Arc<str>>,
    /// The locations without a cluster.
    pub(crate) unmet: Vec<Arc<str>>,
    /// The chosen clusters, each with its location.
    pub(crate) chosen_in: Vec<Choice>,
    /// Whether no further cluster was requested.
    pub(crate) settled: bool,
    /// Whether the caller chose the clusters.
    pub(crate) is_chosen: bool,
}
