//! The part of a decision that only KubeFleet has.

use crate::filters::spread::Emptiest;
use crate::fleet::record::BindingRecord;
use crate::plan::Plan;
use crate::satisfied::PolicyFulfilment;
use berth_scheduling::Ix;
use std::sync::Arc;

/// Facts that views and writes need beyond the decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Reason why the policy is malformed or cannot be applied.
    pub(crate) problem: Option<String>,
    /// The bindings of a placement that is being deleted.
    pub(crate) released: Option<Vec<Arc<BindingRecord>>>,
    /// Whether the policy is fulfilled; `None` where nothing was judged.
    pub(crate) satisfied: Option<PolicyFulfilment>,
    /// Planned content of the objects; `None` without a run of the pipeline.
    pub(crate) plan: Option<Plan>,
    /// Whether no cluster was picked because the requested number was already placed.
    pub(crate) filled: bool,
    /// Clusters that are kept although a filter refuses them now.
    pub(crate) unfit: Vec<Ix>,
    /// The emptiest domain of every constraint; `None` where there are no domains.
    pub(crate) emptiest: Vec<Option<Emptiest>>,
    /// Every candidate that a constraint refuses, in order, with the number of the placement's clusters in
    /// its domain and in the emptiest domain.
    pub(crate) skews: Vec<(Ix, u32, u32)>,
}
