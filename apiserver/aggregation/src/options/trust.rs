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
    /// A CA (PEM) for client certificates of users. It replaces a hub's CA; without a hub, it is used beside
    /// the server's own.
    #[arg(long)]
    pub client_ca_file: Option<PathBuf>,
    /// The CA (PEM) of front proxies that may name users in request headers. It replaces a hub's CA; without a
    /// hub, it is used beside the server's own.
    #[arg(long)]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// The common names that those front proxies may have; any name if omitted.
    #[arg(long, value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// Headers with the user name, in the order of precedence.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-User")]
    pub requestheader_username_headers: Vec<String>,
    /// Headers with groups.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-Group")]
    pub requestheader_group_headers: Vec<String>,
    /// Prefixes of headers with extra attributes.
    #[arg(long, value_delimiter = ',', default_value = "X-Remote-Extra-")]
    pub requestheader_extra_headers_prefix: Vec<String>,
    /// Accept requests without credentials as system:anonymous.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set)]
    pub anonymous_auth: bool,
}

/// Reason why the flags are unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// A file that cannot be read.
    #[error("reading {}: {problem}", .file.display())]
    Unreadable {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system.
        problem: io::Error,
    },
    /// A file without CA certificates.
    #[error("reading the certificates of {}: {problem}", .file.display())]
    NoCa {
        /// Path of the file.
        file: PathBuf,
        /// Problem of the file.
        problem: TrustError,
    },
    /// A header name or a pair of CAs that cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl TrustArgs {
    /// Returns the CAs and headers of the flags, which take precedence over those of a hub.
    ///
    /// # Errors
    /// When a CA file cannot be read, or a header name is invalid.
    pub fn given(&self) -> Result<StaticTrust, GivenError> {
        let client = self.client_ca_file.as_deref().map(ca).transpose()?;
        let request_header = match &self.requestheader_client_ca_file {
            Some(file) => Some(self.request_header(ca(file)?)?),
            None => None,
        };
        Ok(StaticTrust {
            client,
            request_header,
            allowed_names: self.requestheader_allowed_names.clone(),
        })
    }

    /// Returns the trust of a server without a hub: in the CAs of `folder` and in those of the flags.
    ///
    /// # Errors
    /// When a CA file cannot be read, a header name is invalid, or one CA is both for users and for front
    /// proxies of any name.
    pub fn beside_own(&self, folder: &Folder) -> Result<Trust, GivenError> {
        let client = pool(folder.ca(), self.client_ca_file.as_deref())?;
        let front_proxy = pool(folder.front_proxy(), self.requestheader_client_ca_file.as_deref())?;
        let request_header = self.request_header(front_proxy)?;
        request_header.check_beside(&client)?;
        Ok(Trust::new(client, Some(request_header)))
    }

    /// Returns the headers of the flags, which are trusted from front proxies of `front_proxy`.
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

fn ca(file: &Path) -> Result<CaPool, GivenError> {
    CaPool::from_pem(&read(file)?).map_err(|problem| GivenError::NoCa {
        file: file.to_owned(),
        problem,
    })
}

/// The CAs of `own` and of `file`.
fn pool(own: &Authority, file: Option<&Path>) -> Result<CaPool, GivenError> {
    let Some(file) = file else {
        return Ok(CaPool::from_pem(own.certificate_pem().as_bytes())?);
    };
    let mut pem = own.certificate_pem().as_bytes().to_vec();
    pem.push(b'\n');
    pem.extend(read(file)?);
    CaPool::from_pem(&pem).map_err(|problem| GivenError::NoCa {
        file: file.to_owned(),
        problem,
    })
}

fn read(file: &Path) -> Result<Vec<u8>, GivenError> {
    std::fs::read(file).map_err(|problem| GivenError::Unreadable {
        file: file.to_owned(),
        problem,
    })
}
