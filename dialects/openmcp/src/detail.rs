//! What a decision of this system says beyond what every dialect reports.

use crate::config::Strategy;
use crate::fleet::Place;
use crate::release::Release;

/// What the words and writes of a decision need beside its indices.
#[derive(Debug)]
pub(crate) struct Detail {
    /// What is done.
    pub(crate) plan: Plan,
    /// The strategy that ordered the candidates.
    pub(crate) strategy: Strategy,
    /// Whether the caller chose the Cluster.
    pub(crate) chosen: bool,
}

/// What is done about a request.
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

/// What is done to the Cluster granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: it carries the request's finalizer.
    None,
    /// It gets the request's finalizer.
    Join,
    /// It is made.
    Create,
    /// It is made again: the status names one that is gone.
    Recreate,
}
