//! Kubeconfig files with embedded credentials, in JSON, which every YAML parser reads.

use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_certs::IssuedCertificate;
use serde_json::json;

/// Credentials of a user.
pub enum Credentials {
    /// A client certificate.
    Certificate(IssuedCertificate),
    /// A bearer token.
    Token(String),
}

/// Writes a kubeconfig for the server at `url`, whose certificate is of `ca` (PEM).
pub(super) fn write(path: &Path, url: &str, ca: &str, credentials: &Credentials) {
    let user = match credentials {
        Credentials::Token(token) => json!({"token": token}),
        Credentials::Certificate(issued) => json!({
            "client-certificate-data": STANDARD.encode(&issued.certificate),
            "client-key-data": STANDARD.encode(&issued.key),
        }),
    };
    let cluster = json!({"server": url, "certificate-authority-data": STANDARD.encode(ca)});
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "hub", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "user"}}],
        "current-context": "hub",
    });
    // The file is replaced atomically: another test of the same hub may be reading the existing one.
    let folder = path.parent().expect("it is in a folder");
    let mut file = tempfile::NamedTempFile::new_in(folder).expect("the folder is writable");
    file.write_all(config.to_string().as_bytes())
        .expect("the folder is writable");
    file.persist(path).expect("the folder is writable");
}
