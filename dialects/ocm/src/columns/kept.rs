//! Outcomes of the filters that later decisions on the same clusters reuse.
//!
//! Many placements have equal specs, and each is decided again from time to time. While no cluster and no set
//! changes, the filters refuse the same clusters for each of them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use berth_scheduling::{Ix, Rejections};

use crate::policy::Policy;

/// Highest number of outcomes that are kept. An outcome over 100,000 clusters may have a megabyte.
const MOST: usize = 16;

/// Values of a scorer for the feasible clusters, computed at the first use.
pub(crate) type Values = OnceLock<Box<[Option<i64>]>>;

/// The outcome of the filters for one policy and some sets.
#[derive(Debug)]
pub(crate) struct FilterOutcome {
    /// Every refusal.
    pub(crate) rejections: Rejections,
    /// The feasible clusters, in fleet order.
    pub(crate) feasible: Vec<Ix>,
    /// Number of clusters that the sets offer.
    pub(crate) in_scope: usize,
    /// The values of ResourceAllocatableCPU.
    pub(crate) cpu: Values,
    /// The values of ResourceAllocatableMemory.
    pub(crate) memory: Values,
}

/// The kept outcomes, the last one first.
#[derive(Debug, Default)]
pub(crate) struct KeptOutcomes(Mutex<Vec<KeptOutcome>>);

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

    /// Keeps `outcome`, which is that of `policy` over `sets` for every placement and at any time.
    pub(crate) fn keep(&self, policy: &Arc<Policy>, sets: &[&Arc<str>], outcome: &Arc<FilterOutcome>) {
        let kept = KeptOutcome {
            policy: Arc::clone(policy),
            sets: sets.iter().copied().cloned().collect(),
            outcome: Arc::clone(outcome),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.truncate(MOST - 1);
        all.insert(0, kept);
    }
}
