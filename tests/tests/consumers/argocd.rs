//! Decisions for Argo CD's cluster decision generator: the unchanged `deploy/consumers/argocd`, with the
//! examples of every system. A few lines here follow the rules of the generator: a list in its namespace as
//! its ServiceAccount, a list of maps in the status, a key with a cluster's name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use berth_tests::example::example;
use berth_tests::systems::SYSTEMS;
use berth_tests::{Server, eventually};
use serde_json::{Value, json};

const CONTROLLER: &str = "--as=system:serviceaccount:argocd:argocd-applicationset-controller";
const PROFILES: &str = "clusterprofiles.multicluster.x-k8s.io";
const FILES: [&str; 12] = [
    "openmcp/configuration.yaml",
    "openmcp/fleet.yaml",
    "openmcp/shared.yaml",
    "fleet/fleet.yaml",
    "fleet/pick-all.yaml",
    "gardener/fleet.yaml",
    "gardener/same-region.yaml",
    "ocm/fleet.yaml",
    "ocm/story-1.yaml",
    "kcp/fleet.yaml",
    "karmada/fleet.yaml",
    "karmada/divided.yaml",
];

fn manifest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/consumers/argocd")
        .join(name)
}

fn documents(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(manifest(name)).unwrap();
    let documents = text.split("\n---\n");
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

/// Starts a server with `files` of the examples at current times, and namespace `argocd`.
fn server(files: &[&str]) -> Server {
    let server = Server::start();
    server.kubectl("create namespace argocd").succeeds();
    for path in files {
        server.load(&server.file(&path.replace('/', "-"), &example(path)));
    }
    server
}

/// The ConfigMap of the generator.
fn configuration() -> Value {
    let mut all = documents("decisions.yaml").into_iter();
    all.find(|document| document["kind"] == "ConfigMap").unwrap()["data"].clone()
}

/// The path of the generator's list, with its only selector.
fn path(selector: &str) -> String {
    let configuration = configuration();
    let text = |field: &str| configuration[field].as_str().unwrap().to_owned();
    let (api, plural) = (text("apiVersion"), text("kind"));
    format!("/apis/{api}/namespaces/argocd/{plural}?{selector}")
}

fn listed(server: &Server, selector: &str) -> Vec<Value> {
    let list = server
        .kubectl_args(&["get", "--raw", &path(selector), CONTROLLER])
        .json();
    list["items"].as_array().unwrap().clone()
}

/// The generator's parameters for the template of `set`, for each of Argo CD's `clusters`.
fn generated(server: &Server, set: &Value, clusters: &BTreeSet<String>) -> Vec<BTreeMap<String, String>> {
    let configuration = configuration();
    let generator = &set["spec"]["generators"][0]["clusterDecisionResource"];
    let name = generator["name"].as_str().unwrap();
    let objects = listed(server, &format!("fieldSelector=metadata.name%3D{name}"));
    assert_eq!(objects.len(), 1, "{name}: no object is an error: {objects:?}");
    let list = configuration["statusListKey"].as_str().unwrap();
    let entries = objects[0]["status"][list]
        .as_array()
        .unwrap_or_else(|| panic!("{name}: a status without a list ends in a panic: {objects:?}"));
    let mut parameters = Vec::new();
    for entry in entries {
        let keys = entry.as_object().expect("every entry is a map");
        let texts = keys.iter().map(|(key, value)| {
            let text = value
                .as_str()
                .unwrap_or_else(|| panic!("{key} is no text: {entry}"));
            (key.clone(), text.to_owned())
        });
        let mut texts: BTreeMap<String, String> = texts.collect();
        for taken in ["name", "server"] {
            assert!(
                !texts.contains_key(taken),
                "{taken} would replace the cluster's own"
            );
        }
        let cluster = &texts[configuration["matchKey"].as_str().unwrap()];
        if clusters.contains(cluster) {
            texts.insert("name".to_owned(), cluster.clone());
            parameters.push(texts);
        }
    }
    parameters
}

/// `template` with the parameters, all of which must exist.
fn rendered(template: &Value, parameters: &BTreeMap<String, String>) -> Value {
    let mut text = template.to_string();
    for (key, value) in parameters {
        text = text.replace(&format!("{{{{ .{key} }}}}"), value);
    }
    assert!(!text.contains("{{"), "missing in {parameters:?}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn profiles(server: &Server) -> BTreeSet<String> {
    let list = server
        .kubectl(&format!("get {PROFILES} -n argocd -o name"))
        .succeeds();
    list.lines()
        .map(|line| line.split_once('/').unwrap().1.to_owned())
        .collect()
}

#[test]
fn every_systems_application_set_is_generated_for_the_clusters_of_its_decision() {
    let mut files = FILES.to_vec();
    files.push("kcp/namespaces.yaml");
    let server = server(&files);
    let before = server
        .kubectl_args(&["get", "--raw", &path(""), CONTROLLER])
        .fails();
    assert!(
        before.contains("Forbidden") || before.contains("cannot list"),
        "{before}"
    );
    server
        .kubectl_args(&["create", "-f", manifest("decisions.yaml").to_str().unwrap()])
        .succeeds();
    server
        .kubectl("wait publication/argocd --for=condition=Published --timeout=20s")
        .succeeds();
    // Argo CD's clusters have the names of the ClusterProfiles.
    let clusters = profiles(&server);
    for system in SYSTEMS {
        let set = &documents(&format!("applicationset-{system}.yaml"))[0];
        let parameters = eventually(&format!("clusters for {system}"), || {
            Some(generated(&server, set, &clusters)).filter(|found| !found.is_empty())
        });
        for one in &parameters {
            let application = rendered(&set["spec"]["template"], one);
            let name = application["metadata"]["name"].as_str().unwrap();
            assert!(berth_apimachinery::name::dns_subdomain(name).is_ok(), "{name}");
            assert_eq!(
                application["spec"]["destination"]["name"],
                one["clusterName"].as_str()
            );
            assert_eq!(one["system"], system);
            assert!(one["target"].ends_with(&format!(".{system}")), "{one:?}");
        }
    }
    let get = |arguments: &str| {
        server
            .kubectl(&format!("get publisheddecisions -n argocd {arguments}"))
            .succeeds()
    };
    assert!(get("").contains("everywhere.fleet-cluster"));
    let ocm = get("-l scheduling.berth.dev/system=ocm -o name");
    assert!(
        !ocm.is_empty() && ocm.lines().all(|line| line.ends_with(".ocm")),
        "{ocm}"
    );
}

#[test]
fn a_publication_says_what_appears_and_how_it_is_named_and_nothing_is_written_for_it() {
    let server = server(&["ocm/fleet.yaml", "ocm/story-2.yaml"]);
    let publication = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "argocd"},
        "spec": {"namespace": "argocd", "systems": ["ocm"], "names": "Bare", "labels": {"team": "a"},
                 "shapes": ["PublishedDecision"]},
    });
    server
        .kubectl("create -f -")
        .input(publication.to_string())
        .succeeds();
    server
        .kubectl("wait publication/argocd --for=condition=Published --timeout=20s")
        .succeeds();
    // This form needs no written objects.
    assert_eq!(profiles(&server), BTreeSet::new());
    let shown = || -> Value {
        let get = "get publisheddecision story-2.placement.ocm -n argocd -o json";
        server.kubectl(get).json()
    };
    let object = eventually("the decision to be bound", || {
        let object = shown();
        (object["status"]["decisions"] != json!([])).then_some(object)
    });
    assert_eq!(object["metadata"]["labels"]["team"], "a");
    assert_eq!(object["spec"]["decision"], "placement.ocm");
    let decided = server
        .kubectl("get decision placement.ocm -n story-2 -o json")
        .json();
    let names = |list: &Value, field: &str| -> BTreeSet<String> {
        let entries = list.as_array().unwrap().iter();
        entries
            .map(|entry| entry[field].as_str().unwrap().to_owned())
            .collect()
    };
    let entries = &object["status"]["decisions"];
    let decided = names(&decided["status"]["decisions"], "clusterName");
    assert_eq!(decided.len(), 3);
    assert_eq!(
        names(entries, "clusterName"),
        decided,
        "the Publication has bare names"
    );
    assert_eq!(names(entries, "cluster"), decided);
    assert!(
        names(entries, "target")
            .iter()
            .all(|target| target.ends_with(".ocm"))
    );

    let none = json!({"spec": {"targetSelector": {"matchLabels": {"no": "such"}}}}).to_string();
    server
        .kubectl_args(&["patch", "publication", "argocd", "--type=merge", "-p", &none])
        .succeeds();
    assert_eq!(
        shown()["status"]["decisions"],
        json!([]),
        "the list is there, and empty"
    );
    let none = json!({"spec": {"decisionSelector": {"matchLabels": {"no": "such"}}}}).to_string();
    server
        .kubectl_args(&["patch", "publication", "argocd", "--type=merge", "-p", &none])
        .succeeds();
    assert_eq!(listed_by_admin(&server), Vec::<Value>::new());
    server.kubectl("delete publication argocd").succeeds();
    assert_eq!(listed_by_admin(&server), Vec::<Value>::new());
}

fn listed_by_admin(server: &Server) -> Vec<Value> {
    let list = server.kubectl("get publisheddecisions -n argocd -o json").json();
    list["items"].as_array().unwrap().clone()
}

#[test]
fn what_does_not_exist_is_no_empty_list_and_what_cannot_be_shown_is_refused() {
    let server = server(&["ocm/fleet.yaml"]);
    server
        .kubectl_args(&["create", "-f", manifest("decisions.yaml").to_str().unwrap()])
        .succeeds();
    assert_eq!(
        listed(&server, "fieldSelector=metadata.name%3Dno.such.ocm"),
        Vec::<Value>::new()
    );
    let missing = server
        .kubectl("get publisheddecision no.such.ocm -n argocd")
        .fails();
    assert!(missing.contains("NotFound"), "{missing}");
    let bad = json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "metadata": {"name": "bad"},
        "spec": {"namespace": "other", "shapes": ["PlacementDecision", "PublishedDecision", "ArgoDecision"]},
    });
    let refused = server
        .kubectl("create --validate=false -f -")
        .input(bad.to_string())
        .fails();
    assert!(
        refused.contains("spec.shapes[2]") && refused.contains("PublishedDecision"),
        "{refused}"
    );
    let refused = server.kubectl("delete publisheddecision any -n argocd").fails();
    assert!(
        refused.contains("MethodNotAllowed") || refused.contains("does not allow"),
        "{refused}"
    );
}
