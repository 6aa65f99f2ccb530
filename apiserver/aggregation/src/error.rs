//! Errors between a server and its hub.

use std::path::PathBuf;
use std::time::Duration;

use berth_apiserver::authn::TrustError;
use berth_certs::CertsError;

/// Why a hub could not be asked, or not believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A kubeconfig that cannot be used.
    #[error(transparent)]
    Client(#[from] berth_client::Error),
    /// No kubeconfig is given, and the process is in no Pod.
    #[error("no kubeconfig: pass --kubeconfig, or run in a Pod with a service account: {0}")]
    NoKubeconfig(String),
    /// The ConfigMap that says whom the hub believes was not read: the hub's reason.
    #[error("reading extension-apiserver-authentication: {0}")]
    Unread(String),
    /// The ConfigMap was read, and says nothing that can be believed: every problem, joined by `; `.
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

/// Why a server's registration could not be looked at, or its CA not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The hub refused, or could not be reached.
    #[error("{doing} {object}: {cause}")]
    Hub {
        /// Action in words, such as `reading`.
        doing: &'static str,
        /// The object, by kind and name.
        object: String,
        /// The hub's reason, with the source of the right that is missing.
        cause: String,
    },
    /// An object is not of the form that its kind has.
    #[error("{object}: {cause}")]
    Malformed {
        /// The object, by kind and name.
        object: String,
        /// The fault.
        cause: String,
    },
    /// Others changed the Secret each time.
    #[error("too many conflicts on {0}")]
    Conflicts(String),
    /// The CA is damaged, or certificates cannot be issued.
    #[error(transparent)]
    Certificates(#[from] CertsError),
    /// The file of the CA cannot be read.
    #[error("reading {}: {cause}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        cause: std::io::Error,
    },
}
