//! All of a store at one revision: the content for a copy into another store.

use std::sync::Arc;

use berth_apimachinery::{Key, Object, Revision};

/// Every object of a store at one revision.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The store's revision.
    pub revision: Revision,
    /// The objects, by resource, namespace and name.
    pub objects: Vec<(Key, Arc<Object>)>,
}

impl Snapshot {
    /// The first object of `self` that is not the same in `other`, revisions apart, or of `other` that is not
    /// in `self`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Key> {
        let mut theirs = other.objects.iter();
        for (key, object) in &self.objects {
            match theirs.next() {
                Some((their_key, their)) if their_key == key && object.draft().same_as(their) => {}
                _ => return Some(key.clone()),
            }
        }
        theirs.next().map(|(key, _)| key.clone())
    }
}
