//! The folder with the CAs and certificates of a server.

use std::path::{Path, PathBuf};

use berth_apimachinery::Timestamp;
use rustls::crypto::CryptoProvider;

use crate::authority::{Authority, IssuedCertificate};
use crate::error::CertsError;
use crate::files::{self, Access};

/// The folder with the CAs and certificates of one server.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    ca: Authority,
    front_proxy: Authority,
}

impl Folder {
    /// Opens the folder at `path`. A missing folder or CA is created: `ca.{crt,key}` for serving and client
    /// certificates, `front-proxy-ca.{crt,key}` for front proxies, which may name users in request headers.
    ///
    /// # Errors
    /// When the folder cannot be created, a CA cannot be opened or created ([`Authority::open`]), or every
    /// user can read a secret file and its mode cannot be changed.
    pub fn open(path: impl Into<PathBuf>, now: Timestamp) -> Result<Self, CertsError> {
        let path = path.into();
        files::make_folder(&path)?;
        // A user who can write to the folder can replace the CA.
        files::tighten(&path, Access::Owner)?;
        for file in [
            "serving.key",
            "admin.kubeconfig",
            "berth.redb",
            "berth.redb.reserve",
        ] {
            files::tighten(&path.join(file), Access::Owner)?;
        }
        let ca = Authority::open(&path, "ca", "berth-ca", now)?;
        let front_proxy = Authority::open(&path, "front-proxy-ca", "berth-front-proxy-ca", now)?;
        Ok(Self {
            path,
            ca,
            front_proxy,
        })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The CA of serving and client certificates.
    #[must_use]
    pub fn ca(&self) -> &Authority {
        &self.ca
    }

    /// The CA of front proxies.
    #[must_use]
    pub fn front_proxy(&self) -> &Authority {
        &self.front_proxy
    }

    /// Issues a client certificate of [`Folder::ca`]: see [`Authority::issue_client`].
    ///
    /// # Errors
    /// When the certificate cannot be issued.
    pub fn issue_client(
        &self,
        user: &str,
        groups: &[String],
        now: Timestamp,
    ) -> Result<IssuedCertificate, CertsError> {
        self.ca.issue_client(user, groups, now)
    }

    /// The cryptography provider of TLS connections with certificates of this crate.
    #[must_use]
    pub fn provider() -> CryptoProvider {
        rustls::crypto::ring::default_provider()
    }
}
