//! The part of a decision that only openMCP has.

use crate::config::Strategy;
use crate::fleet::Place;
use crate::release::Release;

/// Data for the sentences and writes of a decision.
#[derive(Debug)]
pub(crate) struct Detail {
    /// The planned result for the request.
    pub(crate) plan: Plan,
    /// The strategy that ordered the candidates.
    pub(crate) strategy: Strategy,
    /// Whether the caller chose the Cluster.
    pub(crate) chosen: bool,
}

/// The planned result for a request, from which the writes follow.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Nothing is written.
    Nothing,
    /// The request is granted the Cluster at `place`.
    Grant {
        place: Place,
        step: Step,
        /// Whether the Cluster lacks labels or annotations that are copied from the request.
        lacks_metadata: bool,
    },
    /// The request is Pending, for this reason.
    Fail { reason: &'static str, message: String },
    /// The request is being deleted, and releases its Clusters.
    Release(Release),
}

/// The step for the granted Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// No step: the Cluster has the request's finalizer.
    None,
    /// The Cluster gets the request's finalizer.
    Join,
    /// The Cluster is created.
    Create,
    /// The Cluster is created again, since the Cluster in the status no longer exists.
    Recreate,
}
