//! A summary of the fitting clusters of a fleet: the few numbers on which the score of a single cluster
//! depends.

/// The smallest and the largest amount of a resource that the fitting clusters report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest amount.
    pub least: f64,
    /// The largest amount.
    pub most: f64,
}

impl Range {
    /// The range of an empty set of amounts.
    pub const NONE: Self = Self {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    /// The range of `amounts`. An amount that is NaN is not reported, and is ignored.
    pub(crate) fn of(amounts: impl Iterator<Item = f64>) -> Self {
        let reported = amounts.filter(|amount| !amount.is_nan());
        reported.fold(Self::NONE, |range, amount| Self {
            least: range.least.min(amount),
            most: range.most.max(amount),
        })
    }

    /// The range of the amounts in either range.
    fn merge(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// A summary of the fitting clusters of a fleet. The score of a single cluster depends on other clusters only
/// through these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// Number of clusters that fit.
    pub fitting: usize,
    /// Allocatable CPU of the fitting clusters, in cores.
    pub cpu: Range,
    /// Allocatable memory of the fitting clusters, in bytes.
    pub memory: Range,
}

impl Outline {
    /// The outline of an empty set of clusters.
    pub const NONE: Self = Self {
        fitting: 0,
        cpu: Range::NONE,
        memory: Range::NONE,
    };

    /// Merges the outlines of two disjoint parts of a fleet.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            fitting: self.fitting + other.fitting,
            cpu: self.cpu.merge(other.cpu),
            memory: self.memory.merge(other.memory),
        }
    }
}
