//! Retries of writes that depend on the stored object.

use std::sync::Arc;

use berth_apimachinery::write::CommitError;
use berth_apimachinery::{Object, Status};
use berth_storage::{At, StoreError};

use crate::errors;
use crate::registry::prepare::is_moved;
use crate::registry::{CONFLICT_ATTEMPTS, Target};
use crate::served::ServedVersion;

/// Reason why a write failed.
pub(crate) enum WriteFailure {
    /// The write was refused, by the rules or because of the stored state.
    Judged(Box<CommitError>),
    /// The store rejected the write.
    Store(StoreError),
}

impl From<CommitError> for WriteFailure {
    fn from(error: CommitError) -> Self {
        Self::Judged(Box::new(error))
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
    /// Error for the writer.
    pub(crate) fn into_error(self, served: &ServedVersion) -> CommitError {
        match self {
            Self::Judged(error) => *error,
            Self::Store(error) => errors::of_commit(error, served),
        }
    }

    /// Whether the write was judged, and nothing was written. A store that does not answer may have written.
    fn is_verdict(&self) -> bool {
        match self {
            Self::Judged(_) => true,
            Self::Store(error) => is_moved(error) || matches!(error, StoreError::NotFound { .. }),
        }
    }

    /// Whether the state changed between the verdict and the write.
    fn is_moved(&self) -> bool {
        matches!(self, Self::Store(error) if is_moved(error))
    }
}

/// The retry policy of one write.
///
/// On a shared store (etcd) a linearizable read costs a round trip. The cache is nearly always current, and
/// the write is a compare-and-swap on the revision on which it was judged; so the first attempt reads the
/// cache. Only a success of the first attempt is final: a rejected write is judged again on a fresh read.
pub(crate) struct Retries {
    at: At,
    attempts: usize,
}

impl Retries {
    /// Creates the policy. The first attempt of a dry run reads the newest state, since no commit detects an
    /// outdated state.
    pub(crate) fn of(target: Target<'_>, dry_run: bool) -> Result<Self, Status> {
        let at = match target.store()?.is_shared() && !dry_run {
            true => At::Any,
            false => At::Latest,
        };
        Ok(Self { at, attempts: 0 })
    }

    /// The object on which this attempt is judged.
    pub(crate) async fn current(&self, target: Target<'_>) -> Result<Arc<Object>, CommitError> {
        target.read(self.at).await
    }

    /// Whether the write is to be tried again after `failure`.
    pub(crate) fn retry(&mut self, failure: &WriteFailure) -> bool {
        if self.at == At::Any && failure.is_verdict() {
            self.at = At::Latest;
            return true;
        }
        self.attempts += 1;
        failure.is_moved() && self.attempts < CONFLICT_ATTEMPTS
    }
}
