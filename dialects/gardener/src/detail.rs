//! The part of a decision that only Gardener has.

use crate::request::EffectiveStrategy;

/// The smallest distance among the feasible seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MinimumDistance {
    /// The smallest distance by the names of regions; `None` if all seeds are too far away.
    ByName(Option<u32>),
    /// The smallest distance by a ConfigMap.
    ByConfigMap(i64),
}

impl MinimumDistance {
    /// The smallest distance as a number; `None` if all seeds are too far away.
    pub(crate) fn value(self) -> Option<i64> {
        match self {
            Self::ByName(distance) => distance.map(i64::from),
            Self::ByConfigMap(distance) => Some(distance),
        }
    }
}

/// Facts of one decision for its sentences, in addition to [`Decision`](berth_dialect_contract::Decision).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// The strategy that determined the candidates; `None` if the pipeline did not run.
    pub(crate) strategy: Option<EffectiveStrategy>,
    /// The smallest distance among the feasible seeds; `None` if the rule does not compare distances.
    pub(crate) minimum: Option<MinimumDistance>,
    /// Whether the caller chose the seed.
    pub(crate) chosen: bool,
}
