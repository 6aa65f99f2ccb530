//! Stages of a request, and levels of detail.

use serde::Serialize;

/// Stages of a request's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Stage {
    /// The request and its user are known.
    RequestReceived,
    /// A long-running request's headers are sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The handler panicked.
    Panic,
}

/// Level of detail of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    /// No event.
    None,
    /// User, operation, time and outcome.
    Metadata,
    /// Metadata and the request's body.
    Request,
    /// Metadata and both bodies.
    RequestResponse,
}
