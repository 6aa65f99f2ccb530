//! The consumers' own libraries and controllers with Berth's publications and decisions:
//! `tests/consumers`, programs in Go. They are built on first use (`make consumers`), so these tests
//! are otherwise ignored.

mod argocd;
mod kueue;
mod world;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use berth_apimachinery::Schema;
use berth_tests::hub::Hub;
use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, eventually, go};
use serde_json::{Value, json};
use world::World;

const INVENTORY: &str = "sigs.k8s.io/cluster-inventory-api";
const KEY: &str = "story-1.placement.ocm";

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

/// The SIG's own definitions of the two kinds.
fn upstream_definitions(hub: &Hub) {
    for file in definitions() {
        hub.kubectl_args(&["create", "-f", file.to_str().unwrap()])
            .succeeds();
    }
    hub.kubectl("wait --for=condition=Established crd --all --timeout=60s")
        .succeeds();
}

fn definitions() -> [PathBuf; 2] {
    let module = go::module("consumers", INVENTORY);
    ["clusterprofiles", "placementdecisions"]
        .map(|kind| module.join(format!("config/crd/bases/multicluster.x-k8s.io_{kind}.yaml")))
}

/// Makes the file at `path` executable.
fn executable(path: PathBuf) -> PathBuf {
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn decoded(text: &str) -> String {
    String::from_utf8(STANDARD.decode(text.trim()).unwrap()).unwrap()
}

fn program(world: &World, further: &[&str]) -> Command {
    let mut command = Command::new(go::build("consumers", ".", "consumers"));
    command
        .arg("-kubeconfig")
        .arg(world.kubeconfig())
        .args(["-namespace", "argocd", "-limit", "120s"])
        .args(further)
        .stdout(Stdio::piped());
    command
}

/// A running consumer, and its output.
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
        // Some programs end by themselves.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn patched(world: &World, cluster: &str, further: &[&str], patch: &Value) {
    let patch = patch.to_string();
    let mut arguments = vec!["patch", "managedcluster", cluster, "--type=merge", "-p", &patch];
    arguments.extend(further);
    world.kubectl_args(&arguments).succeeds();
}

/// Checks that the SIG's access library reaches `cluster` by its profile: another server, with its own
/// CA.
fn check_access(world: &World, cluster: &str) {
    let there = Server::start();
    let file = kube::config::Kubeconfig::read_from(there.kubeconfig()).unwrap();
    let server = file.clusters[0].cluster.clone().unwrap();
    let address = server.server.unwrap();
    let config = json!({"url": address, "caBundle": server.certificate_authority_data.unwrap()});
    let reached = json!({"spec": {"managedClusterClientConfigs": [config]}});
    patched(world, cluster, &[], &reached);
    let profile = format!("{cluster}.ocm");
    eventually("the profile to say how the cluster is reached", || {
        let get = format!("get clusterprofiles.multicluster.x-k8s.io {profile} -n argocd -o json");
        let profile = world.kubectl(&get).json();
        profile["status"]["accessProviders"].is_array().then_some(())
    });
    // Readers of profiles have their own credentials, here a plugin for the cluster's admin.
    let kubectl = ["config", "view", "--raw", "--minify", "-o"];
    let admin = |field: &str| {
        let path = format!("jsonpath={{.users[0].user.{field}}}");
        let mut arguments = kubectl.to_vec();
        arguments.push(&path);
        there.kubectl_args(&arguments).succeeds()
    };
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {
            "clientCertificateData": decoded(&admin("client-certificate-data")),
            "clientKeyData": decoded(&admin("client-key-data")),
        },
    });
    let plugin = executable(there.file("plugin", &format!("#!/bin/sh\ncat <<'END'\n{credential}\nEND\n")));
    let providers = json!({"providers": [{"name": "open-cluster-management", "execConfig": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "interactiveMode": "Never"}}]});
    let providers = there.file("providers.json", &providers.to_string());
    let further = [
        "-name",
        profile.as_str(),
        "-providers",
        providers.to_str().unwrap(),
        "access",
    ];
    let access = Running::start(program(world, &further)).next();
    assert_eq!(access["host"], address.as_str());
    assert!(access["version"].as_str().unwrap().starts_with("v1."), "{access}");
}

fn clusters(line: &Value) -> BTreeSet<String> {
    let list = line["clusters"].as_array().expect("a list of clusters");
    list.iter()
        .map(|cluster| cluster.as_str().expect("a name").to_owned())
        .collect()
}

/// Checks that an informer of a decision's slices always has a cluster that stays decided, while another
/// leaves. Returns the other cluster.
fn check_informer(world: &World) -> String {
    let mut following = Running::start(program(world, &["-name", KEY, "follow"]));
    let mut before = clusters(&following.next());
    while before.is_empty() {
        // The first slices may be older than the decision.
        before = clusters(&following.next());
    }
    let left = before.first().expect("something is decided").clone();
    let cluster = left.strip_suffix(".ocm").unwrap().to_owned();
    let taint = json!({"spec": {"taints": [{"key": "gone", "effect": "NoSelect"}]}});
    patched(world, &cluster, &[], &taint);
    let staying: BTreeSet<String> = before.iter().filter(|name| **name != left).cloned().collect();
    loop {
        let now = clusters(&following.next());
        assert!(staying.is_subset(&now), "{staying:?} is not in {now:?}");
        if !now.contains(&left) {
            return cluster;
        }
    }
}

/// Checks that a fleet controller engages `cluster` while it is healthy, and disengages it otherwise.
fn check_engagement(world: &World, cluster: &str) {
    let key = format!("argocd/{cluster}.ocm");
    let mut fleet = Running::start(program(world, &["engage"]));
    let mut seen = BTreeSet::new();
    while !seen.contains(&key) {
        let event = fleet.next();
        seen.insert(event["engaged"].as_str().expect("it only engages").to_owned());
    }
    let mut health = |status: &str| {
        let object = world
            .kubectl(&format!("get managedcluster {cluster} -o json"))
            .json();
        let mut conditions = object["status"]["conditions"].as_array().unwrap().clone();
        let available = conditions
            .iter_mut()
            .find(|condition| condition["type"] == "ManagedClusterConditionAvailable");
        available.unwrap()["status"] = status.into();
        let patch = json!({"status": {"conditions": conditions}});
        patched(world, cluster, &["--subresource=status"], &patch);
        loop {
            let event = fleet.next();
            if event.to_string().contains(&key) {
                return event;
            }
        }
    };
    assert_eq!(health("Unknown"), json!({"disengaged": key}));
    assert_eq!(health("True"), json!({"engaged": key}));
}

/// Output of a program, with a JSON value on each line.
fn printed(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect()
}

/// Checks that Argo CD's clusterDecisionResource finds the clusters of a Decision in its namespace, and
/// returns an error without one, on which Argo CD does not remove applications.
fn check_generator(world: &World) {
    let run = |name: &str| {
        let mut command = Command::new(go::build("consumers", ".", "consumers"));
        command.arg("-kubeconfig").arg(world.kubeconfig());
        command.args(["-namespace", "story-1", "-name", name, "duck"]);
        command.output().expect("it runs")
    };
    let decision = world
        .kubectl("get decision placement.ocm -n story-1 -o json")
        .json();
    let decided = decision["status"]["decisions"].as_array().expect("a list");
    let output = run("placement.ocm");
    assert!(output.status.success(), "{output:?}");
    let made = printed(&output);
    assert!(!made.is_empty() && made.len() == decided.len(), "{made:?}");
    for (parameters, cluster) in made.iter().zip(decided) {
        assert_eq!(parameters["name"], cluster["clusterName"]);
        assert_eq!(parameters["clusterName"], cluster["clusterName"]);
        assert_eq!(parameters["reason"], cluster["reason"]);
    }
    let none = run("nothing.ocm");
    assert!(!none.status.success(), "{none:?}");
}

/// Checks that the deletion of the profile of a deleted `cluster` waits for a consumer's finalizer.
fn check_finalizer(world: &World, cluster: &str) {
    let profile = format!("{cluster}.ocm");
    let mut holder = Running::start(program(world, &["-name", profile.as_str(), "hold"]));
    assert_eq!(holder.next(), json!({"held": profile}));
    world
        .kubectl(&format!("delete managedcluster {cluster} --wait=false"))
        .succeeds();
    assert_eq!(holder.next(), json!({"leaving": profile}));
    assert_eq!(holder.next(), json!({"released": profile}));
    eventually("the profile to go", || {
        let list = world
            .kubectl("get clusterprofiles.multicluster.x-k8s.io -n argocd -o name")
            .succeeds();
        (!list.contains(&format!("/{profile}"))).then_some(())
    });
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn the_access_library_reaches_a_cluster_by_its_profile() {
    check_access(&World::alone(&["ocm/fleet.yaml"]), "cluster1");
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn an_informer_that_follows_a_decision_never_misses_a_cluster_that_is_decided() {
    check_informer(&World::alone(&["ocm/fleet.yaml", "ocm/story-1.yaml"]));
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn a_fleet_controller_engages_healthy_clusters_and_disengages_the_others() {
    check_engagement(&World::alone(&["ocm/fleet.yaml"]), "cluster1");
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn the_cluster_decision_generator_finds_the_clusters_of_a_decision() {
    check_generator(&World::alone(&["ocm/fleet.yaml", "ocm/story-1.yaml"]));
}

#[test]
#[ignore = "builds a program in Go: `make consumers`"]
fn a_consumer_with_a_finalizer_is_waited_for() {
    check_finalizer(&World::alone(&["ocm/fleet.yaml"]), "cluster1");
}

#[test]
#[ignore = "builds a program in Go and runs a real kube-apiserver: `make consumers`"]
fn the_same_consumers_do_the_same_behind_a_hub() {
    let world = World::behind(&["ocm/fleet.yaml", "ocm/story-1.yaml"]);
    let left = check_informer(&world);
    check_generator(&world);
    let mut others = ["cluster1", "cluster2", "cluster3", "cluster4"]
        .into_iter()
        .filter(|cluster| *cluster != left);
    for done in [check_access, check_engagement, check_finalizer] {
        done(&world, others.next().expect("there are enough clusters"));
    }
}

#[test]
#[ignore = "downloads a module of Go: `make consumers`"]
fn upstreams_schemas_accept_every_object_of_all_systems() {
    let files = SYSTEMS.map(|system| format!("{system}/fleet.yaml"));
    let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
    files.extend(["ocm/story-1.yaml", "gardener/load.yaml"]);
    let world = World::alone(&files);
    let mut count = 0;
    for (kind, file) in ["clusterprofiles", "placementdecisions"]
        .into_iter()
        .zip(definitions())
    {
        let text = std::fs::read_to_string(file).unwrap();
        let definition: Value = serde_saphyr::from_str(&text).unwrap();
        let schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        let mut schema = schema;
        // What stands there for metadata says nothing.
        schema["properties"]["metadata"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schema = Schema::from_value(schema);
        let list = world
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
