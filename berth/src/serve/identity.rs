//! Identity and trust of the server: certificates, trusted CAs, and the administrator's kubeconfig.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use berth_apimachinery::{Clock, Timestamp};
use berth_apiserver::authn::{Authentication, CaPool};
use berth_certs::{Folder, ServingCertificate};
use berth_kubernetes::rbac;
use kube::config::Cluster;

use super::Options;
use crate::kubeconfig::{Endpoint, Kubeconfig};

/// User name of the administrator of a standalone server.
const ADMIN: &str = "berth-admin";

/// Path of the administrator's kubeconfig in the data folder `data_dir`.
#[must_use]
pub(super) fn admin_kubeconfig(data_dir: &Path) -> PathBuf {
    data_dir.join("admin.kubeconfig")
}

/// The serving certificate: issued by the CA of `folder`, or read from the configured files.
///
/// # Errors
/// When files cannot be read or written, or certificate and key do not match.
pub(super) fn certificate(
    options: &Options,
    folder: &Arc<Folder>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<ServingCertificate>> {
    let certificate = match options.certificate() {
        Some((certificate, key)) => {
            ServingCertificate::from_files(certificate.into(), key.into(), Arc::clone(clock))?
        }
        None => ServingCertificate::issued(Arc::clone(folder), &options.names, Arc::clone(clock))?,
    };
    Ok(certificate)
}

/// The authentication of a standalone server. It accepts client certificates of the server's own CA and of
/// the configured CA, and request headers from front proxies with certificates of the server's own
/// front-proxy CA or of the configured front-proxy CA.
///
/// # Errors
/// When a CA file cannot be read, or a header name is invalid.
pub(super) fn authentication(options: &Options, folder: &Folder) -> Result<Authentication> {
    let trust = Arc::new(options.args.trust.standalone_trust(folder)?);
    Ok(Authentication {
        trust,
        tokens: None,
        anonymous: options.args.trust.anonymous_auth,
    })
}

/// Reads the CA of callers' client certificates from `file`; `None` without a file.
///
/// # Errors
/// When the file cannot be read, or is not a list of certificates.
pub(super) fn client_ca(file: Option<&Path>) -> Result<Option<CaPool>> {
    let Some(file) = file else {
        return Ok(None);
    };
    let pem = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let pool = CaPool::from_pem(&pem);
    pool.map(Some)
        .with_context(|| format!("reading the certificates of {}", file.display()))
}

/// Writes the administrator's kubeconfig for a server at `address`, unless a valid file exists, and returns
/// the path of the file. If the CA of `folder` issued the serving certificate (`is_own_certificate`), the
/// kubeconfig has this CA; otherwise clients trust the CAs of their system.
///
/// # Errors
/// When the certificate cannot be created or the file cannot be written.
pub(super) fn write_admin_kubeconfig(
    folder: &Folder,
    address: SocketAddr,
    is_own_certificate: bool,
    now: Timestamp,
) -> Result<PathBuf> {
    let url = match address {
        SocketAddr::V4(at) if at.ip().is_unspecified() => format!("https://127.0.0.1:{}", at.port()),
        SocketAddr::V6(at) if at.ip().is_unspecified() => format!("https://[::1]:{}", at.port()),
        other => format!("https://{other}"),
    };
    let server = Endpoint {
        url: &url,
        ca: is_own_certificate.then(|| folder.ca().certificate_pem()),
    };
    let path = admin_kubeconfig(folder.path());
    let groups = [rbac::MASTERS.to_owned()];
    // A kubeconfig that is still valid is kept, so that the server can start on a full disk.
    if !Kubeconfig::is_current(&path, folder, server, ADMIN, &groups, now) {
        Kubeconfig::issue(folder, server, ADMIN, &groups, false, now)?.write(&path)?;
    }
    Ok(std::path::absolute(&path)?)
}

/// The first cluster of the kubeconfig at `path`; an empty one if the kubeconfig has none.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn cluster_of(path: &Path) -> Result<Cluster> {
    let clusters = berth_client::kubeconfig(Some(path))?.clusters;
    let first = clusters.into_iter().find_map(|entry| entry.cluster);
    Ok(first.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::ca_of;

    #[test]
    fn the_admins_kubeconfig_has_the_servers_ca_only_if_it_issued_the_serving_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let folder = Folder::open(directory.path(), now).unwrap();
        // The flags may change between two starts, in both directions.
        for is_own in [true, false, true] {
            let address = SocketAddr::from(([0, 0, 0, 0], 7443));
            let path = write_admin_kubeconfig(&folder, address, is_own, now).unwrap();
            let cluster = cluster_of(&path).unwrap();
            assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:7443"));
            let wanted = is_own.then(|| folder.ca().certificate_pem().to_owned());
            assert_eq!(ca_of(&cluster), wanted);
        }
    }
}
