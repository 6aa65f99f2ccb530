//! Details of a decision of this system beyond the report of every dialect.

use crate::config::Strategy;
use crate::fleet::Place;
use crate::release::Release;

/// Details for the words and writes of a decision, in addition to its indices.
#[derive(Debug)]
pub(crate) struct Detail {
    /// Plan for the request.
    pub(crate) plan: Plan,
    /// The strategy that ordered the candidates.
    pub(crate) strategy: Strategy,
    /// Whether the caller chose the Cluster.
    pub(crate) chosen: bool,
}

/// Plan for a request.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Nothing.
    Nothing,
    /// It is granted the Cluster at `place`.
    Grant {
        place: Place,
        step: Step,
        /// Whether the Cluster lacks labels or annotations that the request passes on.
        lacks: bool,
    },
    /// It is Pending, and this is why.
    Fail { reason: &'static str, message: String },
    /// It is being deleted.
    Release(Release),
}

/// Step on the Cluster granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// No change: it has the request's finalizer.
    None,
    /// It gets the request's finalizer.
    Join,
    /// It is created.
    Create,
    /// It is created again: the status names one that is gone.
    Recreate,
}
