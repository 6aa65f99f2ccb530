//! Changes of objects, with their revisions.

use std::sync::Arc;

use crate::key::Key;
use crate::object::Object;
use crate::revision::Revision;

/// One change of one object: `old` is the state before, `new` the state after. A create has no `old`, and a
/// delete has no `new`.
///
/// For a delete, `old` has the revision of the *deletion*, which the `DELETED` watch event requires.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision of this change.
    pub revision: Revision,
    /// Key of the object.
    pub key: Key,
    /// The object before the change; `None` for a create.
    pub old: Option<Arc<Object>>,
    /// The object after the change; `None` for a delete.
    pub new: Option<Arc<Object>>,
}

impl Change {
    /// Creates the change that adds `object`, to fold the objects of a list, a review or a file into an
    /// inventory.
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
