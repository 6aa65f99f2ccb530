//! The part of a decision that is Gardener's own.

use crate::request::Rule;

/// The smallest distance among the feasible seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Minimum {
    /// By the names of the regions; `None` where all are too far.
    Named(Option<u32>),
    /// By a ConfigMap.
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

/// Data for the words of a decision, in addition to its indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The rule that narrowed the candidates down; `None` when the pipeline never ran.
    pub(crate) rule: Option<Rule>,
    /// The smallest distance, where distances count.
    pub(crate) minimum: Option<Minimum>,
    /// Whether the caller chose the seed.
    pub(crate) chosen: bool,
}
