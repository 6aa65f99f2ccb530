//! Errors of certificates and keys, each naming its file and the way out.

use std::io;
use std::path::PathBuf;

/// An error of loading, making or writing certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertsError {
    /// A file could not be read or written.
    #[error("{}: {problem}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        problem: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        problem: String,
    },
    /// A CA certificate without its key.
    #[error(
        "{} exists but its key {} does not: put the key back, or move the certificate away to have a new CA made \
         (certificates of the old one, and the kubeconfigs that hold them, then stop working)",
        certificate.display(), key.display()
    )]
    KeyMissing {
        /// The certificate.
        certificate: PathBuf,
        /// Path at which its key should be.
        key: PathBuf,
    },
    /// A certificate and a key do not belong together.
    #[error("{} is not the certificate of the key {}", certificate.display(), key.display())]
    Mismatch {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A CA's time is over.
    #[error(
        "{} expired at {not_after}: move it and its key away to have a new CA made, then hand out new kubeconfigs",
        path.display()
    )]
    Expired {
        /// The certificate.
        path: PathBuf,
        /// Its end.
        not_after: berth_apimachinery::Timestamp,
    },
    /// A name a certificate is asked for is neither a host name nor an IP address.
    #[error("\"{name}\" is neither a host name nor an IP address: {problem}")]
    BadName {
        /// The name.
        name: String,
        /// Description of the error.
        problem: String,
    },
    /// A certificate could not be made.
    #[error("making a certificate for {subject}: {problem}")]
    Issue {
        /// Subject of the certificate.
        subject: String,
        /// Description of the error.
        problem: String,
    },
}

impl CertsError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |problem| Self::Io { path, problem }
    }

    pub(crate) fn malformed(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self::Malformed {
            path: path.into(),
            problem: problem.into(),
        }
    }
}
