//! `berth load` with a server that is not ready.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

/// Starts a server that answers 503 to all requests.
fn never_ready() -> u16 {
    const BODY: &str = r#"{"apiVersion":"v1","kind":"Status","status":"Failure","code":503,"message":"ocm is not synced yet"}"#;
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap_or(0);
            let answer = format!(
                "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
                BODY.len()
            );
            // The client may have disconnected.
            drop(stream.write_all(if count > 0 { answer.as_bytes() } else { b"" }));
        }
    });
    port
}

#[test]
fn a_load_says_what_it_waits_for_and_ends_after_its_timeout() {
    let port = never_ready();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    );
    std::fs::write(&kubeconfig, config).unwrap();
    let objects = folder.path().join("objects.yaml");
    std::fs::write(
        &objects,
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
    )
    .unwrap();
    let output = Command::new(berth_tests::berth())
        .args(["load", "--timeout", "500ms", "-f"])
        .arg(&objects)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors
            .matches("waiting for the server: ocm is not synced yet")
            .count(),
        1,
        "{errors}"
    );
    assert!(
        errors.contains("the server was not ready within 500ms: ocm is not synced yet")
            && errors.contains("stopped after 0 of 2 objects: --timeout waits longer"),
        "{errors}"
    );
}
