//! The ranking of feasible clusters: by tier, score, room and name.

use std::cmp::Reverse;

use berth_scheduling::Ix;

/// A feasible cluster with the data for its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankedCluster {
    /// The candidate. Candidates are numbered in the order of names.
    pub(crate) candidate: Ix,
    /// 0 if the group's own affinity matches the cluster, or if there is no affinity; else the number of the
    /// matching overflow affinity, from 1.
    pub(crate) tier: u32,
    /// 100 if the cluster has the template already, else 0.
    pub(crate) score: i64,
    /// Number of further replicas that fit.
    pub(crate) room: i64,
    /// Number of replicas that the cluster has.
    pub(crate) held: i64,
}

impl RankedCluster {
    /// Number of replicas that the cluster can have: its present replicas, and further replicas that fit.
    pub(crate) const fn available(&self) -> i64 {
        self.room.saturating_add(self.held)
    }

    /// Sort key of the ranking, best first: tier, score, room including the present replicas, name.
    pub(crate) const fn rank(&self) -> (u32, Reverse<i64>, Reverse<i64>, Ix) {
        (
            self.tier,
            Reverse(self.score),
            Reverse(self.available()),
            self.candidate,
        )
    }
}

/// Number of replicas that all `clusters` together can have.
pub(crate) fn available<'a>(clusters: impl IntoIterator<Item = &'a RankedCluster>) -> i64 {
    clusters
        .into_iter()
        .fold(0, |sum, cluster| sum.saturating_add(cluster.available()))
}
