//! The content of a store in memory at one revision: the objects of each resource and their recent
//! history.
//!
//! A published state is immutable. The next state is a changed clone (with persistent maps, only changed
//! parts are copied), so readers and watchers never lock, and objects, history and revision always agree.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision};
use imbl::OrdMap;

use crate::collection::{Collection, Name};
use crate::error::StoreError;
use crate::history::{self, Entry, History, Limits};
#[cfg(any(feature = "embedded", feature = "etcd"))]
use crate::snapshot::Snapshot;
use crate::source::{Event, Scope};

/// Maximal number of changes that are undone to answer a list at a past revision (in about 2 ms).
const UNDO_LIMIT: usize = 1024;
/// Maximal number of a resource's changes that one write forgets because of their age, so that no write waits
/// until all changes of an earlier burst are forgotten.
const AGED_AT_ONCE: usize = 64;

/// Objects of one resource and their known history.
#[derive(Clone, Debug)]
pub(crate) struct ResourceState {
    items: OrdMap<Name, Arc<Object>>,
    history: History,
    superseded: u64,
}

impl ResourceState {
    fn new(start: Revision) -> Self {
        Self {
            items: OrdMap::new(),
            history: History::new(start),
            superseded: 0,
        }
    }

    /// Total bytes of all objects that were replaced or deleted so far. If a list is kept from one total to a
    /// later one, the difference of the totals is an upper limit of the bytes that only the list still needs.
    pub(crate) fn superseded(&self) -> u64 {
        self.superseded
    }

    /// Returns the objects at `revision`; `None` when their changes since then are not all known, or too
    /// many.
    fn items_at(&self, revision: Revision) -> Option<OrdMap<Name, Arc<Object>>> {
        if revision < self.history.floor() || self.history.count_after(revision) > UNDO_LIMIT {
            return None;
        }
        let mut items = self.items.clone();
        for entry in self.history.after(revision).rev() {
            let name = name_of(&entry.event.change.key);
            match &entry.before {
                Some(before) => items.insert(name, Arc::clone(before)),
                None => items.remove(&name),
            };
        }
        Some(items)
    }
}

/// Returns the position of `key` in its collection. The position shares the texts of the key.
pub(crate) fn name_of(key: &Key) -> Name {
    Name {
        namespace: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
    }
}

/// The state of a store at one revision.
#[derive(Clone, Debug)]
pub(crate) struct State {
    revision: Revision,
    /// Revision up to which changes are unknown for every resource.
    start: Revision,
    resource_states: OrdMap<GroupResource, Arc<ResourceState>>,
    /// Total bytes of the histories of all resources.
    history_bytes: usize,
}

impl State {
    /// Creates an empty store whose next revision follows `start`; earlier changes are unknown.
    pub(crate) fn new(start: Revision) -> Self {
        Self {
            revision: start,
            start,
            resource_states: OrdMap::new(),
            history_bytes: 0,
        }
    }

    /// The revision of this state.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the objects and the history of `resource`; `None` if it never had an object.
    pub(crate) fn resource_state(&self, resource: GroupResource) -> Option<&ResourceState> {
        self.resource_states.get(&resource).map(Arc::as_ref)
    }

    /// Returns the object at `key`.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.resource_states.get(&key.resource)?.items.get(&name_of(key))
    }

    /// Returns every object, by resource, namespace and name.
    #[cfg(any(feature = "embedded", feature = "etcd"))]
    pub(crate) fn snapshot(&self) -> Snapshot {
        let objects = self
            .resource_states
            .iter()
            .flat_map(|(&resource, resource_state)| {
                resource_state.items.iter().map(move |(name, object)| {
                    let key = Key {
                        resource,
                        namespace: Arc::clone(&name.namespace),
                        name: Arc::clone(&name.name),
                    };
                    (key, Arc::clone(object))
                })
            });
        Snapshot {
            revision: self.revision,
            objects: objects.collect(),
        }
    }

    /// Returns all objects of `resource`.
    pub(crate) fn collection(&self, resource: GroupResource) -> Collection {
        let items = self
            .resource_state(resource)
            .map_or_else(OrdMap::new, |resource_state| resource_state.items.clone());
        Collection {
            revision: self.revision,
            items,
        }
    }

    /// Returns all objects of `resource` at `revision`; `None` when they are unknown or expensive to compute.
    pub(crate) fn collection_at(&self, resource: GroupResource, revision: Revision) -> Option<Collection> {
        if revision < self.start || revision > self.revision {
            return None;
        }
        let items = match self.resource_state(resource) {
            Some(resource_state) => resource_state.items_at(revision)?,
            None => OrdMap::new(),
        };
        Some(Collection { revision, items })
    }

    /// Revision after which every change of `resource` is known.
    pub(crate) fn floor(&self, resource: GroupResource) -> Revision {
        self.resource_state(resource)
            .map_or(self.start, |resource_state| resource_state.history.floor())
    }

    /// Stores `object` at `key`, or deletes the object there; returns the former object. The history does not
    /// change: [`State::record`] is called when the change is durable.
    pub(crate) fn set(&mut self, key: &Key, object: Option<Arc<Object>>) -> Option<Arc<Object>> {
        let resource_state = self.resource_state_mut(key.resource);
        let before = match object {
            Some(object) => resource_state.items.insert(name_of(key), object),
            None => resource_state.items.remove(&name_of(key)),
        };
        resource_state.superseded += before.as_ref().map_or(0, |object| history::weight(object) as u64);
        before
    }

    /// Sets all objects of `resource`, while a store is being loaded.
    #[cfg(any(feature = "embedded", feature = "etcd"))]
    pub(crate) fn load(&mut self, resource: GroupResource, items: OrdMap<Name, Arc<Object>>) {
        self.resource_state_mut(resource).items = items;
    }

    /// Adds `changes`, which were committed at `now`, to the history, and forgets old changes beyond
    /// `limits`. The revision becomes the revision of the last change.
    pub(crate) fn record(
        &mut self,
        changes: Vec<(Change, Option<Arc<Object>>)>,
        limits: &Limits,
        now: Instant,
    ) {
        let mut changed_resources = BTreeSet::new();
        for (change, before) in changes {
            let resource = change.key.resource;
            self.revision = change.revision;
            let entry = Entry {
                event: Arc::new(Event::new(change)),
                before,
                at: now,
            };
            self.history_bytes += self.resource_state_mut(resource).history.push(entry);
            changed_resources.insert(resource);
        }
        for resource in changed_resources {
            while self.resource_state_mut(resource).history.exceeds(limits) {
                self.forget_oldest_of(resource);
            }
        }
        self.forget_aged(limits, now);
        while self.history_bytes > limits.total_bytes {
            let oldest = self
                .resource_states
                .iter()
                .filter_map(|(resource, resource_state)| Some((resource_state.history.oldest()?, *resource)))
                .min();
            match oldest {
                Some((_, resource)) => self.forget_oldest_of(resource),
                None => break,
            }
        }
    }

    /// Forgets changes that are older than `limits.age` at `now`, for each resource whose kept changes exceed
    /// `limits.aged_bytes`; at most [`AGED_AT_ONCE`] for each resource.
    fn forget_aged(&mut self, limits: &Limits, now: Instant) {
        let is_aged = |resource_state: &ResourceState| resource_state.history.has_aged(limits, now);
        let resource_states = self
            .resource_states
            .iter()
            .filter(|(_, resource_state)| is_aged(resource_state));
        let aged: Vec<GroupResource> = resource_states.map(|(resource, _)| *resource).collect();
        for resource in aged {
            for _ in 0..AGED_AT_ONCE {
                if !is_aged(self.resource_state_mut(resource)) {
                    break;
                }
                self.forget_oldest_of(resource);
            }
        }
    }

    /// Revision up to which changes are unknown for every resource.
    #[cfg(feature = "etcd")]
    pub(crate) fn start(&self) -> Revision {
        self.start
    }

    /// Every resource that ever had an object.
    #[cfg(feature = "etcd")]
    pub(crate) fn resources(&self) -> Vec<GroupResource> {
        self.resource_states.keys().copied().collect()
    }

    /// Raises the revision to `revision`, since no change up to that revision is missing.
    #[cfg(feature = "etcd")]
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// Returns the first `max` changes of `scope` after `cursor`, in the order of their revisions, and all
    /// other changes with the revision of the last of these.
    ///
    /// # Errors
    /// `Expired` when a change after `cursor` is no longer kept.
    pub(crate) fn events(
        &self,
        scope: &Scope,
        cursor: Revision,
        max: usize,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        let resource_states = self.resource_states_of(scope);
        if let Some(oldest) = resource_states
            .iter()
            .map(|resource_state| resource_state.history.floor())
            .chain([self.start])
            .filter(|floor| *floor > cursor)
            .max()
        {
            return Err(StoreError::Expired {
                asked: cursor,
                oldest,
            });
        }
        let mut events: Vec<_> = resource_states
            .iter()
            .filter(|resource_state| resource_state.history.has_changes_after(cursor))
            .flat_map(|resource_state| resource_state.history.events_after(cursor, max))
            .collect();
        if resource_states.len() > 1 {
            events.sort_unstable_by_key(|event| event.change.revision);
            let last = max.checked_sub(1).and_then(|index| events.get(index));
            if let Some(last) = last.map(|event| event.change.revision) {
                events.truncate(events.partition_point(|event| event.change.revision <= last));
            }
        }
        Ok(events)
    }

    /// Whether `scope` has changes after `cursor`, kept or forgotten.
    pub(crate) fn pending(&self, scope: &Scope, cursor: Revision) -> bool {
        self.start > cursor
            || self.resource_states_of(scope).iter().any(|resource_state| {
                resource_state.history.has_changes_after(cursor) || resource_state.history.floor() > cursor
            })
    }

    /// Oldest revision after which a watch of `scope` can start.
    pub(crate) fn floor_of(&self, scope: &Scope) -> Revision {
        self.resource_states_of(scope)
            .iter()
            .map(|resource_state| resource_state.history.floor())
            .max()
            .unwrap_or_default()
            .max(self.start)
    }

    fn resource_states_of(&self, scope: &Scope) -> Vec<&ResourceState> {
        match scope {
            Scope::One(resource) => self.resource_state(*resource).into_iter().collect(),
            Scope::Many(resources) => resources
                .iter()
                .filter_map(|resource| self.resource_state(*resource))
                .collect(),
            Scope::All => self.resource_states.values().map(Arc::as_ref).collect(),
        }
    }

    fn resource_state_mut(&mut self, resource: GroupResource) -> &mut ResourceState {
        let start = self.start;
        Arc::make_mut(
            self.resource_states
                .entry(resource)
                .or_insert_with(|| Arc::new(ResourceState::new(start))),
        )
    }

    fn forget_oldest_of(&mut self, resource: GroupResource) {
        let freed = self.resource_state_mut(resource).history.forget_oldest();
        self.history_bytes -= freed.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const LIMITS: Limits = Limits {
        events: 1000,
        bytes: 32 << 20,
        total_bytes: 256 << 20,
        age: Duration::from_secs(60),
        aged_bytes: 10_000,
    };

    fn record(state: &mut State, resource: &'static str, now: Instant) {
        let revision = Revision(state.revision().0 + 1);
        let value = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}});
        let change = Change {
            revision,
            key: Key::new(GroupResource::new("", resource), "", "x"),
            old: None,
            new: Some(Arc::new(Object::new(&value, revision).unwrap())),
        };
        state.record(vec![(change, None)], &LIMITS, now);
    }

    fn change_count(state: &State, resource: &'static str) -> usize {
        let resource_state = state.resource_state(GroupResource::new("", resource)).unwrap();
        resource_state.history.count_after(Revision(0))
    }

    #[test]
    fn old_changes_are_kept_as_far_as_there_is_little_of_them() {
        let mut state = State::new(Revision(1));
        let start = Instant::now();
        for _ in 0..300 {
            record(&mut state, "busy", start);
        }
        record(&mut state, "calm", start);
        assert_eq!(change_count(&state, "busy"), 300, "all are new");
        // Each change of another resource removes some of them.
        for _ in 0..6 {
            record(&mut state, "calm", start + LIMITS.age * 2);
        }
        let left = change_count(&state, "busy");
        assert!(left > 0 && left < 10, "{left} of 1.3 KB each");
        assert_eq!(
            change_count(&state, "calm"),
            7,
            "together they take what old ones may"
        );
    }

    #[test]
    fn the_changes_of_the_last_minutes_are_kept_whatever_room_they_take() {
        let mut state = State::new(Revision(1));
        let start = Instant::now();
        for second in 0..120 {
            record(&mut state, "busy", start + Duration::from_secs(second));
        }
        assert_eq!(change_count(&state, "busy"), 61);
    }
}
