//! Retries of writes that depend on the stored object.

use std::sync::Arc;

use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Object, Status};
use berth_storage::{At, StoreError};

use crate::errors;
use crate::registry::prepare::is_outdated;
use crate::registry::{CONFLICT_ATTEMPTS, ObjectAddress};
use crate::served::ServedVersion;

/// Reason why a write failed.
pub(crate) enum WriteFailure {
    /// The write was refused by admission or validation, or because of the stored object.
    Refused(Box<CommitError>),
    /// The store rejected the write.
    Store(StoreError),
}

impl From<CommitError> for WriteFailure {
    fn from(error: CommitError) -> Self {
        Self::Refused(Box::new(error))
    }
}

impl From<Status> for WriteFailure {
    fn from(status: Status) -> Self {
        CommitError::from(status).into()
    }
}

impl From<StoreError> for WriteFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl WriteFailure {
    /// Converts the failure to an error for the writer.
    pub(crate) fn into_error(self, served: &ServedVersion) -> CommitError {
        match self {
            Self::Refused(error) => *error,
            Self::Store(error) => errors::of_commit(error, served),
        }
    }

    /// Whether it is certain that nothing was written. A store that does not answer may have written.
    fn wrote_nothing(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Store(error) => is_outdated(error) || matches!(error, StoreError::NotFound { .. }),
        }
    }

    /// Whether the write was admitted on an outdated state of the store.
    fn is_outdated(&self) -> bool {
        matches!(self, Self::Store(error) if is_outdated(error))
    }
}

/// Retry policy of one write.
///
/// On a shared store (etcd), a linearizable read costs a round trip. The cache is nearly always current, and
/// the write requires that the object still has the revision that was read. So the first attempt reads the
/// cache. If it is refused, the next attempt reads the store, since the object in the cache may have been
/// outdated.
pub(crate) struct Retries {
    at: At,
    attempts: usize,
}

impl Retries {
    /// Creates the policy. A dry run always reads the newest state, since there is no commit that detects an
    /// outdated state.
    pub(crate) fn of(address: ObjectAddress<'_>, dry_run: bool) -> Result<Self, Status> {
        let at = match address.store()?.is_shared() && !dry_run {
            true => At::Any,
            false => At::Latest,
        };
        Ok(Self { at, attempts: 0 })
    }

    /// Reads the object for this attempt.
    pub(crate) async fn current(&self, address: ObjectAddress<'_>) -> Result<Arc<Object>, CommitError> {
        address.read(self.at).await
    }

    /// Counts the attempt that ended with `failure`, and returns whether the write is to be tried again.
    pub(crate) fn retry(&mut self, failure: &WriteFailure) -> bool {
        if self.at == At::Any && failure.wrote_nothing() {
            self.at = At::Latest;
            return true;
        }
        self.attempts += 1;
        failure.is_outdated() && self.attempts < CONFLICT_ATTEMPTS
    }
}
