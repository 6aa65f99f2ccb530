//! Planned writes, their conditions, and reasons of failures: the types that dialects, stores and the hub
//! have in common.

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
    /// Replace an existing object, or a subresource of it.
    Update,
    /// Delete an existing object.
    Delete,
}

impl Verb {
    /// Returns the verb as in reports and audit events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// One planned write of a whole object. The object is an edit of the raw stored object, so that unknown
/// fields survive.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Action of the write.
    pub verb: Verb,
    /// Key of the object.
    pub key: Key,
    /// Subresource, such as `status` or `binding`, or the empty string.
    pub subresource: &'static str,
    /// The object after the write (before it, for a delete), in any served version, without a
    /// resourceVersion.
    pub object: Value,
    /// Revision on which the write was decided. `None` accepts any revision: for creates, for objects that an
    /// earlier write of the same list creates or changes, and for updates that do not depend on the stored
    /// state, such as those of Events.
    pub base: Option<Revision>,
}

/// Condition that must hold when a write is committed, so that the earlier decision is still valid. Berth's
/// own stores check guards atomically with the write. A hub has no guards: Berth checks them before it writes
/// to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Another object is still at a revision.
    Unchanged {
        /// Key of the object.
        key: Key,
        /// Revision of the object.
        revision: Revision,
    },
    /// No other write has passed the fence since the decision. The guarded write passes the fence itself.
    /// Fences serialize writes that take the same capacity, such as two bindings to one seed.
    Fence {
        /// Name of the fence, such as `gardener/seeds/eu-1`.
        name: Arc<str>,
        /// Revision of the snapshot on which the write was decided. No other write may have passed the fence
        /// after it.
        not_after: Revision,
    },
}

impl Guard {
    /// Creates a guard that passes the fence `name` without a condition, for writes that do not depend on an
    /// earlier decision.
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
    /// The written object, or the object of a guard, is at another revision.
    Changed,
    /// The object to update or delete does not exist.
    Gone,
    /// The object to create already exists.
    Exists,
    /// Another write passed the fence after the decision.
    Fenced,
    /// The server refused the write, since the writer lacks the right.
    Forbidden,
    /// The write violates a rule, or the rules could not be checked.
    Refused,
    /// The write was committed, but admission changed the decided content.
    Overruled,
}

impl WriteRefusal {
    /// Whether the decision behind the write is outdated: objects or fences have changed since, so a new
    /// decision may succeed.
    #[must_use]
    pub const fn is_outdated(self) -> bool {
        !matches!(self, Self::Forbidden | Self::Refused | Self::Overruled)
    }
}

/// A failed write: the reason, and the status that the client receives.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", .status.message)]
pub struct CommitError {
    /// Reason of the failure.
    pub reason: WriteRefusal,
    /// Status that the client receives.
    pub status: Status,
}

impl CommitError {
    /// Creates the error of a write that failed for `reason`; the client receives `status`.
    #[must_use]
    pub const fn new(reason: WriteRefusal, status: Status) -> Self {
        Self { reason, status }
    }

    /// The error that the object `name` of `resource` has changed since the decision, or was replaced by
    /// another object with this name.
    #[must_use]
    pub fn modified(resource: GroupResource, name: &str) -> Self {
        // The text that every client library compares (docs/reference.md, "Errors").
        let text =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::new(WriteRefusal::Changed, Status::conflict(resource, name, text))
    }

    /// The error that the object `name` of `resource` does not exist.
    #[must_use]
    pub fn gone(resource: GroupResource, name: &str) -> Self {
        Self::new(WriteRefusal::Gone, Status::not_found(resource, name))
    }
}

/// Converts a `Status` from an admission rule or a handler, whatever its code, to [`WriteRefusal::Refused`].
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
