//! The libraries' example servers, as their users run them.

#[path = "../../../apiserver/aggregation/examples/defined.rs"]
mod defined;
#[path = "../../../apiserver/examples/flunders.rs"]
mod flunders;
#[path = "../../../apiserver/aggregation/examples/load.rs"]
mod load;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use berth_aggregation::options::{Options, Program, RunningServer};
use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::Folder;
use berth_tests::Kubectl;
use clap::Parser as _;
use serde_json::{Value, json};

/// `kubectl` with the flags of the example's output.
fn kubectl(folder: &Path, server: &str, arguments: &[&str]) -> Kubectl {
    let file = |name: &str| folder.join(name).display().to_string();
    let (ca, alice) = (file("ca.crt"), file("alice.pem"));
    let mut all = vec!["--server", server, "--certificate-authority", ca.as_str()];
    all.extend([
        "--client-certificate",
        alice.as_str(),
        "--client-key",
        alice.as_str(),
    ]);
    all.extend(arguments);
    Kubectl::new(Path::new("/dev/null"), folder, &all)
}

fn flunder(name: &str, fields: &Value) -> String {
    let mut flunder =
        json!({"apiVersion": "wardle.example.com/v1", "kind": "Flunder", "metadata": {"name": name}});
    for (field, value) in fields.as_object().expect("fields") {
        flunder[field] = value.clone();
    }
    flunder.to_string()
}

#[test]
fn the_example_of_a_whole_server_is_used_with_kubectl() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Arc::new(Folder::open(folder.path(), SystemClock.now()).unwrap());
    let alice = certificates
        .issue_client("alice", &[], SystemClock.now())
        .unwrap();
    std::fs::write(folder.path().join("alice.pem"), alice.certificate + &alice.key).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime
        .block_on(flunders::server(certificates, "127.0.0.1:0".parse().unwrap()))
        .unwrap();
    let url = format!("https://{}", server.address());
    let running = runtime.block_on(async { server.start() });
    let run = |arguments: &[&str]| kubectl(folder.path(), &url, arguments);

    let create = ["create", "-f", "-"];
    let made = run(&create)
        .input(flunder("fin", &json!({"size": 30})))
        .succeeds();
    assert_eq!(made, "flunder.wardle.example.com/fin created\n");
    let own = json!({"size": 30, "follows": "me"});
    let refused = run(&create).input(flunder("me", &own)).fails();
    assert!(
        refused.contains("follows: Invalid value: \"me\": must be another flunder"),
        "{refused}"
    );
    let small = run(&create).input(flunder("small", &json!({"size": 0}))).fails();
    assert!(small.contains("size"), "{small}");
    assert!(run(&["get", "flunders"]).succeeds().contains("fin"));
    let weight = "/apis/wardle.example.com/v1/namespaces/default/flunders/fin/weight";
    assert_eq!(run(&["get", "--raw", weight]).json()["grams"], 600);
    assert!(
        run(&["explain", "flunders.size"])
            .succeeds()
            .contains("Length of the flunder, in centimetres")
    );

    runtime.block_on(running.stop()).unwrap();
}

/// Flags of a server without a hub, with its certificates in `folder`.
fn standalone(folder: &Path) -> Vec<OsString> {
    let flags = [
        "server",
        "--standalone",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--cert-dir",
    ];
    let flags = flags.into_iter().map(OsString::from);
    flags.chain([folder.as_os_str().to_owned()]).collect()
}

/// A server, which ends with the test.
struct Started {
    runtime: tokio::runtime::Runtime,
    running: RunningServer,
    folder: std::path::PathBuf,
}

impl Started {
    fn of(options: Options, program: Program, folder: &Path) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let running = runtime.block_on(options.start(program)).unwrap();
        Self {
            runtime,
            running,
            folder: folder.to_owned(),
        }
    }

    fn kubectl(&self, arguments: &[&str]) -> Kubectl {
        Kubectl::new(self.running.kubeconfig().unwrap(), &self.folder, arguments)
    }

    fn stop(self) {
        self.runtime.block_on(self.running.stop()).unwrap();
    }
}

#[test]
fn a_standalone_server_trusts_the_client_ca_of_its_flags_beside_its_own() {
    let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let certificates = Folder::open(other.path(), SystemClock.now()).unwrap();
    let mut flags = standalone(own.path());
    flags.extend([
        "--client-ca-file".into(),
        other.path().join("ca.crt").into_os_string(),
    ]);
    let server = Started::of(
        Options::try_parse_from(flags).unwrap(),
        load::program(),
        own.path(),
    );
    let url = server.kubectl(&["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]);
    let url = url.succeeds();
    let issue = |user: &str, group: &str| {
        let groups = [group.to_owned()];
        let issued = certificates
            .issue_client(user, &groups, SystemClock.now())
            .unwrap();
        std::fs::write(own.path().join("alice.pem"), issued.certificate + &issued.key).unwrap();
    };
    issue("alice", "system:masters");
    assert!(
        kubectl(own.path(), &url, &["get", "loads"])
            .succeeds()
            .contains("15m")
    );
    issue("bob", "developers");
    let refused = kubectl(own.path(), &url, &["get", "loads"]).fails();
    assert!(
        refused.contains("User \"bob\" cannot list resource \"loads\""),
        "{refused}"
    );
    assert!(server.kubectl(&["get", "loads"]).succeeds().contains("15m"));
    server.stop();
}

#[test]
fn the_example_of_a_foreign_source_computes_what_kubectl_gets() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::try_parse_from(standalone(folder.path())).unwrap();
    let server = Started::of(options, load::program(), folder.path());

    let table = server.kubectl(&["get", "loads"]).succeeds();
    let names: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["NAME", "15m", "1m", "5m"], "{table}");
    let one = server.kubectl(&["get", "load", "5m", "-o", "json"]).json();
    assert!(one["average"].as_str().unwrap().parse::<f64>().is_ok(), "{one}");
    let missing = server.kubectl(&["get", "load", "2m"]).fails();
    assert!(
        missing.contains("loads.load.example.com \"2m\" not found"),
        "{missing}"
    );
    let refused = server.kubectl(&["delete", "load", "5m"]).fails();
    assert!(refused.contains("does not allow this method"), "{refused}");

    server.stop();
}

#[test]
fn the_example_of_a_kind_from_a_file_has_its_schema_columns_and_selectors() {
    let folder = tempfile::tempdir().unwrap();
    let definition =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/aggregation/examples/gizmos.yaml");
    let mut flags = standalone(folder.path());
    flags.extend(["--definition".into(), definition.clone().into_os_string()]);
    let arguments = defined::Arguments::try_parse_from(flags).unwrap();
    let program = defined::program(&arguments.definition).unwrap();
    let server = Started::of(arguments.options, program, folder.path());

    let gizmo = |name: &str, spec: Value| {
        json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": name}, "spec": spec})
            .to_string()
    };
    let create = ["create", "-f", "-"];
    server
        .kubectl(&create)
        .input(gizmo("a", json!({"size": 3})))
        .succeeds();
    server
        .kubectl(&create)
        .input(gizmo("b", json!({"size": 5, "color": "red"})))
        .succeeds();
    let small = server
        .kubectl(&create)
        .input(gizmo("c", json!({"size": 0})))
        .fails();
    assert!(small.contains("spec.size"), "{small}");
    let table = server.kubectl(&["get", "gz"]).succeeds();
    assert!(
        table.starts_with("NAME") && table.contains("SIZE") && table.contains("grey"),
        "{table}"
    );
    let red = server
        .kubectl(&["get", "gz", "-o", "name", "--field-selector", "spec.color=red"])
        .succeeds();
    assert_eq!(red, "gizmo.example.com/b\n");
    let text = server.kubectl(&["explain", "gizmos.spec.size"]).succeeds();
    assert!(text.contains("in millimetres"), "{text}");
    server.kubectl(&["delete", "gz", "--all"]).succeeds();

    server.stop();
}
