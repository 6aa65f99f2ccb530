//! `berth export`: the files of a running server have the server's decisions (docs/concepts.md, "Exporting").

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, example::example};
use serde_json::Value;

fn berth(kubeconfig: &Path, arguments: &[&str]) -> Output {
    Command::new(berth_tests::berth())
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A decision without its time and revision, and without fields that depend on them.
fn decided(scheduling: &Value) -> Value {
    let mut status = scheduling["status"].clone();
    let fields = status.as_object_mut().unwrap();
    for field in ["evaluatedAt", "inventoryRevision", "writes", "conditions"] {
        fields.remove(field);
    }
    status
}

/// The namespace and name of a Scheduling.
fn place(scheduling: &Value) -> (String, String) {
    let meta = &scheduling["metadata"];
    let part = |field: &str| meta[field].as_str().unwrap_or_default().to_owned();
    (part("namespace"), part("name"))
}

/// The server's present decisions of all objects.
fn live(server: &Server) -> BTreeMap<(String, String), Value> {
    let mut all = BTreeMap::new();
    for (resource, flag) in [("decisions", "-A"), ("clusterdecisions", "")] {
        let list = server.kubectl(&format!("get {resource} {flag} -o json")).json();
        for decision in list["items"].as_array().unwrap() {
            let (namespace, name) = place(decision);
            let at = match namespace.as_str() {
                "" => String::new(),
                namespace => format!("/namespaces/{namespace}"),
            };
            let path = format!("/apis/scheduling.berth.dev/v1alpha1{at}/{resource}/{name}/scheduling");
            let scheduling = server.kubectl(&format!("get --raw {path}")).json();
            all.insert((namespace, name), decided(&scheduling));
        }
    }
    all
}

fn load(server: &Server, path: &str) {
    let file = server.file("example.yaml", &example(path));
    server.load(&file);
}

#[test]
fn what_is_exported_of_all_six_systems_is_decided_as_the_server_does() {
    let server = Server::start();
    // Unbound objects have decisions with a choice.
    server.bind_by_hand(&["gardener", "ocm", "fleet", "karmada"]);
    for path in [
        "gardener/fleet.yaml",
        "gardener/load.yaml",
        "gardener/same-region.yaml",
        "gardener/unschedulable.yaml",
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "ocm/story-3.yaml",
        "fleet/fleet.yaml",
        "fleet/pick-n.yaml",
        "fleet/pick-all.yaml",
        "openmcp/configuration.yaml",
        "openmcp/fleet.yaml",
        "openmcp/shared.yaml",
        "openmcp/exclusive.yaml",
        "kcp/fleet.yaml",
        "kcp/namespaces.yaml",
        "karmada/fleet.yaml",
        "karmada/divided.yaml",
        "karmada/groups.yaml",
    ] {
        load(&server, path);
    }
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("live").display().to_string();
    // Automatic bindings are complete when the decisions before and after are equal.
    let (before, simulated) = berth_tests::eventually("the server to come to rest", || {
        let before = live(&server);
        let exported = berth(&server.kubeconfig(), &["export", &files]);
        assert!(exported.status.success(), "{}", text(&exported.stderr));
        let output = berth(
            &server.kubeconfig(),
            &["simulate", "-f", &files, "--independent", "-o", "json"],
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            output.stderr.is_empty(),
            "nothing is ignored: {}",
            text(&output.stderr)
        );
        (live(&server) == before).then_some((before, output.stdout))
    });
    let list: Value = serde_json::from_slice(&simulated).unwrap();
    let simulated: BTreeMap<(String, String), Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|scheduling| (place(scheduling), decided(scheduling)))
        .collect();
    let systems: std::collections::BTreeSet<&str> = before
        .keys()
        .filter_map(|(_, name)| name.rsplit_once('.').map(|(_, system)| system))
        .collect();
    assert_eq!(systems.len(), SYSTEMS.len(), "{systems:?}");
    let names = |all: &BTreeMap<(String, String), Value>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&simulated), names(&before));
    for (place, scheduling) in &before {
        assert_eq!(&simulated[place], scheduling, "{place:?}");
    }
    // A repetition writes the same files.
    let read = || {
        let mut all: Vec<(String, String)> = std::fs::read_dir(&files)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (
                    path.display().to_string(),
                    std::fs::read_to_string(&path).unwrap(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let first = read();
    assert!(berth(&server.kubeconfig(), &["export", &files]).status.success());
    let names = |files: &[(String, String)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&read()), names(&first));
    assert!(first.iter().all(|(_, text)| !text.contains("managedFields")));
}

#[test]
fn only_what_the_caller_may_read_is_exported_and_the_rest_is_named() {
    let server = Server::start();
    load(&server, "gardener/fleet.yaml");
    load(&server, "gardener/same-region.yaml");
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("live");
    let path = files.display().to_string();
    let ann = server.kubeconfig_for("ann", &[]);
    let nothing = berth(&ann, &["export", &path]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        text(&nothing.stderr).contains("may not list them"),
        "{}",
        text(&nothing.stderr)
    );
    assert!(!files.exists());
    server
        .kubectl("create clusterrole seeds --verb=list --resource=seeds.core.gardener.cloud")
        .succeeds();
    server
        .kubectl("create clusterrolebinding seeds --clusterrole=seeds --user=ann")
        .succeeds();
    let some = berth(&ann, &["export", &path]);
    assert!(some.status.success(), "{}", text(&some.stderr));
    assert!(
        text(&some.stderr).contains("left out: ") && text(&some.stderr).contains("shoots"),
        "{}",
        text(&some.stderr)
    );
    let names: Vec<String> = std::fs::read_dir(&files)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["seeds.core.gardener.cloud.yaml"]);
    let one = berth(&server.kubeconfig(), &["export", &path, "-n", "default"]);
    assert!(one.status.success(), "{}", text(&one.stderr));
    assert!(files.join("seeds.core.gardener.cloud.yaml").exists());
    assert!(
        files.join("shoots.core.gardener.cloud.yaml").exists(),
        "those of other namespaces fill the Seeds"
    );
}

#[test]
fn the_export_of_a_namespace_decides_as_the_whole_hub_does() {
    let server = Server::start();
    server.bind_by_hand(&["ocm"]);
    for path in ["ocm/fleet.yaml", "ocm/story-1.yaml", "ocm/story-3.yaml"] {
        load(&server, path);
    }
    // Another team's decisions, in another namespace, affect Balance.
    let decisions = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\n\
                     metadata: {name: theirs, namespace: story-3}\n\
                     status: {decisions: [{clusterName: cluster1, reason: ''}, {clusterName: cluster2, reason: ''}]}\n";
    server.load(&server.file("theirs.yaml", decisions));
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str, arguments: &[&str]| -> Vec<Value> {
        let files = folder.path().join(name).display().to_string();
        let exported = berth(&server.kubeconfig(), &[&["export", &files], arguments].concat());
        assert!(exported.status.success(), "{}", text(&exported.stderr));
        let words = ["simulate", "-f", &files, "--independent", "-o", "json"];
        let output = berth(&server.kubeconfig(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let list: Value = serde_json::from_slice(&output.stdout).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        let own = items.filter(|item| item["metadata"]["namespace"] == "story-1");
        own.map(decided).collect()
    };
    let whole = of("whole", &[]);
    assert!(!whole.is_empty());
    assert_eq!(of("part", &["-n", "story-1"]), whole);
    let part = folder.path().join("part");
    let placements =
        std::fs::read_to_string(part.join("placements.cluster.open-cluster-management.io.yaml")).unwrap();
    assert!(
        !placements.contains("story-3"),
        "what other teams ask for is theirs"
    );
    let theirs =
        std::fs::read_to_string(part.join("placementdecisions.cluster.open-cluster-management.io.yaml"));
    assert!(theirs.unwrap().contains("theirs"));
}
