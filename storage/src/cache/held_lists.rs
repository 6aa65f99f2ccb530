//! Lists that stay readable at their revision, so that the pages of one list agree.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use berth_apimachinery::{GroupResource, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::collection::Collection;
use crate::history;
use crate::state::{ResourceState, State};

/// Time for which a list stays readable.
const HOLD_TIME: Duration = Duration::from_mins(5);
/// Maximal memory, in bytes, of objects that only held lists need.
const HOLD_BYTES: u64 = 64 << 20;
/// Maximal number of held lists. It limits the memory of their tree nodes, which [`HOLD_BYTES`] does not
/// cover.
const MAX_LISTS: usize = 1024;

/// A list that stays readable at its revision.
struct HeldList {
    resource: GroupResource,
    collection: Collection,
    since: Instant,
    /// [`ResourceState::superseded`] of the resource at `since`.
    superseded: u64,
    /// Bytes of the list's objects that were no longer current at `since`.
    outdated: u64,
}

impl HeldList {
    /// Returns an upper limit of the bytes that only this list needs: of objects that were not current when
    /// the list was first held, and of objects that were replaced or deleted since.
    fn bytes(&self, state: &State) -> u64 {
        let now = state
            .resource_state(self.resource)
            .map_or(0, ResourceState::superseded);
        self.outdated + now.saturating_sub(self.superseded)
    }
}

/// The held lists, oldest first.
#[derive(Default)]
pub(crate) struct HeldLists {
    lists: Mutex<VecDeque<HeldList>>,
}

impl HeldLists {
    /// Adds `collection`, unless it is already held: reading further pages does not prolong the time.
    pub(crate) fn hold(&self, state: &State, resource: GroupResource, collection: &Collection) {
        let is_held = |lists: &VecDeque<HeldList>| {
            let mut lists = lists.iter();
            lists.any(|held| held.resource == resource && held.collection.revision == collection.revision)
        };
        if is_held(&self.lists.lock()) {
            return;
        }
        // Outside of the lock, since this takes one step for each object of the list.
        let outdated = outdated_bytes(state, resource, collection);
        let mut lists = self.lists.lock();
        if is_held(&lists) {
            return;
        }
        lists.push_back(HeldList {
            resource,
            collection: collection.clone(),
            since: Instant::now(),
            superseded: state
                .resource_state(resource)
                .map_or(0, ResourceState::superseded),
            outdated,
        });
        let dropped = take_overdue(&mut lists, state);
        drop(lists);
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
        let lists = self.lists.lock();
        let found = lists
            .iter()
            .find(|held| held.resource == resource && held.collection.revision == revision);
        found.map(|held| held.collection.clone())
    }

    /// Releases lists that are too old, too many or too large.
    pub(crate) fn sweep(&self, state: &State) {
        let dropped = {
            let mut lists = self.lists.lock();
            if lists.is_empty() {
                return;
            }
            take_overdue(&mut lists, state)
        };
        drop(dropped);
    }
}

/// Removes the lists that are older than [`HOLD_TIME`], and the oldest ones while there are too many or their
/// bytes exceed [`HOLD_BYTES`]; returns the removed lists.
fn take_overdue(lists: &mut VecDeque<HeldList>, state: &State) -> Vec<HeldList> {
    let now = Instant::now();
    let mut dropped = Vec::new();
    while let Some(oldest) = lists.front() {
        let is_expired = now.duration_since(oldest.since) >= HOLD_TIME;
        if !is_expired && lists.len() <= MAX_LISTS && total_bytes(lists, state) <= HOLD_BYTES {
            break;
        }
        dropped.extend(lists.pop_front());
    }
    dropped
}

/// Returns an estimate of the bytes that only held lists need. Lists of one resource share most of their
/// objects, so only the largest one counts.
fn total_bytes(lists: &VecDeque<HeldList>, state: &State) -> u64 {
    let mut heaviest: BTreeMap<GroupResource, u64> = BTreeMap::new();
    for held in lists {
        let bytes = heaviest.entry(held.resource).or_default();
        *bytes = held.bytes(state).max(*bytes);
    }
    heaviest.values().sum()
}

/// Returns the bytes of the objects in `collection` that are not current in `state`. For a current list, the
/// usual case, no object is compared.
fn outdated_bytes(state: &State, resource: GroupResource, collection: &Collection) -> u64 {
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
