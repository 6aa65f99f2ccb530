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

/// Number of changes above which undoing them, to answer a list at a past revision, is too expensive (about 2
/// ms).
const UNDO_LIMIT: usize = 1024;
/// Number of a resource's changes that are forgotten at a time because of their age, so that the changes of a
/// burst block no writer.
const AGED_AT_ONCE: usize = 64;

/// Objects of one resource and their known history.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    items: OrdMap<Name, Arc<Object>>,
    history: History,
    superseded: u64,
}

impl Shelf {
    fn new(start: Revision) -> Self {
        Self {
            items: OrdMap::new(),
            history: History::new(start),
            superseded: 0,
        }
    }

    /// Total memory of all objects that were replaced or deleted so far. The difference of two totals is an
    /// upper limit of the memory that only a held list needs.
    pub(crate) fn superseded(&self) -> u64 {
        self.superseded
    }

    /// Returns the objects at `revision`; `None` when they are unknown or expensive to compute.
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

/// Returns the position of `key` in its collection; shares the key's text.
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
    start: Revision,
    shelves: OrdMap<GroupResource, Arc<Shelf>>,
    history_bytes: usize,
}

impl State {
    /// Creates an empty store whose next revision follows `start`; earlier changes are unknown.
    pub(crate) fn new(start: Revision) -> Self {
        Self {
            revision: start,
            start,
            shelves: OrdMap::new(),
            history_bytes: 0,
        }
    }

    /// Newest revision.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the objects and history of a resource.
    pub(crate) fn shelf(&self, resource: GroupResource) -> Option<&Shelf> {
        self.shelves.get(&resource).map(Arc::as_ref)
    }

    /// Returns one object.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.shelves.get(&key.resource)?.items.get(&name_of(key))
    }

    /// Returns every object, in order.
    #[cfg(any(feature = "embedded", feature = "etcd"))]
    pub(crate) fn snapshot(&self) -> Snapshot {
        let objects = self.shelves.iter().flat_map(|(&resource, shelf)| {
            shelf.items.iter().map(move |(name, object)| {
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
            .shelf(resource)
            .map_or_else(OrdMap::new, |shelf| shelf.items.clone());
        Collection {
            revision: self.revision,
            items,
        }
    }

    /// Returns all objects of `resource` at `revision`, if that is cheap to compute.
    pub(crate) fn collection_at(&self, resource: GroupResource, revision: Revision) -> Option<Collection> {
        if revision < self.start || revision > self.revision {
            return None;
        }
        let items = match self.shelf(resource) {
            Some(shelf) => shelf.items_at(revision)?,
            None => OrdMap::new(),
        };
        Some(Collection { revision, items })
    }

    /// Revision after which every change of `resource` is known.
    pub(crate) fn floor(&self, resource: GroupResource) -> Revision {
        self.shelf(resource)
            .map_or(self.start, |shelf| shelf.history.floor())
    }

    /// Stores `object` at `key`, or deletes the object there; returns the former object. The history does not
    /// change: [`State::record`] is called when the change is durable.
    pub(crate) fn set(&mut self, key: &Key, object: Option<Arc<Object>>) -> Option<Arc<Object>> {
        let shelf = self.shelf_mut(key.resource);
        let before = match object {
            Some(object) => shelf.items.insert(name_of(key), object),
            None => shelf.items.remove(&name_of(key)),
        };
        shelf.superseded += before.as_ref().map_or(0, |object| history::weight(object) as u64);
        before
    }

    /// Sets all objects of a resource while a store is being loaded.
    #[cfg(any(feature = "embedded", feature = "etcd"))]
    pub(crate) fn load(&mut self, resource: GroupResource, items: OrdMap<Name, Arc<Object>>) {
        self.shelf_mut(resource).items = items;
    }

    /// Moves to the revision of the last of `changes`, which were committed at `now`, and keeps them in the
    /// history, within `limits`.
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
            self.history_bytes += self.shelf_mut(resource).history.push(entry);
            changed_resources.insert(resource);
        }
        for resource in changed_resources {
            while self.shelf_mut(resource).history.exceeds(limits) {
                self.forget_oldest_of(resource);
            }
        }
        self.forget_aged(limits, now);
        while self.history_bytes > limits.total_bytes {
            let oldest = self
                .shelves
                .iter()
                .filter_map(|(resource, shelf)| Some((shelf.history.oldest()?, *resource)))
                .min();
            match oldest {
                Some((_, resource)) => self.forget_oldest_of(resource),
                None => break,
            }
        }
    }

    /// Forgets the changes of every resource that are older than `limits.age` at `now`, while all changes of
    /// the resource exceed `limits.aged_bytes`.
    fn forget_aged(&mut self, limits: &Limits, now: Instant) {
        let is_aged = |shelf: &Shelf| shelf.history.has_aged(limits, now);
        let shelves = self.shelves.iter().filter(|(_, shelf)| is_aged(shelf));
        let aged: Vec<GroupResource> = shelves.map(|(resource, _)| *resource).collect();
        for resource in aged {
            for _ in 0..AGED_AT_ONCE {
                if !is_aged(self.shelf_mut(resource)) {
                    break;
                }
                self.forget_oldest_of(resource);
            }
        }
    }

    /// Revision before which nothing is known.
    #[cfg(feature = "etcd")]
    pub(crate) fn start(&self) -> Revision {
        self.start
    }

    /// Every resource that ever had an object.
    #[cfg(feature = "etcd")]
    pub(crate) fn resources(&self) -> Vec<GroupResource> {
        self.shelves.keys().copied().collect()
    }

    /// Moves to `revision`: no change up to it is missing.
    #[cfg(feature = "etcd")]
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// Returns at most `max` changes of `scope` after `cursor`, in the order of their revisions.
    ///
    /// # Errors
    /// `Expired` when some of them are no longer kept.
    pub(crate) fn events(
        &self,
        scope: &Scope,
        cursor: Revision,
        max: usize,
    ) -> Result<Vec<Arc<Event>>, StoreError> {
        let shelves = self.shelves_of(scope);
        if let Some(oldest) = shelves
            .iter()
            .map(|shelf| shelf.history.floor())
            .chain([self.start])
            .filter(|floor| *floor > cursor)
            .max()
        {
            return Err(StoreError::Expired {
                asked: cursor,
                oldest,
            });
        }
        let mut events: Vec<_> = shelves
            .iter()
            .filter(|shelf| shelf.history.has_changes_after(cursor))
            .flat_map(|shelf| {
                shelf
                    .history
                    .after(cursor)
                    .take(max)
                    .map(|entry| Arc::clone(&entry.event))
            })
            .collect();
        if shelves.len() > 1 {
            events.sort_unstable_by_key(|event| event.change.revision);
            events.truncate(max);
        }
        Ok(events)
    }

    /// Whether `scope` has changes after `cursor`, known or forgotten.
    pub(crate) fn pending(&self, scope: &Scope, cursor: Revision) -> bool {
        self.start > cursor
            || self
                .shelves_of(scope)
                .iter()
                .any(|shelf| shelf.history.has_changes_after(cursor) || shelf.history.floor() > cursor)
    }

    /// Oldest revision after which a watch of `scope` can start.
    pub(crate) fn floor_of(&self, scope: &Scope) -> Revision {
        self.shelves_of(scope)
            .iter()
            .map(|shelf| shelf.history.floor())
            .max()
            .unwrap_or_default()
            .max(self.start)
    }

    fn shelves_of(&self, scope: &Scope) -> Vec<&Shelf> {
        match scope {
            Scope::One(resource) => self.shelf(*resource).into_iter().collect(),
            Scope::Many(resources) => resources
                .iter()
                .filter_map(|resource| self.shelf(*resource))
                .collect(),
            Scope::All => self.shelves.values().map(Arc::as_ref).collect(),
        }
    }

    fn shelf_mut(&mut self, resource: GroupResource) -> &mut Shelf {
        let start = self.start;
        Arc::make_mut(
            self.shelves
                .entry(resource)
                .or_insert_with(|| Arc::new(Shelf::new(start))),
        )
    }

    fn forget_oldest_of(&mut self, resource: GroupResource) {
        let freed = self.shelf_mut(resource).history.forget_oldest();
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
        let shelf = state.shelf(GroupResource::new("", resource)).unwrap();
        shelf.history.count_after(Revision(0))
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
