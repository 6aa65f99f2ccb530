//! Index of the subjects of existing virtual objects, by which the updater finds objects to delete.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Key;

use super::Subject;
use super::renderer::ObjectDraft;
use crate::observed::ComparisonCache;
use crate::tallies::Tally;

/// Subjects that have a virtual object.
#[derive(Default)]
pub(super) struct SubjectIndex {
    /// Names of the Targets, by the name of the cluster.
    targets: HashMap<Arc<str>, Arc<str>>,
    /// The demands, by the key of the source object.
    demands: HashMap<Key, DemandState>,
}

/// Data about a demand that the Decision does not contain.
struct DemandState {
    tally: Tally,
    /// The last comparison; `None` unless the demand is observed.
    compared: Option<Arc<ComparisonCache>>,
}

impl SubjectIndex {
    /// Records a rendered or deleted `object`. Calls `count` with the properties of an added Decision and 1,
    /// and of a removed Decision and -1.
    pub(super) fn put(&mut self, object: &ObjectDraft, mut count: impl FnMut(Tally, isize)) {
        let key = object.draft.as_ref().and(object.key.as_ref());
        match (&object.subject, key) {
            (Subject::Target(cluster), Some(key)) => {
                self.targets.insert(Arc::clone(cluster), Arc::clone(&key.name));
            }
            (Subject::Target(cluster), None) => drop(self.targets.remove(cluster)),
            (Subject::Demand(demand), _) => {
                let state = object.tally.filter(|_| key.is_some()).map(|tally| DemandState {
                    tally,
                    compared: object.compared.clone(),
                });
                if let Some(state) = &state {
                    count(state.tally, 1);
                }
                let former = match state {
                    Some(state) => self.demands.insert(demand.clone(), state),
                    None => self.demands.remove(demand),
                };
                if let Some(former) = former {
                    count(former.tally, -1);
                }
            }
        }
    }

    /// The name of the Target about `subject`; `None` for a demand, from which the name of the Decision
    /// follows.
    pub(super) fn name(&self, subject: &Subject) -> Option<Arc<str>> {
        match subject {
            Subject::Target(cluster) => self.targets.get(cluster).cloned(),
            Subject::Demand(_) => None,
        }
    }

    /// The last comparison of `subject`; `None` unless it is an observed demand.
    pub(super) fn compared(&self, subject: &Subject) -> Option<Arc<ComparisonCache>> {
        match subject {
            Subject::Target(_) => None,
            Subject::Demand(demand) => self.demands.get(demand)?.compared.clone(),
        }
    }

    /// The targets that have an object.
    pub(super) fn targets(&self) -> impl Iterator<Item = Subject> {
        self.targets.keys().cloned().map(Subject::Target)
    }

    /// The demands that have an object.
    pub(super) fn demands(&self) -> impl Iterator<Item = Subject> {
        self.demands.keys().cloned().map(Subject::Demand)
    }
}
