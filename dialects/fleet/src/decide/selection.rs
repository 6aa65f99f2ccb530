//! A selection: kept bindings, picked clusters, and the reasons against the others.

use std::sync::Arc;

use berth_dialect_columns::Bits;
use berth_scheduling::{Ix, PipelineOutcome};

use crate::columns::Columns;
use crate::filters::spread::Emptiest;
use crate::scores::{CandidateRank, Ranking};

/// Kept bindings, picked clusters and released bindings.
pub(super) struct Selection {
    /// The candidates of present bindings that stay.
    pub(super) kept: Vec<Ix>,
    /// The newly picked clusters in the order of their picks, with their scores at that time.
    pub(super) picks: Vec<CandidateRank>,
    /// The candidates of present bindings that are released, in order.
    pub(super) released: Vec<Ix>,
    /// Named clusters that do not exist, in the order of the policy.
    pub(super) unknown: Vec<Arc<str>>,
    /// All refusals, scores and ranks.
    pub(super) solved: PipelineOutcome,
    /// Picked clusters in the order of the status. Stickiness does not affect this order: no object records
    /// it, and an interrupted decision must result in the same list as a complete one.
    pub(super) recorded: Vec<Ix>,
    /// The scores of feasible clusters that are not chosen, by candidate.
    pub(super) others: Vec<CandidateRank>,
    /// Counts for refusals by constraints ([`crate::detail::Detail::skews`]).
    pub(super) skews: Vec<(Ix, u32, u32)>,
    /// The emptiest domains ([`crate::detail::Detail::emptiest`]).
    pub(super) emptiest: Vec<Option<Emptiest>>,
    /// The scorers in use, the most important first.
    pub(super) scorers: Vec<Ranking>,
    /// The columns of the decided snapshot.
    pub(super) columns: Arc<Columns>,
    pub(super) chosen: Bits,
}

impl Selection {
    /// Whether `candidate` is kept or picked.
    pub(super) fn is_chosen(&self, candidate: Ix) -> bool {
        self.chosen.has(candidate)
    }

    /// Candidates that are kept although a filter refuses them now.
    pub(super) fn unfit(&self) -> Vec<Ix> {
        let fits = |candidate: &Ix| self.solved.feasible.binary_search(candidate).is_ok();
        let kept = self.kept.iter().copied();
        kept.filter(|candidate| !fits(candidate)).collect()
    }

    /// The name of a candidate.
    pub(super) fn name(&self, candidate: Ix) -> String {
        self.columns.row(candidate).name.to_string()
    }
}
