//! The error of an engine that cannot decide yet.

use berth_apimachinery::Revision;

/// Reason why an engine has no complete world for decisions yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadinessError {
    /// The engine has not folded a revision in time: the engine is starting, or the source does not answer.
    #[error("the scheduling inventory has not caught up with revision {wanted} (it is at {have})")]
    NotCaughtUp {
        /// The awaited revision.
        wanted: Revision,
        /// The folded revision; 0 before the first load.
        have: Revision,
    },
    /// The source has not returned its newest revision; with its error.
    #[error("{0}")]
    SourceUnavailable(String),
    /// Some objects of the dialect are not synced yet ([`crate::Engine::hold`]).
    #[error("{dialect}: {why}")]
    NotSynced {
        /// The name of the dialect.
        dialect: &'static str,
        /// The reason why the objects are not synced.
        why: String,
    },
}
