//! Graph of owners and their dependents: only objects with owners are kept.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use berth_apimachinery::{Change, Key};

/// Dependents by the owner's UID.
#[derive(Default)]
pub(crate) struct Graph {
    dependents: HashMap<Arc<str>, Keys>,
    owners: HashMap<Key, Box<[Arc<str>]>>,
}

/// Set of keys. A single key needs no allocation: most owners own one object.
enum Keys {
    One(Key),
    Many(HashSet<Key>),
}

impl Keys {
    fn insert(&mut self, key: Key) {
        match self {
            Self::One(known) if *known == key => {}
            Self::One(known) => *self = Self::Many(HashSet::from([known.clone(), key])),
            Self::Many(keys) => drop(keys.insert(key)),
        }
    }

    /// Removes `key`. Returns whether the set is empty afterwards.
    fn remove(&mut self, key: &Key) -> bool {
        match self {
            Self::One(known) => known == key,
            Self::Many(keys) => {
                keys.remove(key);
                keys.is_empty()
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Key> {
        let (one, many) = match self {
            Self::One(key) => (Some(key), None),
            Self::Many(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

impl Graph {
    /// Records one change; repeating a change has no effect.
    pub(crate) fn fold(&mut self, change: &Change) {
        for owner in self.owners.remove(&change.key).unwrap_or_default() {
            let keys = self.dependents.get_mut(&owner);
            if keys.is_some_and(|keys| keys.remove(&change.key)) {
                self.dependents.remove(&owner);
            }
        }
        let references = change
            .new
            .as_deref()
            .map_or(&[][..], |object| object.meta().owner_references());
        if references.is_empty() {
            return;
        }
        let owners = references
            .iter()
            .map(|reference| self.put(&reference.uid, &change.key))
            .collect();
        self.owners.insert(change.key.clone(), owners);
    }

    /// Records that `key` belongs to the owner with `uid`. Returns the shared UID.
    fn put(&mut self, uid: &str, key: &Key) -> Arc<str> {
        if let Some((uid, _)) = self.dependents.get_key_value(uid) {
            let uid = Arc::clone(uid);
            if let Some(keys) = self.dependents.get_mut(&uid) {
                keys.insert(key.clone());
            }
            return uid;
        }
        let uid: Arc<str> = uid.into();
        self.dependents.insert(Arc::clone(&uid), Keys::One(key.clone()));
        uid
    }

    /// Keys of the dependents of the owner with the UID `owner`.
    pub(crate) fn dependents(&self, owner: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(owner).into_iter().flat_map(Keys::iter)
    }
}
