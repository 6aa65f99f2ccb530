//! Errors of a store, with keys and revisions, independent of HTTP.

use berth_apimachinery::{Key, Revision};

/// An error of a list, a watch or an apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The object to read, update or delete does not exist.
    #[error("{key} not found")]
    NotFound {
        /// Key of the object.
        key: Key,
    },
    /// The object to create already exists.
    #[error("{key} already exists")]
    AlreadyExists {
        /// Key of the object.
        key: Key,
    },
    /// The object (or the object of a guard) is at another revision than expected.
    #[error("{key} is {}, not {}", presence(.have.as_ref()), presence(.want.as_ref()))]
    Conflict {
        /// Key of the object.
        key: Key,
        /// Present revision; `None` when the object does not exist.
        have: Option<Revision>,
        /// Expected revision; `None` when the object was expected to be absent.
        want: Option<Revision>,
    },
    /// Another write passed a fence after the revision of the decision.
    #[error("fence {name} was passed at {at}, after {not_after}")]
    Fenced {
        /// Name of the fence.
        name: String,
        /// Revision at which the fence was last passed, or an upper limit if the store no longer knows it.
        at: Revision,
        /// Revision after which the fence must not have been passed.
        not_after: Revision,
    },
    /// The requested revision is older than the kept history.
    #[error("revision {asked} is too old, the oldest is {oldest}")]
    Expired {
        /// Requested revision.
        asked: Revision,
        /// Oldest revision that is still known.
        oldest: Revision,
    },
    /// The store has not reached the requested revision in time.
    #[error("revision {asked} is ahead of {current}")]
    TooNew {
        /// Requested revision.
        asked: Revision,
        /// Present revision of the store.
        current: Revision,
    },
    /// The step contradicts itself: a bug of the program, never an error of the user.
    #[error("{key}: {problem}")]
    Misuse {
        /// Key of the object.
        key: Key,
        /// Description of the error.
        problem: String,
    },
    /// A stored record is damaged, or the file cannot be read as a database. Nothing was changed.
    #[error(
        "{file}: {key}: {problem}; the file is damaged: restore it from a backup (`berth restore`), or let `berth repair` keep what is whole"
    )]
    Corrupt {
        /// Path of the database file.
        file: String,
        /// Damaged record (`record <resource>.<group>/<namespace>/<name>`), or part of the file.
        key: String,
        /// Description of the error.
        problem: String,
    },
    /// The value of a key in a shared store (etcd) is invalid. Nothing was changed.
    #[error(
        "{place}: the value of {key} cannot be read: {problem}; restore it from a backup, or delete the key"
    )]
    Unreadable {
        /// Name of the store.
        place: String,
        /// Key in the store.
        key: String,
        /// Description of the error.
        problem: String,
    },
    /// A value is encrypted, and cannot be decrypted with the available keys. Nothing was changed.
    #[error("{place}: {key}: {problem}; start with the keys it was written with")]
    Sealed {
        /// Path of the database file, or name of the store.
        place: String,
        /// Record or key of the value.
        key: String,
        /// Problem with an encryption key.
        problem: String,
    },
    /// The object is larger than the store accepts: than [`MAX_OBJECT_BYTES`](crate::MAX_OBJECT_BYTES), or
    /// than etcd's own limit of a request.
    #[error("{key} has {bytes} bytes, more than the store accepts")]
    TooLarge {
        /// Key of the object.
        key: Key,
        /// Size of the object.
        bytes: usize,
    },
    /// The store is unavailable (starting, closed, disk full). The write is not visible. If the disk failed
    /// during the write, the write may still be visible after a restart. A write to etcd that was sent but
    /// not answered may be committed already, or later; the message says so.
    #[error("store unavailable: {0}")]
    Unavailable(String),
}

/// Returns `at revision …`, or `absent` without a revision.
fn presence(revision: Option<&Revision>) -> String {
    revision.map_or_else(
        || "absent".to_owned(),
        |revision| format!("at revision {revision}"),
    )
}

/// Reason why a store is not ready. Operators see it in the log and at `/readyz/storage`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReady {
    /// A write failed: only a restart reads the stored state again.
    #[error("{0}")]
    Failed(String),
    /// The store cannot be watched: it is unreachable, or refuses the watch.
    #[error("{0}")]
    Unreachable(String),
    /// A value in etcd is not an object, or cannot be decrypted.
    #[error("the value of {key} in etcd cannot be read: {problem}")]
    Unreadable {
        /// Key of the value.
        key: Key,
        /// Description of the error.
        problem: String,
    },
}
