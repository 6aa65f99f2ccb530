//! Reason why an engine cannot decide now.

use berth_apimachinery::Revision;

/// Reason why there is no complete world for decisions now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Behind {
    /// The engine has not folded a revision in time: it is starting, or its source does not answer.
    #[error("the scheduling inventory has not caught up with revision {wanted} (it is at {have})")]
    Late {
        /// The awaited revision.
        wanted: Revision,
        /// The folded revision; 0 before the first load.
        have: Revision,
    },
    /// Some objects of the dialect are not known yet ([`crate::Engine::hold`]).
    #[error("{dialect}: {why}")]
    Held {
        /// The dialect.
        dialect: &'static str,
        /// Reason of the wait.
        why: String,
    },
}
