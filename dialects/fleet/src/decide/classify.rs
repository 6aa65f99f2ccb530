//! The classes of a placement's bindings, which decide what happens to a binding (docs/systems/fleet.md,
//! "Bindings"). Eligibility, affinity and taints do not matter, since bound clusters stay.

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_scheduling::Ix;

use crate::columns::Columns;
use crate::fleet::Fleet;
use crate::fleet::record::BindingRecord;
use crate::kind::State;

/// Bindings by candidate, in ascending order; at most one for each candidate.
pub(super) type ByCandidate<'a> = Vec<(Ix, &'a Arc<BindingRecord>)>;

/// The bindings of a placement by class.
pub(super) struct Classes<'a> {
    /// Bindings that are being deleted: only the scheduler's finalizer is removed.
    pub(super) deleting: Vec<&'a Arc<BindingRecord>>,
    /// Bindings that are Unscheduled, which are restored if the cluster is picked.
    pub(super) unscheduled: ByCandidate<'a>,
    /// Bindings to clusters that no longer exist.
    pub(super) dangling: Vec<&'a Arc<BindingRecord>>,
    /// Bindings by an older policy.
    pub(super) obsolete: ByCandidate<'a>,
    /// Bindings by the policy in force.
    pub(super) present: ByCandidate<'a>,
    /// Bindings to a cluster that has another binding of the placement.
    pub(super) surplus: Vec<&'a Arc<BindingRecord>>,
}

impl<'a> Classes<'a> {
    /// Classifies the bindings of `placement`; `snapshot` is the name of the snapshot with the policy in
    /// force.
    pub(super) fn of(fleet: &'a Fleet, columns: &Columns, placement: &Key, snapshot: &str) -> Self {
        let mut classes = Self {
            deleting: Vec::new(),
            unscheduled: Vec::new(),
            dangling: Vec::new(),
            obsolete: Vec::new(),
            present: Vec::new(),
            surplus: Vec::new(),
        };
        for binding in fleet.bindings_of(placement) {
            let candidate = columns.candidate(&binding.cluster);
            match candidate {
                _ if binding.deleting() => classes.deleting.push(binding),
                candidate if binding.state == State::Unscheduled => {
                    classes
                        .unscheduled
                        .extend(candidate.map(|candidate| (candidate, binding)));
                }
                // A cluster that is leaving the fleet still exists, and its workloads stay there.
                None => classes.dangling.push(binding),
                Some(candidate) if binding.snapshot != snapshot => {
                    classes.obsolete.push((candidate, binding));
                }
                Some(candidate) => classes.present.push((candidate, binding)),
            }
        }
        classes.unscheduled.sort_by_key(|(candidate, _)| *candidate);
        classes.unscheduled.dedup_by_key(|(candidate, _)| *candidate);
        let mut surplus = deduplicate(&mut classes.present);
        let present = &classes.present;
        classes.obsolete.retain(|&(candidate, binding)| {
            let bound = Self::find(present, candidate).is_some();
            if bound {
                surplus.push(binding);
            }
            !bound
        });
        surplus.extend(deduplicate(&mut classes.obsolete));
        classes.surplus = surplus;
        classes
    }

    /// The binding to `candidate` in `list`; `None` if there is none.
    pub(super) fn find(list: &ByCandidate<'a>, candidate: Ix) -> Option<&'a Arc<BindingRecord>> {
        let place = list
            .binary_search_by_key(&candidate, |(candidate, _)| *candidate)
            .ok()?;
        Some(list[place].1)
    }
}

/// Sorts `list` by candidate, and keeps only the first binding by name for each candidate. Returns the
/// removed bindings.
fn deduplicate<'a>(list: &mut ByCandidate<'a>) -> Vec<&'a Arc<BindingRecord>> {
    list.sort_by_key(|(candidate, _)| *candidate);
    let mut surplus = Vec::new();
    let mut last = None;
    list.retain(|&(candidate, binding)| {
        let is_repeated = last == Some(candidate);
        if is_repeated {
            surplus.push(binding);
        }
        last = Some(candidate);
        !is_repeated
    });
    surplus
}
