//! Errors of a client.

use std::time::Duration;

use berth_apimachinery::Status;

/// Reason why a client could not be created, or a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kubeconfig is missing, cannot be read, or does not determine the server or user.
    #[error("{0}")]
    Kubeconfig(String),
    /// The configuration cannot be used for a client.
    #[error("cannot create a client: {0}")]
    Unusable(String),
    /// The path or body cannot be used for a request.
    #[error("{0}")]
    Malformed(String),
    /// The server did not answer, or not completely.
    #[error("{0}")]
    Unanswered(String),
    /// A successful answer is not JSON.
    #[error("{0}")]
    Unreadable(String),
    /// The server refused the request.
    #[error("{text}")]
    Refused {
        /// Message of the server. [`Client::get`](crate::Client::get) adds the path, and
        /// [`Client::apply`](crate::Client::apply) the remedy for a conflict of field managers.
        text: String,
        /// Answer of the server.
        status: Box<Status>,
    },
    /// The server does not serve the kind.
    #[error("the server does not serve kind \"{kind}\" in \"{version}\"")]
    NotServed {
        /// Kind of the object.
        kind: String,
        /// API version of the object.
        version: String,
    },
    /// The server was not ready within this client's time limit.
    #[error("the server was not ready within {limit:?}: {message}")]
    NotReady {
        /// Time limit of the client.
        limit: Duration,
        /// Last refusal of the server.
        message: String,
    },
    /// The server refused every attempt, each time for another field of the object.
    #[error(
        "{path}: rejected {attempts} times, each time for another field, the last time: {message}; add such \
         fields to the file as they are stored"
    )]
    Rejected {
        /// Path of the object.
        path: String,
        /// Number of attempts.
        attempts: usize,
        /// Last refusal of the server.
        message: String,
    },
    /// The object was written, but its status was not.
    #[error("{text}: {cause}")]
    StatusNotWritten {
        /// Description of the written part.
        text: String,
        /// Reason why the status was not written.
        cause: Box<Error>,
    },
}

impl Error {
    /// Creates the error of a refusal, with the server's message.
    pub(crate) fn refused(status: Box<Status>) -> Self {
        Self::Refused {
            text: status.message.clone(),
            status,
        }
    }

    /// Creates the error that an object was written without its status, for the reason in this error. `text`
    /// describes the written part.
    pub(crate) fn status_not_written(self, text: impl Into<String>) -> Self {
        Self::StatusNotWritten {
            text: text.into(),
            cause: Box::new(self),
        }
    }
}

/// Result of an operation of a client.
pub type Result<T, E = Error> = std::result::Result<T, E>;
