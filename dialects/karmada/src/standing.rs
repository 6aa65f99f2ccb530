//! A feasible cluster with its rank's data.

use std::cmp::Reverse;

use berth_scheduling::Ix;

/// A feasible cluster with its rank's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankedCluster {
    /// The candidate; numbers are in the order of names.
    pub(crate) candidate: Ix,
    /// 0 for the group's own clusters, then the number of its overflow.
    pub(crate) tier: u32,
    /// 100 where the template is there already, else 0.
    pub(crate) score: i64,
    /// Number of further replicas that fit.
    pub(crate) room: i64,
    /// Number of replicas it has.
    pub(crate) held: i64,
}

impl RankedCluster {
    /// Possible replicas: its present ones, and those that fit in addition.
    pub(crate) const fn available(&self) -> i64 {
        self.room.saturating_add(self.held)
    }

    /// Key of the ranking, best first: tier, score, room with the replicas it has, name.
    pub(crate) const fn rank(&self) -> (u32, Reverse<i64>, Reverse<i64>, Ix) {
        (
            self.tier,
            Reverse(self.score),
            Reverse(self.available()),
            self.candidate,
        )
    }
}

/// Sum of the replicas that all of `standings` may have.
pub(crate) fn available<'a>(standings: impl IntoIterator<Item = &'a RankedCluster>) -> i64 {
    standings
        .into_iter()
        .fold(0, |sum, standing| sum.saturating_add(standing.available()))
}
