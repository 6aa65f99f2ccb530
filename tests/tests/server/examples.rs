//! The example servers of the libraries, run as their users would.

#[path = "../../../apiserver/examples/flunders.rs"]
mod flunders;

use std::path::Path;
use std::sync::Arc;

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use berth_certs::Folder;
use berth_tests::Kubectl;
use serde_json::{Value, json};

/// `kubectl` with the flags that the example prints.
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
