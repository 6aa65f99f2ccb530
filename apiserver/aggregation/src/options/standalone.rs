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
/// which is also valid YAML. If the CA of `folder` issued the serving certificate (`is_own_certificate`), the
/// kubeconfig has this CA; otherwise clients trust the CAs of their system.
///
/// # Errors
/// When the certificate cannot be issued or the file cannot be written.
pub(super) fn write_kubeconfig(
    folder: &Folder,
    address: SocketAddr,
    is_own_certificate: bool,
    now: Timestamp,
) -> Result<PathBuf, CertsError> {
    let host = match address {
        SocketAddr::V4(at) if at.ip().is_unspecified() => format!("127.0.0.1:{}", at.port()),
        SocketAddr::V6(at) if at.ip().is_unspecified() => format!("[::1]:{}", at.port()),
        other => other.to_string(),
    };
    let admin = folder.issue_client("admin", &[MASTERS.to_owned()], now)?;
    let encode = |text: &str| STANDARD.encode(text);
    let mut cluster = json!({"server": format!("https://{host}")});
    if is_own_certificate {
        cluster["certificate-authority-data"] = encode(folder.ca().certificate_pem()).into();
    }
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "standalone",
        "clusters": [{"name": "standalone", "cluster": cluster}],
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

#[cfg(test)]
mod tests {
    use berth_apimachinery::Clock;
    use berth_apiserver::SystemClock;
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_kubeconfig_has_the_servers_ca_only_if_it_issued_the_serving_certificate() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemClock.now();
        let folder = Folder::open(directory.path(), now).unwrap();
        for is_own in [true, false] {
            let address = SocketAddr::from(([0, 0, 0, 0], 6443));
            let path = write_kubeconfig(&folder, address, is_own, now).unwrap();
            let kubeconfig: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let cluster = &kubeconfig["clusters"][0]["cluster"];
            assert_eq!(cluster["server"], "https://127.0.0.1:6443");
            assert_eq!(cluster["certificate-authority-data"].is_string(), is_own);
        }
    }
}
