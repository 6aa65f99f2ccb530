//! Stages and levels of audit events.

use serde::Serialize;

/// Stage of a request at which an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Stage {
    /// The request and its user are known.
    RequestReceived,
    /// The response of a long-running request begins.
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
    /// Metadata, and the bodies of request and response.
    RequestResponse,
}
