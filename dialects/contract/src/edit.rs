//! A change of a stored object, as data: a dialect proposes edits ([`crate::Advisor::drain`],
//! [`crate::Advisor::remedies`]), and plans and advice try them.

use berth_apimachinery::Key;
use serde_json::Value;

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// A JSON merge patch (RFC 7386) over the object.
    Merge {
        /// Key of the object.
        key: Key,
        /// The patch.
        patch: Value,
    },
    /// The deletion of an object. An object with finalizers stays, with a deletion timestamp.
    Delete(Key),
    /// The creation of a missing object.
    Create {
        /// Key of the object.
        key: Key,
        /// The whole object.
        object: Value,
    },
}

impl Edit {
    /// The key of the object that changes.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Merge { key, .. } | Self::Delete(key) | Self::Create { key, .. } => key,
        }
    }
}
