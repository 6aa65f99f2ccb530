//! Lists that stay readable at their revision, so that the pages of one list agree.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use berth_apimachinery::{GroupResource, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::collection::Collection;
use crate::history;
use crate::state::{Shelf, State};

/// Time for which a list stays readable.
const HOLD_TIME: Duration = Duration::from_mins(5);
/// Highest memory of objects that only held lists need, in bytes.
const HOLD_BYTES: u64 = 64 << 20;
/// Highest number of held lists: their own tree nodes are not counted in bytes.
const MAX_LISTS: usize = 1024;

struct RevisionHold {
    resource: GroupResource,
    collection: Collection,
    since: Instant,
    /// Superseded bytes of the resource when the hold began.
    superseded: u64,
    /// Superseded bytes that the list itself needed when the hold began.
    burden: u64,
}

impl RevisionHold {
    /// Returns the highest number of bytes that only this list can need: its burden when the hold began, and
    /// the bytes of objects that were replaced or deleted since.
    fn bytes(&self, state: &State) -> u64 {
        let now = state.shelf(self.resource).map_or(0, Shelf::superseded);
        self.burden + now.saturating_sub(self.superseded)
    }
}

/// The held lists, oldest first.
#[derive(Default)]
pub(crate) struct Holds {
    holds: Mutex<VecDeque<RevisionHold>>,
}

impl Holds {
    /// Holds `collection`, unless it is already held: further paging does not prolong a hold.
    pub(crate) fn hold(&self, state: &State, resource: GroupResource, collection: &Collection) {
        let revision = collection.revision;
        let burden = burden(state, resource, collection);
        let mut holds = self.holds.lock();
        if holds
            .iter()
            .any(|hold| hold.resource == resource && hold.collection.revision == revision)
        {
            return;
        }
        holds.push_back(RevisionHold {
            resource,
            collection: collection.clone(),
            since: Instant::now(),
            superseded: state.shelf(resource).map_or(0, Shelf::superseded),
            burden,
        });
        let dropped = take_overdue(&mut holds, state);
        drop(holds);
        // The lists are freed after unlocking: dropping a large list takes some time.
        drop(dropped);
    }

    /// Returns the held list of `resource` at `revision`.
    pub(crate) fn find(
        &self,
        state: &State,
        resource: GroupResource,
        revision: Revision,
    ) -> Option<Collection> {
        self.sweep(state);
        let holds = self.holds.lock();
        let found = holds
            .iter()
            .find(|hold| hold.resource == resource && hold.collection.revision == revision);
        found.map(|hold| hold.collection.clone())
    }

    /// Releases lists that exceed their time or the budget.
    pub(crate) fn sweep(&self, state: &State) {
        let dropped = {
            let mut holds = self.holds.lock();
            if holds.is_empty() {
                return;
            }
            take_overdue(&mut holds, state)
        };
        drop(dropped);
    }
}

/// Removes the lists that are too old, and the oldest ones while there are too many or their bytes exceed the
/// budget; returns the removed lists.
fn take_overdue(holds: &mut VecDeque<RevisionHold>, state: &State) -> Vec<RevisionHold> {
    let now = Instant::now();
    let mut dropped = Vec::new();
    while let Some(oldest) = holds.front() {
        let is_expired = now.duration_since(oldest.since) >= HOLD_TIME;
        if !is_expired && holds.len() <= MAX_LISTS && total(holds, state) <= HOLD_BYTES {
            break;
        }
        dropped.extend(holds.pop_front());
    }
    dropped
}

/// Returns the bytes that only held lists need. Lists of one resource share most of them, so only the largest
/// counts.
fn total(holds: &VecDeque<RevisionHold>, state: &State) -> u64 {
    let mut heaviest: BTreeMap<GroupResource, u64> = BTreeMap::new();
    for hold in holds {
        let bytes = heaviest.entry(hold.resource).or_default();
        *bytes = hold.bytes(state).max(*bytes);
    }
    heaviest.values().sum()
}

/// Returns the bytes that `collection` needs and `state` no longer has. A current list, the usual case, is
/// recognized at once.
fn burden(state: &State, resource: GroupResource, collection: &Collection) -> u64 {
    let current = state.collection(resource);
    if current.items.ptr_eq(&collection.items) {
        return 0;
    }
    let replaced = collection.items.iter().filter(|&(name, object)| {
        current
            .items
            .get(name)
            .is_none_or(|now| now.revision() != object.revision())
    });
    replaced.map(|(_, object)| history::weight(object) as u64).sum()
}
