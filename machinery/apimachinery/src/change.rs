//! Changes of objects, with their revisions.

use std::sync::Arc;

use crate::key::Key;
use crate::object::Object;
use crate::revision::Revision;

/// One change of one object: `old` is the state before, `new` the state after. A delete has no `new`.
///
/// At least one of the two is always present. For a delete, `old` has the revision of the *deletion*, which
/// the `DELETED` watch event requires.
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
    /// The change that adds `object`: lists, reviews and files are folded into an inventory by such changes.
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
