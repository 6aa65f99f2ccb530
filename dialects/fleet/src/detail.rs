//! The part of a decision that is KubeFleet's own.

use crate::filters::spread::Emptiest;
use crate::fleet::record::BindingRecord;
use crate::plan::Plan;
use crate::satisfied::PolicyFulfilment;
use berth_scheduling::Ix;
use std::sync::Arc;

/// Facts that views and writes need beyond the decision.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Reason why the policy cannot be understood, or carried out.
    pub(crate) problem: Option<String>,
    /// The bindings of a placement that is being deleted.
    pub(crate) released: Option<Vec<Arc<BindingRecord>>>,
    /// Whether the policy is fulfilled; `None` where nothing was judged.
    pub(crate) satisfied: Option<PolicyFulfilment>,
    /// Content of the objects; `None` where they do not change.
    pub(crate) plan: Option<Plan>,
    /// Whether the number asked for was placed before, so that nothing was picked.
    pub(crate) filled: bool,
    /// Clusters that are kept though a filter refuses them today.
    pub(crate) unfit: Vec<Ix>,
    /// The emptiest domain of every constraint; `None` where there are no domains.
    pub(crate) emptiest: Vec<Option<Emptiest>>,
    /// For every candidate that a constraint refuses, in their order: how many clusters its domain and the
    /// emptiest domain have.
    pub(crate) skews: Vec<(Ix, u32, u32)>,
}
