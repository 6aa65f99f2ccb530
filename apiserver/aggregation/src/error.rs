//! Errors between a server and its hub.

use std::path::PathBuf;
use std::time::Duration;

use berth_apiserver::authn::TrustError;
use berth_certs::CertsError;

/// Reason why a hub could not be reached, or its answer not be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Client(#[from] berth_client::Error),
    /// No kubeconfig is given, and the process does not run in a Pod.
    #[error("no kubeconfig: pass --kubeconfig, or run in a Pod with a service account: {0}")]
    NoKubeconfig(String),
    /// The ConfigMap with the CAs that the hub trusts was not read: the hub's reason.
    #[error("reading extension-apiserver-authentication: {0}")]
    Unread(String),
    /// The ConfigMap was read, and has no valid content: every problem, joined by `; `.
    #[error("reading extension-apiserver-authentication: {0}")]
    Malformed(String),
    /// One CA would be trusted for users, and for front proxies of any name.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The hub did not list a resource in time.
    #[error("the hub did not list {resource} within {limit:?}")]
    NotListed {
        /// Plural name of the resource.
        resource: String,
        /// Longest wait.
        limit: Duration,
    },
}

/// Reason why a server's registration could not be read or written, or its CA not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The hub refused the request, or could not be reached.
    #[error("{doing} {object}: {cause}")]
    Hub {
        /// Action in words, such as `reading`.
        doing: &'static str,
        /// The object, by kind and name.
        object: String,
        /// The hub's reason; about the Secret of a shared CA also the source of a missing right.
        cause: String,
    },
    /// An object does not have the form of its kind.
    #[error("{object}: {cause}")]
    Malformed {
        /// The object, by kind and name.
        object: String,
        /// Problem of the object.
        cause: String,
    },
    /// Other clients changed the Secret before each attempt to update it.
    #[error("too many conflicts on {0}")]
    Conflicts(String),
    /// The CA is damaged, or certificates cannot be issued.
    #[error(transparent)]
    Certificates(#[from] CertsError),
    /// The file of the CA cannot be read.
    #[error("reading {}: {cause}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system.
        cause: std::io::Error,
    },
}
