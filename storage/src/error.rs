//! Errors of a store: codes, keys and revisions, no prose for users and no HTTP.

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
    /// The object to create is there already.
    #[error("{key} already exists")]
    AlreadyExists {
        /// Key of the object.
        key: Key,
    },
    /// The object (or a guard) is at another revision than expected.
    #[error("{key} is at revision {have:?}, not {want:?}")]
    Conflict {
        /// Key of the object.
        key: Key,
        /// Its revision; `None` when it does not exist.
        have: Option<Revision>,
        /// The revision that was expected; `None` when it was expected to be absent.
        want: Option<Revision>,
    },
    /// A fence was passed by another write after the revision of the decision.
    #[error("fence {name} was passed at {at}, after {not_after}")]
    Fenced {
        /// The fence.
        name: String,
        /// Revision of its last passing.
        at: Revision,
        /// The revision it was expected not to be passed after.
        not_after: Revision,
    },
    /// The requested revision is older than the kept history.
    #[error("revision {asked} is too old, the oldest is {oldest}")]
    Expired {
        /// The revision asked for.
        asked: Revision,
        /// The oldest revision still known.
        oldest: Revision,
    },
    /// The revision asked for is ahead of the store and did not come in time.
    #[error("revision {asked} is ahead of {current}")]
    TooNew {
        /// The revision asked for.
        asked: Revision,
        /// The store's revision.
        current: Revision,
    },
    /// The step contradicts itself: a fault of the caller, never of the user.
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
        /// The database file.
        file: String,
        /// The record (`record <resource>/<namespace>/<name>`), or the part of the file.
        key: String,
        /// Description of the error.
        problem: String,
    },
    /// A key of a shared store (etcd) has an invalid value. Nothing was changed.
    #[error(
        "{place}: the value of {key} cannot be read: {problem}; restore it from a backup, or delete the key"
    )]
    Unreadable {
        /// Store.
        place: String,
        /// The store's own key.
        key: String,
        /// Description of the error.
        problem: String,
    },
    /// A value is encrypted, and cannot be decrypted with the keys at hand. Nothing was changed.
    #[error("{place}: {key}: {problem}; start with the keys it was written with")]
    Sealed {
        /// The database file, or which store.
        place: String,
        /// The record or key.
        key: String,
        /// Problem with an encryption key.
        problem: String,
    },
    /// The object is larger than the store takes.
    #[error("{key} has {bytes} bytes, more than the store takes at once")]
    TooLarge {
        /// Key of the object.
        key: Key,
        /// Its size.
        bytes: usize,
    },
    /// The store cannot answer now (starting, closed, disk full). The write is not visible. When the
    /// disk failed in the middle of it, it may still be there after a restart. A write to etcd that was
    /// sent but not answered may be done already, or later; the text says so.
    #[error("store unavailable: {0}")]
    Unavailable(String),
}

/// Reason why a store accepts no writes. Operators read it in the log and at `/readyz/storage`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReady {
    /// A write failed in between: only a restart reads the stored state again.
    #[error("{0}")]
    Failed(String),
    /// The store cannot be followed: it is away, or refuses.
    #[error("{0}")]
    Unreachable(String),
    /// A value that is not an object, or not one that this program can read.
    #[error("the value of {key} in etcd cannot be read: {problem}")]
    Unreadable {
        /// Key of the value.
        key: Key,
        /// Description of the error.
        problem: String,
    },
}
