//! Outcomes of the filters that later decisions on the same clusters reuse.
//!
//! Many placements have equal specs, and each placement is decided again from time to time. While no cluster
//! and no set changes, the filters refuse the same clusters for all placements with equal specs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use berth_scheduling::{Ix, Rejections};

use crate::policy::Policy;

/// Highest number of outcomes that are kept. An outcome over 100,000 clusters may take a megabyte of memory.
const MAX_OUTCOMES: usize = 16;

/// Values of a scorer for the feasible clusters, computed at the first use.
pub(crate) type Values = OnceLock<Box<[Option<i64>]>>;

/// The outcome of the filters for one policy and some sets.
#[derive(Debug)]
pub(crate) struct FilterOutcome {
    /// Every refusal.
    pub(crate) rejections: Rejections,
    /// The feasible clusters, in fleet order.
    pub(crate) feasible: Vec<Ix>,
    /// Number of clusters in the sets.
    pub(crate) in_scope: usize,
    /// The values of the scorer ResourceAllocatableCPU.
    pub(crate) cpu: Values,
    /// The values of the scorer ResourceAllocatableMemory.
    pub(crate) memory: Values,
}

/// The kept outcomes, the newest first.
#[derive(Debug, Default)]
pub(crate) struct KeptOutcomes(Mutex<Vec<KeptOutcome>>);

/// An outcome with its inputs.
#[derive(Debug)]
struct KeptOutcome {
    policy: Arc<Policy>,
    /// The sets from which the policy chooses.
    sets: Vec<Arc<str>>,
    outcome: Arc<FilterOutcome>,
}

impl KeptOutcomes {
    /// The outcome of `policy` over `sets`, if it is kept.
    pub(crate) fn find(&self, policy: &Arc<Policy>, sets: &[&Arc<str>]) -> Option<Arc<FilterOutcome>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept
            .iter()
            .find(|kept| Arc::ptr_eq(&kept.policy, policy) && kept.sets.iter().eq(sets.iter().copied()));
        found.map(|kept| Arc::clone(&kept.outcome))
    }

    /// Keeps `outcome`, which must be valid for every placement with `policy` over `sets`, at any time.
    pub(crate) fn keep(&self, policy: &Arc<Policy>, sets: &[&Arc<str>], outcome: &Arc<FilterOutcome>) {
        let kept = KeptOutcome {
            policy: Arc::clone(policy),
            sets: sets.iter().copied().cloned().collect(),
            outcome: Arc::clone(outcome),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(MAX_OUTCOMES - 1);
        all.insert(0, kept);
    }
}
