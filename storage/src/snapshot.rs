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
    /// that one of the snapshots does not have. Both snapshots must be in the order of the keys.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<Key> {
        let mut others = other.objects.iter();
        for (key, object) in &self.objects {
            match others.next() {
                Some((their_key, their)) if their_key == key && object.draft().same_as(their) => {}
                Some((their_key, _)) => return Some(key.min(their_key).clone()),
                None => return Some(key.clone()),
            }
        }
        others.next().map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{draft, thing};

    fn snapshot(names: &str) -> Snapshot {
        let objects = names.split(' ').map(|name| {
            let key = thing("a", name);
            let object = Arc::new(draft(&key, 1).at(Revision(1)));
            (key, object)
        });
        Snapshot {
            revision: Revision(1),
            objects: objects.collect(),
        }
    }

    #[test]
    fn the_first_object_that_one_snapshot_does_not_have_is_named() {
        for (one, other, first) in [
            ("x y", "x y", None),
            ("x y", "w x y", Some("w")),
            ("w x y", "x y", Some("w")),
            ("x", "x y", Some("y")),
        ] {
            let difference = snapshot(one).difference(&snapshot(other));
            assert_eq!(difference, first.map(|name| thing("a", name)), "{one}; {other}");
        }
    }
}
