//! Index of the subjects of existing objects, with data about each. The updater finds deleted objects by it.

use std::collections::HashMap;
use std::sync::Arc;

use berth_apimachinery::Key;

use super::Subject;
use super::make::ObjectDraft;
use crate::observed::ComparisonCache;
use crate::tallies::Tally;

/// Subjects with an object.
#[derive(Default)]
pub(super) struct SubjectIndex {
    /// Targets, with the names of their objects, which may differ from the names of clusters.
    targets: HashMap<Arc<str>, Arc<str>>,
    demands: HashMap<Key, DemandState>,
}

/// Data about a demand in addition to its object.
struct DemandState {
    tally: Tally,
    /// The last comparison, where the demand is observed.
    compared: Option<Arc<ComparisonCache>>,
}

impl SubjectIndex {
    /// Records a rendered or deleted `object`. `count` gets the properties of an added Decision with 1, and
    /// of a removed one with -1.
    pub(super) fn put(&mut self, object: &ObjectDraft, mut count: impl FnMut(Tally, isize)) {
        let place = object.draft.as_ref().and(object.key.as_ref());
        match (&object.subject, place) {
            (Subject::Target(cluster), Some(place)) => {
                self.targets.insert(Arc::clone(cluster), Arc::clone(&place.name));
            }
            (Subject::Target(cluster), None) => drop(self.targets.remove(cluster)),
            (Subject::Demand(demand), _) => {
                let state = object.tally.filter(|_| place.is_some()).map(|tally| DemandState {
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

    /// The name of the object about `subject`, where it does not follow from the subject itself.
    pub(super) fn name(&self, subject: &Subject) -> Option<Arc<str>> {
        match subject {
            Subject::Target(cluster) => self.targets.get(cluster).cloned(),
            Subject::Demand(_) => None,
        }
    }

    /// The last comparison of an observed demand.
    pub(super) fn compared(&self, subject: &Subject) -> Option<Arc<ComparisonCache>> {
        match subject {
            Subject::Target(_) => None,
            Subject::Demand(demand) => self.demands.get(demand)?.compared.clone(),
        }
    }

    /// The targets.
    pub(super) fn targets(&self) -> impl Iterator<Item = Subject> {
        self.targets.keys().cloned().map(Subject::Target)
    }

    /// The demands.
    pub(super) fn demands(&self) -> impl Iterator<Item = Subject> {
        self.demands.keys().cloned().map(Subject::Demand)
    }
}
