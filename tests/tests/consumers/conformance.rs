//! Published objects follow the KEPs: checks by the conformance suite of KEP-5313
//! (`tests/conformance/placementdecision`), which works with any producer, and by upstream's
//! CustomResourceDefinitions. The suite is a program in Go, which is built on first use (`make consumers`),
//! so these tests are otherwise ignored.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use berth_apimachinery::Schema;
use berth_tests::example::{EXAMPLES, example};
use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, eventually, go, ports};
use serde_json::{Value, json};

const SUITE: &str = "conformance/placementdecision";
const NAMESPACE: &str = "published";
const INVENTORY: &str = "sigs.k8s.io/cluster-inventory-api";

/// Starts a server with the objects of the adapter: a set of clusters, bound in a namespace, and a
/// Publication.
fn prepared(port: u16) -> Server {
    let server = Server::start_at(port);
    let set = "conformance";
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": set}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet", "metadata": {"name": set},
               "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
               "metadata": {"name": set, "namespace": set}, "spec": {"clusterSet": set}}),
        json!({"apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": NAMESPACE},
               "spec": {"namespace": NAMESPACE, "systems": ["ocm"]}}),
    ] {
        server.kubectl("create -f -").input(object.to_string()).succeeds();
    }
    server
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn berth_conforms_to_kep_5313_also_when_it_is_killed() {
    let port = ports::free();
    let mut server = prepared(port);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(SUITE);
    let restart = server.file("restart", "");
    std::fs::remove_file(&restart).unwrap();
    let mut suite = Command::new(go::build(SUITE, ".", "placementdecision"));
    suite
        .arg("-kubeconfig")
        .arg(server.kubeconfig())
        .args(["-namespace", NAMESPACE, "-quiet", "2s", "-adapter"])
        .arg(folder.join("berth"))
        .env("KUBECONFIG", server.kubeconfig())
        .env("PUBLISHED", NAMESPACE)
        .env("RESTART", &restart)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = suite.spawn().expect("the suite starts");
    while running.try_wait().expect("the suite can be waited for").is_none() {
        // The adapter requests a restart with this file.
        if restart.exists() {
            server.crash();
            server.restart_at(port);
            std::fs::remove_file(&restart).unwrap();
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let output = running.wait_with_output().expect("it says something");
    let output_text = String::from_utf8_lossy(&output.stdout);
    println!("{output_text}");
    assert!(
        output.status.success(),
        "{output_text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passed = output_text
        .lines()
        .filter(|line| line.starts_with("PASS"))
        .count();
    assert_eq!((passed, output_text.lines().count()), (14, 14), "{output_text}");
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn the_suite_finds_a_producer_out_that_takes_a_cluster_away() {
    go::test(SUITE);
}

/// The schema of a kind in upstream's CustomResourceDefinition.
fn upstreams(kind: &str) -> Schema {
    let file =
        go::module(SUITE, INVENTORY).join(format!("config/crd/bases/multicluster.x-k8s.io_{kind}.yaml"));
    let definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    // The schema of metadata is empty in a definition.
    schema["properties"]["metadata"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    Schema::from_value(schema)
}

#[test]
#[ignore = "downloads a module of Go: `make consumers`"]
fn every_example_of_every_system_is_published_as_upstreams_schemas_take_it() {
    let server = Server::start();
    for file in EXAMPLES {
        // With current times, so that heartbeats are fresh.
        server.load(&server.file(&file.replace('/', "-"), &example(file)));
    }
    server.load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/consumers/publication.yaml"));
    let list = |arguments: &str| -> Vec<Value> {
        let list = server.kubectl(&format!("get {arguments} -o json")).json();
        list["items"].as_array().unwrap().clone()
    };
    for system in SYSTEMS {
        let decisions =
            format!("placementdecisions.multicluster.x-k8s.io -A -l scheduling.berth.dev/system={system}");
        eventually(&format!("a decision of {system}"), || {
            let slices = list(&decisions);
            let mut decided = slices.iter().filter(|slice| slice["decisions"] != json!([]));
            decided.next().map(drop)
        });
    }
    let mut count = 0;
    for kind in ["clusterprofiles", "placementdecisions"] {
        let schema = upstreams(kind);
        for object in list(&format!("{kind}.multicluster.x-k8s.io -A")) {
            let errors = schema.validate(&object);
            assert!(errors.is_empty(), "{errors:?}: {object}");
            let unknown = schema.new_unknown_fields(&object, &Value::Null, 10);
            assert!(unknown.paths.is_empty(), "{unknown:?}: {object}");
            count += 1;
        }
    }
    assert!(count > 40, "only {count} objects were published");
}
