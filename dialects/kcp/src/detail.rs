//! The part of a decision that only kcp has.

use crate::condition::ScheduledCondition;
use crate::select::Choice;
use std::sync::Arc;

/// Data for the sentences and writes of a decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// The placement annotation to write; `None` leaves the annotation unchanged.
    pub(crate) annotation: Option<String>,
    /// The new content of the condition NamespaceScheduled; `None` leaves the condition unchanged.
    pub(crate) condition: Option<ScheduledCondition>,
    /// The locations that need a new cluster; empty if any location will do, or no cluster is needed.
    pub(crate) locations: Vec<Arc<str>>,
    /// The locations in `locations` for which no cluster was found.
    pub(crate) unmet: Vec<Arc<str>>,
    /// The newly chosen clusters, each with its location.
    pub(crate) chosen_in: Vec<Choice>,
    /// Whether the namespace needs no new cluster.
    pub(crate) settled: bool,
    /// Whether the caller chose the clusters.
    pub(crate) is_chosen: bool,
}
