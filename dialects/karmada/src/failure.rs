//! Reasons why a binding is not scheduled. Each reason is about the whole decision; the filters have the
//! reasons about single clusters.

/// Reason why a binding is not scheduled, or not on one group of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Every cluster is refused, or there are no clusters.
    NoClusterFit,
    /// The selected clusters have too little room.
    NotEnoughRoom {
        /// Number of replicas to place.
        wanted: i64,
        /// Number of replicas for which there is room.
        available: i64,
    },
    /// Fewer clusters fit than `minGroups` of the spread constraint by cluster requires.
    TooFewClusters {
        /// Number of clusters that fit.
        feasible: usize,
        /// Number of required clusters.
        wanted: i64,
    },
    /// No choice of as many clusters as `maxGroups` allows has enough room.
    NoRoomWithin {
        /// Number of clusters in a choice.
        clusters: usize,
        /// Number of requested replicas.
        wanted: i64,
        /// Room of the best choice, in replicas.
        available: i64,
    },
    /// A spread constraint has no `maxGroups`, which counts as zero.
    NoMaxGroups {
        /// The field by which the constraint spreads: cluster or region.
        field: &'static str,
    },
    /// The clusters that fit are in fewer regions than `minGroups` of the spread constraint by region
    /// requires.
    TooFewRegions {
        /// Number of regions with a cluster that fits.
        feasible: usize,
        /// Number of required regions.
        wanted: i64,
    },
    /// No choice of regions has as many clusters as the spread constraint by cluster requires.
    NoRegions {
        /// Number of required clusters.
        wanted: i64,
    },
    /// The regions have more combinations than a decision tries.
    TooManyRegions,
    /// No spread constraint is by cluster or region. Constraints by zone, provider or label select no
    /// clusters.
    UnsupportedSpread,
    /// The strategy of the division is unknown.
    UnsupportedStrategy,
    /// A quota of the namespace would be exceeded.
    QuotaExceeded,
}

impl Failure {
    /// The reason of the condition Scheduled, as Karmada writes it.
    pub(crate) const fn condition_reason(self) -> &'static str {
        match self {
            Self::NoClusterFit => "NoClusterFit",
            Self::NotEnoughRoom { .. } => "Unschedulable",
            Self::QuotaExceeded => "QuotaExceeded",
            _ => "SchedulerError",
        }
    }

    /// The reason token of the failure (docs/reference.md, "Reason tokens").
    pub(crate) const fn token(self) -> &'static str {
        match self {
            Self::NoClusterFit => "NoClusterFit",
            Self::NotEnoughRoom { .. } => "NotEnoughRoom",
            Self::TooFewClusters { .. } => "TooFewClusters",
            Self::NoRoomWithin { .. } => "NoRoomWithinMaxGroups",
            Self::NoMaxGroups { .. } => "NoMaxGroups",
            Self::TooFewRegions { .. } => "TooFewRegions",
            Self::NoRegions { .. } => "NoRegions",
            Self::TooManyRegions => "TooManyRegions",
            Self::UnsupportedSpread => "UnsupportedSpread",
            Self::UnsupportedStrategy => "UnsupportedStrategy",
            Self::QuotaExceeded => "QuotaExceeded",
        }
    }
}
