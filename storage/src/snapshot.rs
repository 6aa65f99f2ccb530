//! Snapshots: the content of a store at one revision, for a copy into another store.

use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision};

/// Every object of a store at one revision.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Revision of the store.
    pub revision: Revision,
    /// The objects, by resource, namespace and name.
    pub objects: Vec<(Key, Arc<Object>)>,
}

impl Snapshot {
    /// Returns the key of the first object that differs between `self` and `other`, apart from revisions, or
    /// that one of the snapshots does not have. Both snapshots must be in the same order.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Key> {
        let mut others = other.objects.iter();
        for (key, object) in &self.objects {
            match others.next() {
                Some((their_key, their)) if their_key == key && object.draft().same_as(their) => {}
                _ => return Some(key.clone()),
            }
        }
        others.next().map(|(key, _)| key.clone())
    }
}
