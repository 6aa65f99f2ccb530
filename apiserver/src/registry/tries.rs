//! How often, and on what, a write that rests on the stored object is judged.

use std::sync::Arc;

use meta::{Object, Status};
use storage::{At, StoreError};

use crate::errors;
use crate::registry::prepare::is_moved;
use crate::registry::{CONFLICT_ATTEMPTS, Served, Target};

/// Why a write came to nothing.
pub(crate) enum Refused {
    /// By the rules.
    Status(Box<Status>),
    /// By the store.
    Store(StoreError),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Refused {
    /// What the client gets.
    pub(crate) fn into_status(self, served: &Served) -> Status {
        match self {
            Self::Status(status) => *status,
            Self::Store(error) => errors::of_store(error, served),
        }
    }

    /// Whether something was judged, and nothing was written. A store that does not answer may have written.
    fn is_verdict(&self) -> bool {
        match self {
            Self::Status(_) => true,
            Self::Store(error) => is_moved(error) || matches!(error, StoreError::NotFound { .. }),
        }
    }

    /// Whether the world moved between the verdict and the write.
    fn is_moved(&self) -> bool {
        matches!(self, Self::Store(error) if is_moved(error))
    }
}

/// The tries of one write.
///
/// Where others write to the same store, finding out what is newest takes a question to all of it. What is at hand is
/// nearly always the newest, and the write is guarded by the revision it was judged on; so the first try takes what is
/// at hand. Only what that try lets through counts: what is refused is judged again on the newest.
pub(crate) struct Tries {
    at: At,
    made: usize,
}

impl Tries {
    /// None yet. A dry run is guarded by nothing, so it takes the newest.
    pub(crate) fn of(target: Target<'_>, dry_run: bool) -> Result<Self, Status> {
        let at = match target.store()?.is_shared() && !dry_run {
            true => At::Any,
            false => At::Latest,
        };
        Ok(Self { at, made: 0 })
    }

    /// The object to judge this try by.
    pub(crate) async fn current(&self, target: Target<'_>) -> Result<Arc<Object>, Status> {
        target.read(self.at).await
    }

    /// Whether a write that was refused is to be tried again.
    pub(crate) fn again(&mut self, refused: &Refused) -> bool {
        if self.at == At::Any && refused.is_verdict() {
            self.at = At::Latest;
            return true;
        }
        self.made += 1;
        refused.is_moved() && self.made < CONFLICT_ATTEMPTS
    }
}
