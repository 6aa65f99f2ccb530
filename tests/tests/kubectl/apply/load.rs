//! Comparison of `berth load --server-side` with kubectl: equal conflicts, messages and owners, with
//! the status.

use berth_tests::Server;
use serde_json::{Value, json};

/// Result of `berth load` of a file: success, and the whole output.
fn load(server: &Server, flags: &[&str], text: &str) -> (bool, String) {
    let output = std::process::Command::new(berth_tests::berth())
        .args(["load", "--kubeconfig"])
        .arg(server.kubeconfig())
        .arg("-f")
        .arg(server.file("loaded.yaml", text))
        .args(flags)
        .output()
        .expect("berth runs");
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.success(), printed.concat())
}

fn cluster(labels: &str, cpu: u32) -> String {
    format!(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: east, labels: {{{labels}}}}}\n\
         spec: {{hubAcceptsClient: true}}\nstatus: {{capacity: {{cpu: \"{cpu}\"}}}}\n"
    )
}

fn stored(server: &Server) -> Value {
    server
        .kubectl("get managedcluster east -o json --show-managed-fields")
        .json()
}

/// Manager, operation and subresource of each entry.
fn managers(object: &Value) -> Vec<Value> {
    let list = object["metadata"]["managedFields"].as_array().expect("managers");
    list.iter()
        .map(|entry| json!([entry["manager"], entry["operation"], entry["subresource"]]))
        .collect()
}

#[test]
fn loading_server_side_applies_the_object_and_its_status_by_the_manager_named() {
    let server = Server::start_with(&["--controllers=-ocm"]);
    let flags = ["--server-side", "--field-manager=fleet team"];
    let (loaded, printed) = load(&server, &flags, &cluster("tier: gold, zone: a", 4));
    assert!(
        loaded
            && printed.contains("managedcluster.cluster.open-cluster-management.io/east serverside-applied"),
        "{printed}"
    );
    let made = stored(&server);
    assert_eq!(made["status"]["capacity"], json!({"cpu": "4"}));
    assert_eq!(
        managers(&made),
        [
            json!(["fleet team", "Apply", null]),
            json!(["fleet team", "Apply", "status"])
        ]
    );
    // A repetition does not write; missing fields are removed.
    assert!(load(&server, &flags, &cluster("tier: gold, zone: a", 4)).0);
    assert_eq!(
        stored(&server)["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    assert!(load(&server, &flags, &cluster("tier: gold", 4)).0);
    assert_eq!(stored(&server)["metadata"]["labels"].get("zone"), None);
}

#[test]
fn loading_server_side_meets_conflicts_and_takes_over_only_when_told_to() {
    let server = Server::start_with(&["--controllers=-ocm"]);
    assert!(
        load(
            &server,
            &["--server-side", "--field-manager=ops"],
            &cluster("tier: gold", 4)
        )
        .0
    );
    let before = stored(&server);
    let (loaded, printed) = load(&server, &["--server-side"], &cluster("tier: silver", 4));
    assert!(
        !loaded
            && printed.contains("Apply failed with 1 conflict: conflict with \"ops\": .metadata.labels.tier")
            && printed.contains("--force-conflicts"),
        "{printed}"
    );
    assert_eq!(stored(&server), before, "nothing is half-written");
    let (loaded, printed) = load(
        &server,
        &["--server-side", "--force-conflicts"],
        &cluster("tier: silver", 8),
    );
    assert!(loaded, "{printed}");
    let after = stored(&server);
    assert_eq!(after["metadata"]["labels"]["tier"], "silver");
    assert_eq!(after["status"]["capacity"]["cpu"], "8");
    let (loaded, printed) = load(&server, &["--force-conflicts"], &cluster("tier: gold", 4));
    assert!(!loaded && printed.contains("--server-side"), "{printed}");
    // Without the flag, loading is an update, with another manager.
    assert!(load(&server, &[], &cluster("tier: bronze", 8)).0);
    assert!(managers(&stored(&server)).contains(&json!(["berth-load", "Update", null])));
}

#[test]
fn an_object_whose_status_is_refused_is_told_to_be_there_without_it() {
    let server = Server::start_with(&["--controllers=-ocm"]);
    let bad = cluster("tier: gold", 4).replace("\"4\"", "many");
    for (flags, expected) in [
        (&[][..], "/east was created without its status: "),
        (&[][..], "/east was written, and its status was not: "),
        (&["--server-side"][..], "/east was applied without its status: "),
    ] {
        let (loaded, printed) = load(&server, flags, &bad);
        assert!(
            !loaded && printed.contains(expected),
            "{expected:?} is not in {printed}"
        );
        assert!(printed.contains("status.capacity"), "{printed}");
    }
    assert_eq!(stored(&server)["metadata"]["labels"]["tier"], "gold");
}
