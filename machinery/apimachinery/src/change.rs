//! Changes of objects, with their revisions.

use std::sync::Arc;

use crate::key::Key;
use crate::object::Object;
use crate::revision::Revision;

/// One change of one object: `old` is the state before, `new` the state after. A delete has no `new`.
///
/// At least one of the two is always present. For a delete, `old` carries the *deletion's* revision, as the
/// `DELETED` watch event must.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision of this change.
    pub revision: Revision,
    /// Key of the object.
    pub key: Key,
    /// The object before the change.
    pub old: Option<Arc<Object>>,
    /// The object after the change.
    pub new: Option<Arc<Object>>,
}

impl Change {
    /// The change that makes `object` appear: how lists, reviews and files are folded into an inventory.
    #[must_use]
    pub fn added(key: Key, object: Arc<Object>) -> Self {
        Self {
            revision: object.revision(),
            key,
            old: None,
            new: Some(object),
        }
    }
}
