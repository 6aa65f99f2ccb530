//! `berth check` on a standalone server (docs/operate.md, "Checking").

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use berth_tests::Server;
use serde_json::Value;

fn check(kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(berth_tests::berth())
        .arg("check")
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The verdict and message about a subject.
fn finding<'a>(report: &'a Value, area: &str, subject: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .find(|finding| finding["area"] == area && finding["subject"] == subject)
        .unwrap_or_else(|| panic!("{area} {subject}: {report:#}"))
}

#[test]
fn a_server_that_is_well_has_nothing_wrong_and_what_is_held_is_named() {
    let server = Server::start();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/gardener");
    for file in ["fleet.yaml", "load.yaml", "unschedulable.yaml"] {
        server.load(&examples.join(file));
    }
    let output = check(&server.kubeconfig(), &["-o", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["healthy"], true);
    for (area, subject) in [
        ("versions", "server"),
        ("clock", "server"),
        ("registration", "scheduling.berth.dev/v1alpha1"),
        ("sources", "readiness"),
        ("certificates", "kubeconfig"),
        ("certificates", "serving"),
        ("certificates", "ca"),
        ("rights", "yours"),
    ] {
        assert_eq!(
            finding(&report, area, subject)["verdict"],
            "Ok",
            "{area} {subject}"
        );
    }
    let findings = report["findings"].as_array().unwrap();
    let held = findings.iter().find(|finding| finding["area"] == "held").unwrap();
    assert_eq!(held["verdict"], "Note");
    assert!(
        held["message"]
            .as_str()
            .unwrap()
            .starts_with("Unschedulable, NoSuitableSeed"),
        "{held}"
    );
    let mend = held["mend"].as_str().unwrap();
    assert!(
        mend.starts_with("berth why ") && mend.ends_with(" -n garden-dev"),
        "{mend}"
    );
    // The recommended command works.
    let words: Vec<&str> = mend.split(' ').skip(1).collect();
    let why = Command::new(berth_tests::berth())
        .args(words)
        .env("KUBECONFIG", server.kubeconfig())
        .output()
        .unwrap();
    assert!(text(&why.stdout).contains("no place"), "{}", text(&why.stderr));
    let table = text(&check(&server.kubeconfig(), &[]).stdout);
    assert!(
        table.starts_with("AREA")
            && table.contains("→ berth why")
            && table
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("Installation OK; ")
                    && line.contains(" of 4 requests has no place")),
        "{table}"
    );
}

#[test]
fn who_may_not_look_is_told_how_to_be_allowed() {
    let server = Server::start();
    let ann = server.kubeconfig_for("ann", &[]);
    let output = check(&ann, &["-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "what cannot be seen is not wrong");
    let mends: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["area"] == "rights")
        .map(|finding| finding["mend"].as_str().unwrap())
        .collect();
    assert!(!mends.is_empty());
    for mend in mends {
        assert!(
            mend.starts_with("kubectl create clusterrolebinding ") && mend.ends_with("--user='ann'"),
            "{mend}"
        );
        let command = mend.trim_start_matches("kubectl ").replace('\'', "");
        server.kubectl(&command).succeeds();
    }
    let output = check(&ann, &["-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(finding(&report, "rights", "yours")["verdict"], "Ok");
    assert_eq!(finding(&report, "held", "decisions")["verdict"], "Ok");
}

/// With a server that has no API of Berth, as a cluster without Berth.
#[test]
fn a_server_without_berth_is_told_apart_and_nothing_that_changes_it_is_advised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).unwrap_or(0);
            let (code, body) = if bytes[..count].starts_with(b"GET /version ") {
                ("200 OK", r#"{"gitVersion":"v1.30.0"}"#)
            } else if bytes[..count].starts_with(b"GET /apis ") {
                (
                    "200 OK",
                    r#"{"groups":[{"name":"cluster.open-cluster-management.io"}]}"#,
                )
            } else if bytes[..count].starts_with(b"POST /apis/authorization.k8s.io/") {
                ("503 Service Unavailable", "later\n")
            } else {
                ("404 Not Found", "404 page not found\n")
            };
            let answer = format!(
                "HTTP/1.1 {code}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            // The client may have disconnected.
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    );
    std::fs::write(&kubeconfig, config).unwrap();
    // Built before the measurement starts.
    assert!(berth_tests::berth().exists());
    let begun = std::time::Instant::now();
    let output = check(&kubeconfig, &[]);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(20),
        "what is not available is told, not waited for"
    );
    assert_eq!(output.status.code(), Some(3));
    let table = text(&output.stdout);
    for part in [
        "Kubernetes v1.30.0",
        "Berth is not installed here",
        "→ berth compare; berth why",
        "its objects are on this hub",
        "not on this hub",
        "503",
    ] {
        assert!(table.contains(part), "{part}:\n{table}");
    }
    for harm in ["manifests", "apply", "create", "WRONG"] {
        assert!(!table.contains(harm), "{harm}:\n{table}");
    }
    let last = table.lines().last().unwrap_or_default();
    assert!(last.starts_with("Berth is not installed here."), "{last}");
    let report: Value = serde_json::from_slice(&check(&kubeconfig, &["-o", "json"]).stdout).unwrap();
    assert_eq!(
        (&report["installed"], &report["healthy"]),
        (&false.into(), &false.into())
    );
    std::fs::write(
        &kubeconfig,
        std::fs::read_to_string(&kubeconfig)
            .unwrap()
            .replace(&port.to_string(), "1"),
    )
    .unwrap();
    let gone = check(&kubeconfig, &[]);
    assert_eq!(gone.status.code(), Some(1));
    let errors = text(&gone.stderr);
    assert!(
        errors == "error: cannot reach http://127.0.0.1:1 (context c): connection refused\n",
        "{errors}"
    );
    let none = check(&folder.path().join("none"), &[]);
    assert!(
        text(&none.stderr).contains("/none (from $KUBECONFIG) not found; pass --kubeconfig FILE"),
        "{}",
        text(&none.stderr)
    );
}
