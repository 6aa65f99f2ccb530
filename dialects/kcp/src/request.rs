//! The input of the filters: all workload clusters, and the request of one namespace.

use berth_apimachinery::Timestamp;
use berth_scheduling::Ix;

use crate::code::Code;
use crate::fleet::Row;

/// The workload clusters, and the request of one namespace.
pub(crate) struct Request<'a> {
    /// The workload clusters, by candidate.
    pub(crate) rows: Vec<&'a Row>,
    /// The refusal of each set of locations, by the number of the set; `None` if the set is not refused.
    pub(crate) sets: Vec<Option<Code>>,
    /// The clusters that the namespace is leaving, ascending.
    pub(crate) leaving: Vec<Ix>,
    /// The instant of the decision.
    pub(crate) now: Timestamp,
}

impl Request<'_> {
    /// The workload cluster of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        self.rows[candidate as usize]
    }
}
