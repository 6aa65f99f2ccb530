//! Errors of a client.

use std::time::Duration;

use berth_apimachinery::Status;

/// Why a server could not be asked, gave no answer, or did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No kubeconfig, one that cannot be read, or one that does not say which server or user is meant.
    #[error("{0}")]
    Kubeconfig(String),
    /// A configuration that makes no client.
    #[error("making a client: {0}")]
    Unusable(String),
    /// A path, or a body, that makes no request.
    #[error("{0}")]
    Malformed(String),
    /// No answer came, or not all of it.
    #[error("{0}")]
    Unanswered(String),
    /// An answer that says it is JSON, and is not.
    #[error("{0}")]
    Unreadable(String),
    /// The server refused.
    #[error("{text}")]
    Refused {
        /// Its message, with the place where that does not name it.
        text: String,
        /// Its answer.
        status: Box<Status>,
    },
    /// The server knows no such kind.
    #[error("the server does not serve kind \"{kind}\" in \"{version}\"")]
    NotServed {
        /// `kind` of the object.
        kind: String,
        /// `apiVersion` of the object.
        version: String,
    },
    /// The server was not ready for as long as this client waits.
    #[error("the server was not ready within {limit:?}: {message}")]
    NotReady {
        /// Longest wait.
        limit: Duration,
        /// Its last refusal.
        message: String,
    },
    /// Fields of the object were given up one after the other, and there was no end of it.
    #[error("{path}: rejected {attempts} times, each time for another field")]
    Rejected {
        /// Path of the object.
        path: String,
        /// Number of attempts.
        attempts: usize,
    },
    /// A part of an object was written, and its status was not.
    #[error("{text}: {cause}")]
    Partly {
        /// The part that was written, in words.
        text: String,
        /// Reason why the status was not.
        cause: Box<Error>,
    },
}

impl Error {
    /// A refusal in the server's words.
    pub(crate) fn refused(status: Box<Status>) -> Self {
        Self::Refused {
            text: status.message.clone(),
            status,
        }
    }

    /// This error as the reason why an object was written in part.
    pub(crate) fn partly(self, text: impl Into<String>) -> Self {
        Self::Partly {
            text: text.into(),
            cause: Box::new(self),
        }
    }
}

/// Result of a client.
pub type Result<T, E = Error> = std::result::Result<T, E>;
