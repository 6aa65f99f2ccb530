//! Graph of owners and their dependents, from the owner references of stored objects.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use berth_apimachinery::{Change, Key};

/// Graph of owners and their dependents. Only dependents are kept, with the UIDs of their owners.
#[derive(Default)]
pub(crate) struct Graph {
    /// Keys of the dependents by the owner's UID.
    dependents: HashMap<Arc<str>, KeySet>,
    /// UIDs of the owners by the dependent's key.
    owners: HashMap<Key, Box<[Arc<str>]>>,
}

/// Set of keys. A single key needs no allocation: most owners own one object.
enum KeySet {
    One(Key),
    Many(HashSet<Key>),
}

impl KeySet {
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
    /// Updates the graph by one change; a repeated change has no effect.
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
            .map(|reference| self.add_dependent(&reference.uid, &change.key))
            .collect();
        self.owners.insert(change.key.clone(), owners);
    }

    /// Adds `key` to the dependents of the owner with `uid`. Returns the UID as the graph shares it.
    fn add_dependent(&mut self, uid: &str, key: &Key) -> Arc<str> {
        if let Some((uid, _)) = self.dependents.get_key_value(uid) {
            let uid = Arc::clone(uid);
            if let Some(keys) = self.dependents.get_mut(&uid) {
                keys.insert(key.clone());
            }
            return uid;
        }
        let uid: Arc<str> = uid.into();
        self.dependents.insert(Arc::clone(&uid), KeySet::One(key.clone()));
        uid
    }

    /// Keys of the dependents of the owner with the UID `owner`.
    pub(crate) fn dependents(&self, owner: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(owner).into_iter().flat_map(KeySet::iter)
    }
}
