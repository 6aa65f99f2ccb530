//! Details of a decision of this system beyond the report of every dialect.

use crate::condition::ScheduledCondition;
use crate::select::Choice;
use std::sync::Arc;

/// Details for the words and writes of a decision, in addition to its indices.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// The annotation to write; `None` leaves it.
    pub(crate) annotation: Option<String>,
    /// New content of the condition; `None` leaves it.
    pub(crate) condition: Option<ScheduledCondition>,
    /// The locations of the scope; empty for any location, or without a search.
    pub(crate) locations: Vec<Arc<str>>,
    /// The locations that got none.
    pub(crate) unmet: Vec<Arc<str>>,
    /// The locations of the chosen clusters.
    pub(crate) chosen_in: Vec<Choice>,
    /// Whether nothing new was wanted.
    pub(crate) settled: bool,
    /// Whether the caller named the clusters.
    pub(crate) asked: bool,
}
