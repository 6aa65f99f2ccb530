//! The result of selecting clusters for a placement: kept bindings, picked clusters, and the reasons against
//! all other clusters.

use std::sync::Arc;

use berth_dialect_columns::Bits;
use berth_scheduling::{Ix, PipelineOutcome};

use crate::columns::Columns;
use crate::filters::spread::{DomainCounts, EmptiestDomain};
use crate::scores::{CandidateRank, RankCriterion};

/// The result of selecting clusters for a placement. A present binding is a binding by the current policy
/// snapshot ([`super::classify::Classes::present`]).
pub(super) struct Selection {
    /// The candidates of present bindings that stay.
    pub(super) kept: Vec<Ix>,
    /// The newly picked clusters in the order of their picks, with their scores at that time.
    pub(super) picks: Vec<CandidateRank>,
    /// The candidates of present bindings that are released, in the order of their writes.
    pub(super) released: Vec<Ix>,
    /// The names in a PickFixed policy for which no cluster exists, in the order of the policy.
    pub(super) unknown: Vec<Arc<str>>,
    /// All refusals, scores and ranks.
    pub(super) solved: PipelineOutcome,
    /// The kept and picked clusters in the order of the status. Stickiness does not affect this order: no
    /// object records it, and an interrupted decision must result in the same list as a complete one.
    pub(super) status_order: Vec<Ix>,
    /// The ranks of the feasible clusters that are neither kept nor picked; empty for PickFixed.
    pub(super) not_chosen: Vec<CandidateRank>,
    /// Numbers of clusters in domains, for refusals by constraints ([`crate::detail::Detail::skews`]).
    pub(super) skews: Vec<(Ix, DomainCounts)>,
    /// The emptiest domain of each constraint ([`crate::detail::Detail::emptiest`]).
    pub(super) emptiest: Vec<Option<EmptiestDomain>>,
    /// The scorers in use, the most important first.
    pub(super) scorers: Vec<RankCriterion>,
    /// The columns of the decided snapshot.
    pub(super) columns: Arc<Columns>,
    /// The kept and picked clusters.
    pub(super) chosen: Bits,
}

impl Selection {
    /// Whether `candidate` is kept or picked.
    pub(super) fn is_chosen(&self, candidate: Ix) -> bool {
        self.chosen.has(candidate)
    }

    /// The candidates that are kept although a filter refuses them now.
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
