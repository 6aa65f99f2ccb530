//! Flags about trusted client certificates and front proxies, with the names of k8s.io/apiserver's flags.

use std::io;
use std::path::{Path, PathBuf};

use berth_apiserver::authn::{CaPool, RequestHeaderTrust, Trust, TrustError};
use berth_certs::{Authority, Folder};
use clap::Args;

use crate::StaticTrust;

/// Arguments about client certificates and front proxies.
#[derive(Args, Clone, Debug)]
pub struct TrustArgs {
    /// CAs (PEM) for client certificates of users. They replace the client CAs of the hub; without a hub,
    /// they are trusted in addition to the server's own CA.
    #[arg(long)]
    pub client_ca_file: Option<PathBuf>,
    /// CAs (PEM) of front proxies, which name users in request headers. They replace the front proxy CAs of
    /// the hub; without a hub, they are trusted in addition to the server's own front proxy CA.
    #[arg(long)]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// Common names that the certificates of front proxies may have; any name if omitted. Names that the hub
    /// publishes take precedence, unless --requestheader-client-ca-file is set.
    #[arg(long, value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// Request headers with the user name, in the order of precedence. Behind a hub, the headers that the hub
    /// publishes are used instead, unless --requestheader-client-ca-file is set.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-User")]
    pub requestheader_username_headers: Vec<String>,
    /// Request headers with groups of the user. Behind a hub, the headers that the hub publishes are used
    /// instead, unless --requestheader-client-ca-file is set.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-Group")]
    pub requestheader_group_headers: Vec<String>,
    /// Prefixes of request headers with extra attributes of the user. Behind a hub, the prefixes that the hub
    /// publishes are used instead, unless --requestheader-client-ca-file is set.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-Extra-")]
    pub requestheader_extra_headers_prefix: Vec<String>,
    /// Accept requests without credentials as system:anonymous.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub anonymous_auth: bool,
}

/// Reason why flags about trust cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustArgsError {
    /// A CA file cannot be read.
    #[error("reading {}: {problem}", .file.display())]
    Unreadable {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system.
        problem: io::Error,
    },
    /// A CA file has no valid CA certificates.
    #[error("reading the certificates of {}: {problem}", .file.display())]
    NoCa {
        /// Path of the file.
        file: PathBuf,
        /// Problem of the file.
        problem: TrustError,
    },
    /// A header name is invalid, or one CA is both for users and for front proxies of any name.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl TrustArgs {
    /// Returns the CAs and headers of the flags, which take precedence over the trust of the hub.
    ///
    /// # Errors
    /// When a CA file cannot be read, or a header name is invalid.
    pub fn static_trust(&self) -> Result<StaticTrust, TrustArgsError> {
        let client = self.client_ca_file.as_deref().map(ca_pool).transpose()?;
        let request_header = match &self.requestheader_client_ca_file {
            Some(file) => Some(self.request_header(ca_pool(file)?)?),
            None => None,
        };
        Ok(StaticTrust {
            client,
            request_header,
            allowed_names: self.requestheader_allowed_names.clone(),
        })
    }

    /// Returns the trust of a server without a hub: the CAs of `folder` and of the flags.
    ///
    /// # Errors
    /// When a CA file cannot be read, a header name is invalid, or one CA is both for users and for front
    /// proxies of any name.
    pub fn standalone_trust(&self, folder: &Folder) -> Result<Trust, TrustArgsError> {
        let client = extended_pool(folder.ca(), self.client_ca_file.as_deref())?;
        let front_proxy = extended_pool(folder.front_proxy(), self.requestheader_client_ca_file.as_deref())?;
        let request_header = self.request_header(front_proxy)?;
        request_header.check_separate_from(&client)?;
        Ok(Trust::new(client, Some(request_header)))
    }

    /// Returns the trust in front proxies with certificates of `front_proxy`, and in the headers of the
    /// flags.
    ///
    /// # Errors
    /// When a header name is invalid.
    pub fn request_header(&self, front_proxy: CaPool) -> Result<RequestHeaderTrust, TrustError> {
        Ok(RequestHeaderTrust {
            username_headers: RequestHeaderTrust::header_names(&self.requestheader_username_headers)?,
            group_headers: RequestHeaderTrust::header_names(&self.requestheader_group_headers)?,
            extra_prefixes: self
                .requestheader_extra_headers_prefix
                .iter()
                .map(|prefix| prefix.to_lowercase())
                .collect(),
            ..RequestHeaderTrust::new(front_proxy, self.requestheader_allowed_names.clone())
        })
    }
}

/// Reads the CA certificates in `file`.
fn ca_pool(file: &Path) -> Result<CaPool, TrustArgsError> {
    CaPool::from_pem(&read(file)?).map_err(|problem| TrustArgsError::NoCa {
        file: file.to_owned(),
        problem,
    })
}

/// Returns the CA `own` together with the CAs in `file`.
fn extended_pool(own: &Authority, file: Option<&Path>) -> Result<CaPool, TrustArgsError> {
    let Some(file) = file else {
        return Ok(CaPool::from_pem(own.certificate_pem().as_bytes())?);
    };
    let mut pem = own.certificate_pem().as_bytes().to_vec();
    pem.push(b'\n');
    pem.extend(read(file)?);
    CaPool::from_pem(&pem).map_err(|problem| TrustArgsError::NoCa {
        file: file.to_owned(),
        problem,
    })
}

fn read(file: &Path) -> Result<Vec<u8>, TrustArgsError> {
    std::fs::read(file).map_err(|problem| TrustArgsError::Unreadable {
        file: file.to_owned(),
        problem,
    })
}
