//! Auditing as an administrator configures it: a policy file, a log, a webhook.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use berth_tests::{Server, eventually};
use serde_json::Value;

const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, nonResourceURLs: [\"*\"]}
- {level: None, verbs: [get, list, watch]}
- {level: None, resources: [{group: events.k8s.io}, {group: \"\", resources: [events]}]}
- {level: RequestResponse}
";

fn events(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    // The last line may be incomplete.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is one event"))
        .collect()
}

/// The first event that satisfies `is`.
fn event(log: &Path, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || events(log).into_iter().find(|event| is(event)))
}

fn about(event: &Value, resource: &str, name: &str) -> bool {
    event["objectRef"]["resource"] == resource
        && (event["objectRef"]["name"] == name || event["responseObject"]["metadata"]["name"] == name)
}

#[test]
fn a_policy_says_what_is_logged_of_kubectls_requests_and_of_the_servers_own_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, log) = (folder.path().join("policy.yaml"), folder.path().join("audit.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let server = Server::start_with(&[
        &format!("--audit-policy-file={}", policy.display()),
        &format!("--audit-log-path={}", log.display()),
    ]);
    // kubectl sends these two as protobuf.
    server
        .kubectl("create configmap shown --from-literal=a=visible")
        .succeeds();
    server
        .kubectl("create secret generic hidden --from-literal=a=invisible")
        .succeeds();
    let shown = event(&log, "the ConfigMap", |event| about(event, "configmaps", "shown"));
    assert_eq!(shown["requestObject"]["data"]["a"], "visible", "{shown}");
    assert_eq!(shown["responseObject"]["data"]["a"], "visible", "{shown}");
    assert!(shown["responseObject"]["metadata"]["uid"].is_string());
    assert!(
        shown["responseObject"]["metadata"]["managedFields"].is_null(),
        "{shown}"
    );
    assert_eq!(shown["user"]["username"], "berth-admin");
    let hidden = event(&log, "the Secret", |event| {
        event["objectRef"]["resource"] == "secrets"
    });
    assert_eq!(hidden["responseStatus"]["code"], 201);
    assert!(
        hidden["requestObject"].is_null() && hidden["responseObject"].is_null(),
        "{hidden}"
    );

    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ocm");
    server.load(&example);
    let own = event(&log, "a decision that the server wrote", |event| {
        // The binding on create and the controller may write at the same time, and one of them has a
        // conflict.
        event["objectRef"]["resource"] == "placementdecisions"
            && event["verb"] == "create"
            && event["responseStatus"]["code"] == 201
    });
    assert_eq!(own["user"]["username"], "berth:scheduler", "{own}");
    let cause = own["annotations"]["audit.berth.dev/cause"].as_str().unwrap();
    assert!(
        cause.starts_with("the decision about ") && cause.contains("placements"),
        "{cause}"
    );
    let text = std::fs::read_to_string(&log).unwrap();
    let secret = ["invisible", "aW52aXNpYmxl"]
        .iter()
        .find(|secret| text.contains(**secret));
    assert_eq!(secret, None, "a Secret is in the log");
    assert!(!text.contains("\"verb\":\"get\"") && !text.contains("\"stage\":\"RequestReceived\""));
}

#[test]
fn a_policy_with_errors_ends_the_start_with_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    let text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Everything\n- {level: None, nonResourceURLs: [healthz]}\n";
    std::fs::write(&policy, text).unwrap();
    let output = std::process::Command::new(berth_tests::berth())
        .args([
            "serve",
            "--secure-port=0",
            "--storage=memory",
            "--audit-log-path=-",
            "--data-dir",
        ])
        .arg(folder.path().join("data"))
        .arg(format!("--audit-policy-file={}", policy.display()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    for part in [
        "policy.yaml",
        "rules[0].level: Unsupported value: \"Everything\"",
        "rules[1].nonResourceURLs[0]: Invalid value: \"healthz\"",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

/// Request lines and bodies.
type Taken = Arc<Mutex<Vec<(String, Value)>>>;

/// Starts a server that accepts one request per connection and records their bodies.
fn webhook() -> (u16, Taken) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken = Taken::default();
    let keep = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut part = [0; 4096];
            let (head, length, start) = loop {
                let read = stream.read(&mut part).unwrap();
                assert!(read > 0, "the request breaks off");
                request.extend_from_slice(&part[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                if let Some(end) = text.find("\r\n\r\n") {
                    let head = text[..end].to_ascii_lowercase();
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    break (text[..end].to_owned(), length, end + 4);
                }
            };
            while request.len() < start + length {
                let read = stream.read(&mut part).unwrap();
                request.extend_from_slice(&part[..read]);
            }
            let body = serde_json::from_slice(&request[start..]).unwrap();
            keep.lock()
                .unwrap()
                .push((head.lines().next().unwrap().to_owned(), body));
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .unwrap();
        }
    });
    (port, taken)
}

#[test]
fn a_webhook_is_sent_event_lists() {
    let (port, taken) = webhook();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("webhook.kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: \"http://127.0.0.1:{port}/audit/events\"}}}}]\n\
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\ncurrent-context: c\n"
    );
    std::fs::write(&config, text).unwrap();
    let server = Server::start_with(&[
        &format!("--audit-webhook-config-file={}", config.display()),
        "--audit-webhook-batch-max-wait=100ms",
    ]);
    server.kubectl("create namespace told").succeeds();
    let (line, list) = eventually("the event", || {
        let taken = taken.lock().unwrap();
        let mut lists = taken.iter();
        let tells = |list: &Value| {
            let items = list["items"].as_array().unwrap();
            items
                .iter()
                .any(|event| event["objectRef"]["resource"] == "namespaces" && event["verb"] == "create")
        };
        lists.find(|(_, list)| tells(list)).cloned()
    });
    assert_eq!(line, "POST /audit/events HTTP/1.1");
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&"EventList".into(), &"audit.k8s.io/v1".into())
    );
}

#[test]
fn the_value_of_a_secret_stands_in_no_error_and_in_no_event() {
    const VALUE: &str = "hunter2-not-base64!";
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.log");
    let server = Server::start_with(&[&format!("--audit-log-path={}", log.display())]);
    let secret = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": VALUE}});
    for verb in ["create --validate=false", "apply --server-side --validate=false"] {
        let text = server
            .kubectl(&format!("{verb} -f -"))
            .input(secret.to_string())
            .fails();
        assert!(text.contains("data.password"), "{text}");
        assert!(!text.contains(VALUE), "{text}");
    }
    let refused =
        |event: &Value| event["objectRef"]["resource"] == "secrets" && event["responseStatus"]["code"] == 400;
    event(&log, "the refusal", refused);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
}
