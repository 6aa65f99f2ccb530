//! Reasons why a binding is not scheduled. The reasons are about the decision, not about a single cluster.

/// Reason why a binding is not scheduled, or not on one group of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Every cluster is refused, or there are none.
    NoClusterFit,
    /// The selected clusters have too little room.
    NotEnoughRoom {
        /// Number of replicas to place.
        wanted: i64,
        /// Number of replicas for which there is room.
        available: i64,
    },
    /// Fewer clusters fit than the constraint requires.
    TooFewClusters {
        /// Number of clusters that fit.
        feasible: usize,
        /// Number of required clusters.
        wanted: i64,
    },
    /// No choice of this many clusters has enough room.
    NoRoomWithin {
        /// Number of clusters that may be chosen.
        clusters: usize,
        /// Number of requested replicas.
        wanted: i64,
        /// Room of the best choice, in replicas.
        available: i64,
    },
    /// The constraint has no maxGroups, which counts as zero.
    NoMaxGroups,
    /// The clusters that fit are in fewer regions than the constraint requires.
    TooFewRegions {
        /// Number of regions with a cluster that fits.
        feasible: usize,
        /// Number of required regions.
        wanted: i64,
    },
    /// No choice of regions has enough clusters.
    NoRegions {
        /// Number of required clusters.
        wanted: i64,
    },
    /// The regions have more combinations than a decision tries.
    TooManyRegions,
    /// The constraints are by zone or provider alone, or by a label, and select no clusters.
    UnsupportedSpread,
    /// The strategy of the division is unknown.
    UnsupportedStrategy,
    /// A quota of the namespace would be exceeded.
    QuotaExceeded,
}

impl Failure {
    /// The reason of the condition that Karmada writes.
    pub(crate) const fn condition(self) -> &'static str {
        match self {
            Self::NoClusterFit => "NoClusterFit",
            Self::NotEnoughRoom { .. } => "Unschedulable",
            Self::QuotaExceeded => "QuotaExceeded",
            _ => "SchedulerError",
        }
    }

    /// The token (docs/reference.md, "Reason tokens").
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::NoClusterFit => "NoClusterFit",
            Self::NotEnoughRoom { .. } => "NotEnoughRoom",
            Self::TooFewClusters { .. } => "TooFewClusters",
            Self::NoRoomWithin { .. } => "NoRoomWithinMaxGroups",
            Self::NoMaxGroups => "NoMaxGroups",
            Self::TooFewRegions { .. } => "TooFewRegions",
            Self::NoRegions { .. } => "NoRegions",
            Self::TooManyRegions => "TooManyRegions",
            Self::UnsupportedSpread => "UnsupportedSpread",
            Self::UnsupportedStrategy => "UnsupportedStrategy",
            Self::QuotaExceeded => "QuotaExceeded",
        }
    }
}
