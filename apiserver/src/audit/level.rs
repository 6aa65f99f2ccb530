//! What an event is about, and how much of it is written.

use serde::Serialize;

/// Where in its life a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Stage {
    /// It is known what is asked and who asks.
    RequestReceived,
    /// A long-running request's headers are sent.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The handler panicked.
    Panic,
}

/// How much of a request an event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    /// There is none.
    None,
    /// Who, what, when, and how it ended.
    Metadata,
    /// The request's body, too.
    Request,
    /// Both bodies.
    RequestResponse,
}
