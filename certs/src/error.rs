//! Errors of certificates and keys. Errors about files name the file; errors about a CA whose key is missing
//! or that has expired also have the remedy.

use std::io;
use std::path::PathBuf;

/// An error of loading, issuing or writing certificates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertsError {
    /// A file could not be read or written.
    #[error("{}: {problem}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        problem: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Description of the error.
        problem: String,
    },
    /// The key of a CA certificate is missing.
    #[error(
        "{} exists but its key {} does not: restore the key, or move the certificate away, so that a new CA is created \
         (certificates of the old CA, and kubeconfigs with such certificates, then stop working)",
        certificate.display(), key.display()
    )]
    KeyMissing {
        /// Path of the certificate.
        certificate: PathBuf,
        /// Expected path of the key.
        key: PathBuf,
    },
    /// A certificate does not match its key.
    #[error(
        "{} is not the certificate of the key {}: replace one of them, so that the two match",
        certificate.display(), key.display()
    )]
    Mismatch {
        /// Path of the certificate.
        certificate: PathBuf,
        /// Path of the key.
        key: PathBuf,
    },
    /// A CA has expired.
    #[error(
        "{} expired at {not_after}: move it and its key away, so that a new CA is created, then distribute new kubeconfigs",
        path.display()
    )]
    Expired {
        /// Path of the certificate.
        path: PathBuf,
        /// Expiry of the certificate.
        not_after: berth_apimachinery::Timestamp,
    },
    /// A requested name is neither a host name nor an IP address.
    #[error("\"{name}\" is neither a host name nor an IP address: {problem}")]
    BadName {
        /// The name.
        name: String,
        /// Description of the error.
        problem: String,
    },
    /// A certificate could not be issued.
    #[error("cannot issue a certificate for {subject}: {problem}")]
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
