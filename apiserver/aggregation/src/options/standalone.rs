//! A server without a hub: its users have certificates of its own CA, and its administrator a kubeconfig.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Timestamp;
use berth_certs::files::{self, Access};
use berth_certs::{CertsError, Folder};
use serde_json::json;

/// The file of the administrator's kubeconfig.
const KUBECONFIG: &str = "admin.kubeconfig";
/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// Writes a kubeconfig of an administrator for the server at `address`, and returns its path. It is JSON,
/// which is YAML too.
///
/// # Errors
/// When the certificate cannot be made or the file cannot be written.
pub(super) fn write_kubeconfig(
    folder: &Folder,
    address: SocketAddr,
    now: Timestamp,
) -> Result<PathBuf, CertsError> {
    let host = match address {
        SocketAddr::V4(at) if at.ip().is_unspecified() => format!("127.0.0.1:{}", at.port()),
        SocketAddr::V6(at) if at.ip().is_unspecified() => format!("[::1]:{}", at.port()),
        other => other.to_string(),
    };
    let admin = folder.issue_client("admin", &[MASTERS.to_owned()], now)?;
    let encode = |text: &str| STANDARD.encode(text);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "standalone",
        "clusters": [{"name": "standalone", "cluster": {
            "server": format!("https://{host}"),
            "certificate-authority-data": encode(folder.ca().certificate_pem()),
        }}],
        "users": [{"name": "admin", "user": {
            "client-certificate-data": encode(&admin.certificate),
            "client-key-data": encode(&admin.key),
        }}],
        "contexts": [{"name": "standalone", "context": {"cluster": "standalone", "user": "admin"}}],
    });
    let path = folder.path().join(KUBECONFIG);
    files::write(&path, format!("{kubeconfig:#}\n").as_bytes(), Access::Owner)?;
    Ok(path)
}
