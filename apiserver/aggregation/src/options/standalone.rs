//! A server without a hub: its users have certificates of the server's own CA, and its administrator has a
//! kubeconfig.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Timestamp;
use berth_certs::files::{self, Access};
use berth_certs::{CertsError, Folder};
use serde_json::json;

/// File name of the administrator's kubeconfig.
const KUBECONFIG: &str = "admin.kubeconfig";
/// Group whose members are allowed everything.
const MASTERS: &str = "system:masters";

/// Writes an administrator's kubeconfig for the server at `address`, and returns its path. The file is JSON,
/// which is also valid YAML.
///
/// # Errors
/// When the certificate cannot be issued or the file cannot be written.
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
