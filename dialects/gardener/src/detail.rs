//! The part of a decision that only Gardener has.

use crate::request::Rule;

/// The smallest distance among the feasible seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Minimum {
    /// The distance by the names of the regions; `None` where all seeds are too far away.
    Named(Option<u32>),
    /// The distance by a ConfigMap.
    Mapped(i64),
}

impl Minimum {
    /// The distance.
    pub(crate) fn value(self) -> Option<i64> {
        match self {
            Self::Named(distance) => distance.map(i64::from),
            Self::Mapped(distance) => Some(distance),
        }
    }
}

/// Data for the sentences of a decision that the decision itself does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The rule that determined the candidates; `None` if the pipeline did not run.
    pub(crate) rule: Option<Rule>,
    /// The smallest distance, where distances count.
    pub(crate) minimum: Option<Minimum>,
    /// Whether the caller chose the seed.
    pub(crate) chosen: bool,
}
