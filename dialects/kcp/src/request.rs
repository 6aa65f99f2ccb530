//! One request to the fleet: the rows in one list, and the data of a namespace's request.

use berth_apimachinery::Timestamp;
use berth_scheduling::Ix;

use crate::code::Code;
use crate::fleet::Row;

/// The workload clusters, with the data of one namespace's request.
pub(crate) struct Request<'a> {
    /// The candidates, by index.
    pub(crate) rows: Vec<&'a Row>,
    /// The refusal of each set of locations, by number.
    pub(crate) sets: Vec<Option<Code>>,
    /// The clusters that the namespace is leaving, ascending.
    pub(crate) leaving: Vec<Ix>,
    /// The instant of the decision.
    pub(crate) now: Timestamp,
}

impl Request<'_> {
    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        self.rows[candidate as usize]
    }
}
