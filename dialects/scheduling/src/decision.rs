//! Result of a pipeline run: every rejection, every score, the order and the pick.

use crate::candidate::Ix;
use crate::rejections::{Rejection, Rejections};

/// The values of one scorer, aligned with [`PipelineOutcome::feasible`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreColumn {
    /// The index of the scorer in the decision's list of scorers.
    pub plugin: u16,
    /// The weight by which the values are multiplied.
    pub weight: i64,
    /// One value per feasible candidate, in fleet order; `None` if the scorer has no value for the candidate,
    /// which counts as 0.
    pub values: Vec<Option<i64>>,
}

/// The outcome of a run over one fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineOutcome {
    /// Every refusal of every plugin, by candidate, then by plugin.
    pub rejections: Rejections,
    /// The feasible candidates, in fleet order.
    pub feasible: Vec<Ix>,
    /// The scores, aligned with `feasible`.
    pub scores: Vec<ScoreColumn>,
    /// The weighted totals, aligned with `feasible`; empty if the system does not add scores.
    pub totals: Vec<i64>,
    /// The feasible candidates, best first.
    pub ranked: Vec<Ix>,
    /// The picked candidates in rank order, including candidates that were picked before.
    pub picked: Vec<Ix>,
}

impl PipelineOutcome {
    /// The refusals of `candidate`, in pipeline order.
    #[must_use]
    pub fn rejections_of(&self, candidate: Ix) -> &[Rejection] {
        self.rejections.of_candidate(candidate)
    }

    /// The index of `candidate` in [`PipelineOutcome::feasible`]; `None` if it is not feasible.
    #[must_use]
    pub fn row_of(&self, candidate: Ix) -> Option<usize> {
        self.feasible.binary_search(&candidate).ok()
    }

    /// The weighted total of `candidate`; `None` if it is not feasible, or the system does not add scores.
    #[must_use]
    pub fn total_of(&self, candidate: Ix) -> Option<i64> {
        self.row_of(candidate)
            .and_then(|row| self.totals.get(row))
            .copied()
    }
}
