//! What a decision of this system says beyond what every dialect reports.

use std::sync::Arc;

use dialect_columns::Bits;

use crate::filters::Failing;
use crate::plan::Plan;
use crate::policy::{Policy, Problem};
use crate::satisfied::Satisfied;

/// What the views and writes of a decision need beyond the decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Why the placement is misconfigured.
    pub(crate) problem: Option<Problem>,
    /// The condition PlacementSatisfied; `None` where the placement was not judged.
    pub(crate) satisfied: Option<Satisfied>,
    /// What the objects will say; `None` where they stay.
    pub(crate) plan: Option<Plan>,
    /// Whether the status of the placement changes.
    pub(crate) status_changes: bool,
    /// What the clusters were judged by; `None` where none was.
    pub(crate) policy: Option<Arc<Policy>>,
    /// How many clusters the sets offer.
    pub(crate) in_scope: usize,
    /// The clusters that were selected before.
    pub(crate) held: Option<Bits>,
    /// The expressions that fail on clusters to choose from.
    pub(crate) failing: Vec<Failing>,
}
