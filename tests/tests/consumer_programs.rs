//! What the SIG's own libraries make of what Berth publishes: `tests/consumers`, a program in Go. It is built on first use
//! (`make consumers`), so these are ignored elsewhere.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use meta::Schema;
use serde_json::{Value, json};
use tests::{Server, eventually, go};

const INVENTORY: &str = "sigs.k8s.io/cluster-inventory-api";
const KEY: &str = "story-1.placement.ocm";

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

/// A server that publishes what is in `files`.
fn published(files: &[&str]) -> Server {
    let server = Server::start();
    for file in files.iter().chain(&["consumers/publication.yaml"]) {
        server.load(&example(file));
    }
    server
        .kubectl("wait publication/everything --for=condition=Published --timeout=20s")
        .ok();
    server
}

fn program(server: &Server, further: &[&str]) -> Command {
    let mut command = Command::new(go::build("consumers", ".", "consumers"));
    command
        .arg("-kubeconfig")
        .arg(server.kubeconfig())
        .args(["-namespace", "argocd"])
        .args(further)
        .stdout(Stdio::piped());
    command
}

/// A consumer that runs beside, and what it says.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the consumer starts");
        let lines = BufReader::new(child.stdout.take().expect("its output is piped")).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("the consumer says something in time");
        serde_json::from_str(&line.expect("its output can be read")).expect("it speaks JSON")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().expect("the consumer can be ended");
        self.child.wait().expect("it ends");
    }
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn the_access_library_reaches_a_cluster_by_its_profile() {
    let server = published(&["ocm/fleet.yaml"]);
    // Another server is the cluster, with a CA of its own.
    let cluster = Server::start();
    let file = kube::config::Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    let there = file.clusters[0].cluster.clone().unwrap();
    let address = there.server.unwrap();
    let config = json!({"url": address, "caBundle": there.certificate_authority_data.unwrap()});
    let patch = json!({"spec": {"managedClusterClientConfigs": [config]}}).to_string();
    server
        .kubectl_args(&[
            "patch",
            "managedcluster",
            "cluster1",
            "--type=merge",
            "-p",
            &patch,
        ])
        .ok();
    eventually("the profile to say how the cluster is reached", || {
        let get = "get clusterprofiles.multicluster.x-k8s.io cluster1.ocm -n argocd -o json";
        let profile = server.kubectl(get).json();
        profile["status"]["accessProviders"].is_array().then_some(())
    });
    // Whoever reads profiles brings credentials: here a plugin that knows the cluster's admin.
    let kubectl = ["config", "view", "--raw", "--minify", "-o"];
    let admin = |field: &str| {
        let path = format!("jsonpath={{.users[0].user.{field}}}");
        let mut arguments = kubectl.to_vec();
        arguments.push(&path);
        cluster.kubectl_args(&arguments).ok()
    };
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {
            "clientCertificateData": decoded(&admin("client-certificate-data")),
            "clientKeyData": decoded(&admin("client-key-data")),
        },
    });
    let plugin = server.file("plugin", &format!("#!/bin/sh\ncat <<'END'\n{credential}\nEND\n"));
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o700)).unwrap();
    let providers = json!({"providers": [{"name": "open-cluster-management", "execConfig": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "interactiveMode": "Never"}}]});
    let providers = server.file("providers.json", &providers.to_string());
    let further = [
        "-name",
        "cluster1.ocm",
        "-providers",
        providers.to_str().unwrap(),
        "access",
    ];
    let said = Running::start(program(&server, &further)).next();
    assert_eq!(said["host"], address.as_str());
    assert!(said["version"].as_str().unwrap().starts_with("v1."), "{said}");
}

fn decoded(text: &str) -> String {
    let mut child = Command::new("base64")
        .arg("-d")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, text.trim().as_bytes()).unwrap();
    drop(stdin);
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn clusters(said: &Value) -> BTreeSet<String> {
    let list = said["clusters"].as_array().expect("a list of clusters");
    list.iter()
        .map(|cluster| cluster.as_str().expect("a name").to_owned())
        .collect()
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn an_informer_that_follows_a_decision_never_misses_a_cluster_that_is_decided() {
    let server = published(&["ocm/fleet.yaml", "ocm/story-1.yaml"]);
    let mut follower = Running::start(program(&server, &["-name", KEY, "follow"]));
    let before = clusters(&follower.next());
    let left = before.first().expect("something is decided").clone();
    let cluster = left.strip_suffix(".ocm").unwrap().to_owned();
    let taint = json!({"spec": {"taints": [{"key": "gone", "effect": "NoSelect"}]}}).to_string();
    server
        .kubectl_args(&["patch", "managedcluster", &cluster, "--type=merge", "-p", &taint])
        .ok();
    let staying: BTreeSet<String> = before.iter().filter(|name| **name != left).cloned().collect();
    loop {
        let now = clusters(&follower.next());
        assert!(staying.is_subset(&now), "{staying:?} is not in {now:?}");
        if !now.contains(&left) {
            break;
        }
    }
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn a_fleet_controller_engages_healthy_clusters_and_disengages_the_others() {
    let server = published(&["ocm/fleet.yaml"]);
    let mut fleet = Running::start(program(&server, &["engage"]));
    let mut engaged = BTreeSet::new();
    while !engaged.contains("argocd/cluster1.ocm") {
        let said = fleet.next();
        engaged.insert(said["engaged"].as_str().expect("it only engages").to_owned());
    }
    let mut health = |status: &str| {
        let object = server.kubectl("get managedcluster cluster1 -o json").json();
        let mut conditions = object["status"]["conditions"].as_array().unwrap().clone();
        let available = conditions
            .iter_mut()
            .find(|condition| condition["type"] == "ManagedClusterConditionAvailable");
        available.unwrap()["status"] = status.into();
        let patch = json!({"status": {"conditions": conditions}}).to_string();
        let arguments = [
            "patch",
            "managedcluster",
            "cluster1",
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ];
        server.kubectl_args(&arguments).ok();
        loop {
            let said = fleet.next();
            if said.to_string().contains("argocd/cluster1.ocm") {
                return said;
            }
        }
    };
    assert_eq!(health("Unknown"), json!({"disengaged": "argocd/cluster1.ocm"}));
    assert_eq!(health("True"), json!({"engaged": "argocd/cluster1.ocm"}));
}

#[test]
#[ignore = "downloads a module of Go: `make consumers`"]
fn upstreams_schemas_accept_every_object_of_all_systems() {
    let files = ["fleet", "gardener", "kcp", "ocm", "openmcp"].map(|system| format!("{system}/fleet.yaml"));
    let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
    files.extend(["ocm/story-1.yaml", "gardener/load.yaml"]);
    let server = published(&files);
    let module = go::module("consumers", INVENTORY);
    let mut count = 0;
    for kind in ["clusterprofiles", "placementdecisions"] {
        let file = module.join(format!("config/crd/bases/multicluster.x-k8s.io_{kind}.yaml"));
        let text = std::fs::read_to_string(file).unwrap();
        let definition: Value = serde_saphyr::from_str(&text).unwrap();
        let schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        let mut schema = schema;
        // What stands there for metadata says nothing.
        schema["properties"]["metadata"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = Schema::from_value(schema);
        let list = server
            .kubectl(&format!("get {kind}.multicluster.x-k8s.io -n argocd -o json"))
            .json();
        for object in list["items"].as_array().unwrap() {
            let errors = schema.validate(object);
            assert!(errors.is_empty(), "{errors:?}: {object}");
            let unknown = schema.new_unknown_fields(object, &Value::Null, 10);
            assert!(unknown.paths.is_empty(), "{unknown:?}: {object}");
            count += 1;
        }
    }
    assert!(count > 10, "only {count} objects were published");
}
