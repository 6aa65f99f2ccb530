//! Lists kept readable at their revision, so that the pages of one list agree.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use berth_apimachinery::{GroupResource, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::collection::Collection;
use crate::history;
use crate::state::{Shelf, State};

/// Time for which a list stays readable.
const HELD_FOR: Duration = Duration::from_mins(5);
/// Maximal memory of objects that only held lists need, in bytes.
const HELD_BYTES: u64 = 64 << 20;
/// Most lists that are held: their trees' own nodes are not counted in bytes.
const HELD_LISTS: usize = 1024;

struct RevisionHold {
    resource: GroupResource,
    collection: Collection,
    since: Instant,
    /// The resource's superseded bytes when the list was taken in.
    superseded: u64,
    /// Bytes that the list kept alive already then.
    burden: u64,
}

impl RevisionHold {
    /// Bytes that this list alone keeps alive: at most those of objects replaced or deleted since.
    fn bytes(&self, state: &State) -> u64 {
        let now = state.shelf(self.resource).map_or(0, Shelf::superseded);
        self.burden + now.saturating_sub(self.superseded)
    }
}

/// The held lists, oldest first.
#[derive(Default)]
pub(crate) struct Holds {
    held: Mutex<VecDeque<RevisionHold>>,
}

impl Holds {
    /// Holds `collection`, unless it is held already: paging on does not prolong it.
    pub(crate) fn hold(&self, state: &State, resource: GroupResource, collection: &Collection) {
        let revision = collection.revision;
        let burden = burden(state, resource, collection);
        let mut held = self.held.lock();
        if held
            .iter()
            .any(|held| held.resource == resource && held.collection.revision == revision)
        {
            return;
        }
        held.push_back(RevisionHold {
            resource,
            collection: collection.clone(),
            since: Instant::now(),
            superseded: state.shelf(resource).map_or(0, Shelf::superseded),
            burden,
        });
        let dropped = overdue(&mut held, state);
        drop(held);
        // Freed only now: dropping a large list takes a while.
        drop(dropped);
    }

    /// The held list of `resource` at `revision`.
    pub(crate) fn find(
        &self,
        state: &State,
        resource: GroupResource,
        revision: Revision,
    ) -> Option<Collection> {
        self.sweep(state);
        let held = self.held.lock();
        let found = held
            .iter()
            .find(|held| held.resource == resource && held.collection.revision == revision);
        found.map(|held| held.collection.clone())
    }

    /// Releases lists that are over time or over budget.
    pub(crate) fn sweep(&self, state: &State) {
        let dropped = {
            let mut held = self.held.lock();
            if held.is_empty() {
                return;
            }
            overdue(&mut held, state)
        };
        drop(dropped);
    }
}

/// Removes the lists that are too old, and the oldest while the total is over budget.
fn overdue(held: &mut VecDeque<RevisionHold>, state: &State) -> Vec<RevisionHold> {
    let now = Instant::now();
    let mut dropped = Vec::new();
    while let Some(oldest) = held.front() {
        let late = now.duration_since(oldest.since) >= HELD_FOR;
        if !late && held.len() <= HELD_LISTS && total(held, state) <= HELD_BYTES {
            break;
        }
        dropped.extend(held.pop_front());
    }
    dropped
}

/// Bytes that all lists together keep alive. Lists of one resource share most of them, so only the
/// heaviest counts.
fn total(held: &VecDeque<RevisionHold>, state: &State) -> u64 {
    let mut heaviest: BTreeMap<GroupResource, u64> = BTreeMap::new();
    for held in held {
        let bytes = heaviest.entry(held.resource).or_default();
        *bytes = held.bytes(state).max(*bytes);
    }
    heaviest.values().sum()
}

/// Bytes that `collection` keeps alive and `state` no longer shows. A current list, the usual case, is
/// known at once.
fn burden(state: &State, resource: GroupResource, collection: &Collection) -> u64 {
    let current = state.collection(resource);
    if current.items.ptr_eq(&collection.items) {
        return 0;
    }
    let gone = collection.items.iter().filter(|&(name, object)| {
        current
            .items
            .get(name)
            .is_none_or(|now| now.revision() != object.revision())
    });
    gone.map(|(_, object)| history::weight(object) as u64).sum()
}
