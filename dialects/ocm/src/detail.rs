//! The part of a decision that only OCM has.

use std::sync::Arc;

use berth_dialect_columns::Bits;

use crate::filters::FailingExpression;
use crate::plan::Plan;
use crate::policy::{Policy, Problem};
use crate::satisfied::SatisfiedCondition;

/// Data for messages, views and writes of a decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Reason why the placement is misconfigured; `None` if it is not.
    pub(crate) problem: Option<Problem>,
    /// The condition PlacementSatisfied; `None` if the placement was not judged.
    pub(crate) satisfied: Option<SatisfiedCondition>,
    /// The reason why no cluster or no further cluster fits, as a sentence; `None` if no cluster is missing.
    pub(crate) cause: Option<String>,
    /// The content of the PlacementDecisions; `None` if they are not written.
    pub(crate) plan: Option<Plan>,
    /// Whether the status of the placement changes.
    pub(crate) status_changes: bool,
    /// The policy by which clusters were judged; `None` if no cluster was judged.
    pub(crate) policy: Option<Arc<Policy>>,
    /// Number of clusters in the sets from which the placement chooses.
    pub(crate) in_scope: usize,
    /// The clusters that were selected before; `None` if no cluster was judged.
    pub(crate) held: Option<Bits>,
    /// The expressions that fail on candidate clusters.
    pub(crate) failing: Vec<FailingExpression>,
}
