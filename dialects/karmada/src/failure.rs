//! Reason why a group of clusters has no room for the request. It is the decision's reason, and not one
//! of a single cluster.

/// Reason why a group of clusters has no room for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Every cluster is refused, or there are none.
    NoClusterFit,
    /// Room on the selected clusters is short.
    NotEnoughRoom {
        /// Replicas that are to be given.
        wanted: i64,
        /// Replicas that there is room for.
        available: i64,
    },
    /// Fewer clusters fit than the constraint asks for.
    TooFewClusters {
        /// Clusters that fit.
        feasible: usize,
        /// Clusters that it takes.
        wanted: i64,
    },
    /// No choice of so many clusters has the room.
    NoRoomWithin {
        /// Clusters that may be chosen.
        clusters: usize,
        /// Replicas that are wanted.
        wanted: i64,
        /// Room on the best choice.
        available: i64,
    },
    /// The constraint has no maxGroups, which counts as zero.
    NoMaxGroups,
    /// Clusters that fit are in fewer regions than the constraint asks for.
    TooFewRegions {
        /// Regions with a cluster that fits.
        feasible: usize,
        /// Regions that it takes.
        wanted: i64,
    },
    /// No choice of regions has enough clusters.
    NoRegions {
        /// Clusters that it takes.
        wanted: i64,
    },
    /// The regions have more combinations than a decision tries.
    TooManyRegions,
    /// Constraints by zone or provider alone, or by a label, select nothing.
    UnsupportedSpread,
    /// The way to divide is unknown.
    UnsupportedStrategy,
    /// A quota of the namespace has too little left.
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
