//! Errors of the connection between an aggregated server and its hub.

use std::path::PathBuf;
use std::time::Duration;

use berth_apiserver::authn::TrustError;
use berth_certs::CertsError;

/// Reason why a hub cannot be used for authentication, authorization or admission.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    Client(#[from] berth_client::Error),
    /// No kubeconfig is given, and the process does not run in a Pod.
    #[error("no kubeconfig: pass --kubeconfig, or run in a Pod with a service account: {0}")]
    NoKubeconfig(String),
    /// The ConfigMap with the CAs that the hub trusts cannot be read: the reason of the hub.
    #[error("reading extension-apiserver-authentication: {0}")]
    Unread(String),
    /// The ConfigMap with the CAs that the hub trusts has invalid content: all problems, joined by `; `.
    #[error("reading extension-apiserver-authentication: {0}")]
    Malformed(String),
    /// One CA would be trusted both for users and for front proxies of any name.
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

/// Reason why the registration of a server on a hub failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The hub refused the request, or could not be reached.
    #[error("{doing} {object}: {cause}")]
    Hub {
        /// Failed action, such as `reading`.
        doing: &'static str,
        /// Kind and name of the object.
        object: String,
        /// Reason of the hub; for the Secret of a shared CA also the source of a missing right.
        cause: String,
    },
    /// An object is malformed.
    #[error("{object}: {cause}")]
    Malformed {
        /// Kind and name of the object.
        object: String,
        /// Problem of the object.
        cause: String,
    },
    /// Every attempt to write the Secret failed because another client had changed it.
    #[error("too many conflicts on {0}: other clients change it at the same time")]
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
