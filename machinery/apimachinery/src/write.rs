//! A planned write, its conditions, and the reason of a failure. The dialect that plans a write, the
//! store and the hub use the same types.

use std::sync::Arc;

use serde_json::Value;

use crate::key::{GroupResource, Key};
use crate::revision::Revision;
use crate::status::Status;

/// Action of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Create an object that does not exist.
    Create,
    /// Replace an existing object (through the subresource, where one is named).
    Update,
    /// Delete an existing object.
    Delete,
}

impl Verb {
    /// The verb as reports and audit events write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// One planned write: a whole object. It is an edit of the raw stored object, so that unknown fields
/// survive.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Action.
    pub verb: Verb,
    /// Object, by the resource's own name.
    pub key: Key,
    /// `status`, `binding` and alike, or the empty string.
    pub subresource: &'static str,
    /// The object after the write (before it, for a delete), in any served version, without a
    /// resourceVersion.
    pub object: Value,
    /// The revision on which the write was decided. `None` accepts any revision: for creates, and for
    /// objects that an earlier write of the same list makes.
    pub base: Option<Revision>,
}

/// Condition for a write, so that an earlier verdict still holds at the write. Only Berth's own stores
/// have guards; a hub does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Another object is still at this revision.
    Unchanged {
        /// Key of the object.
        key: Key,
        /// Its revision.
        revision: Revision,
    },
    /// No other write passed this fence after `not_after` (the revision of the snapshot decided on). Making
    /// the write passes the fence. Fences serialize writes that count the same capacity, such as two bindings
    /// to one seed.
    Fence {
        /// The fence's name, such as `gardener/seeds/eu-1`.
        name: Arc<str>,
        /// The revision of the decision's snapshot.
        not_after: Revision,
    },
}

impl Guard {
    /// Passes the fence `name` without a condition: for writes that do not depend on an earlier
    /// decision.
    #[must_use]
    pub fn pass(name: Arc<str>) -> Self {
        Self::Fence {
            name,
            not_after: Revision(u64::MAX),
        }
    }
}

/// Reason why a write failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// The object, or the object of a guard, is at another revision.
    Changed,
    /// The object to update or delete does not exist.
    Gone,
    /// The object to create exists.
    Exists,
    /// A fence was passed by another write after the decision.
    Fenced,
    /// The writer has no right to do it, by the answer of the server.
    Forbidden,
    /// The write breaks a rule, or the rules could not be checked.
    Refused,
    /// The write was done, but admission changed the decided content.
    Overruled,
}

impl WriteRefusal {
    /// Whether a new decision may help, since objects have changed after this one.
    #[must_use]
    pub const fn is_moved(self) -> bool {
        !matches!(self, Self::Forbidden | Self::Refused | Self::Overruled)
    }
}

/// A failed write: the reason, and the answer for the client.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .status.message)]
pub struct CommitError {
    /// The reason.
    pub why: WriteRefusal,
    /// Answer for the client.
    pub status: Status,
}

impl CommitError {
    /// An error for this reason.
    #[must_use]
    pub const fn new(why: WriteRefusal, status: Status) -> Self {
        Self { why, status }
    }

    /// The object `name` of `resource` has changed since the decision, or is another one of the same
    /// name.
    #[must_use]
    pub fn modified(resource: GroupResource, name: &str) -> Self {
        // The words every client library compares against (docs/reference.md, "Errors").
        let text =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(WriteRefusal::Changed, Status::conflict(resource, name, text))
    }

    /// The object `name` of `resource` does not exist.
    #[must_use]
    pub fn gone(resource: GroupResource, name: &str) -> Self {
        Self::new(WriteRefusal::Gone, Status::not_found(resource, name))
    }
}

/// A refusal with a `Status` of rules or handlers, of any code.
impl From<Status> for CommitError {
    fn from(status: Status) -> Self {
        Self::new(WriteRefusal::Refused, status)
    }
}

impl From<CommitError> for Status {
    fn from(error: CommitError) -> Self {
        error.status
    }
}
