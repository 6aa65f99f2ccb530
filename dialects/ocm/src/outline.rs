//! All that scores of one cluster depend on of others, in a few numbers.

/// Least and most of what the clusters that fit report of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Range {
    /// The range of nothing.
    pub const NONE: Self = Self {
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
    };

    /// The range of `amounts`; those that are not a number are not reported.
    pub(crate) fn of(amounts: impl Iterator<Item = f64>) -> Self {
        let reported = amounts.filter(|amount| !amount.is_nan());
        reported.fold(Self::NONE, |range, amount| Self {
            least: range.least.min(amount),
            most: range.most.max(amount),
        })
    }

    fn merge(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// All that scores of one cluster depend on of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// Number of clusters that fit.
    pub fitting: usize,
    /// Their allocatable CPU, in cores.
    pub cpu: Range,
    /// Their allocatable memory, in bytes.
    pub memory: Range,
}

impl Outline {
    /// The outline of no clusters.
    pub const NONE: Self = Self {
        fitting: 0,
        cpu: Range::NONE,
        memory: Range::NONE,
    };

    /// The outline of the clusters of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            fitting: self.fitting + other.fitting,
            cpu: self.cpu.merge(other.cpu),
            memory: self.memory.merge(other.memory),
        }
    }
}
