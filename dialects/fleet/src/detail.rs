//! The part of a decision that only KubeFleet has.

use std::sync::Arc;

use berth_scheduling::Ix;

use crate::filters::spread::{DomainCounts, EmptiestDomain};
use crate::fleet::record::BindingRecord;
use crate::fulfilment::PolicyFulfilment;
use crate::plan::Plan;

/// Facts of one decision for its sentences and writes, in addition to
/// [`Decision`](berth_dialect_contract::Decision).
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// The reason why the policy is malformed or cannot be applied; `None` for a valid policy.
    pub(crate) problem: Option<String>,
    /// The bindings of a placement that is being deleted; `None` for any other placement.
    pub(crate) released: Option<Vec<Arc<BindingRecord>>>,
    /// The fulfilment of the policy; `None` without a run of the pipeline.
    pub(crate) fulfilment: Option<PolicyFulfilment>,
    /// The planned writes of snapshots, bindings and statuses; `None` without a run of the pipeline.
    pub(crate) plan: Option<Plan>,
    /// Whether no cluster was picked because the requested number was already placed.
    pub(crate) filled: bool,
    /// The clusters that are kept although a filter refuses them now.
    pub(crate) unfit: Vec<Ix>,
    /// The emptiest domain of each topology spread constraint; `None` for a constraint without domains.
    pub(crate) emptiest: Vec<Option<EmptiestDomain>>,
    /// The candidates that a topology spread constraint refuses, in ascending order, each with the counts of
    /// the constraint.
    pub(crate) skews: Vec<(Ix, DomainCounts)>,
}
