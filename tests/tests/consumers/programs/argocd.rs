//! Argo CD's own cluster decision generator (`tests/consumers/argocd`), with the unchanged
//! `deploy/consumers/argocd`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use berth_tests::example::example;
use berth_tests::{Server, eventually, go};
use serde_json::json;

fn deployed(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/consumers/argocd")
        .join(file)
}

fn generate(server: &Server, set: &Path) -> Output {
    let mut command = Command::new(go::build("consumers/argocd", ".", "argocd"));
    command.arg("-kubeconfig").arg(server.kubeconfig());
    command.args(["-namespace", "argocd", "-set"]).arg(set);
    command.output().expect("it runs")
}

/// Creates the Secret that registers a cluster in Argo CD.
fn register_cluster(server: &Server, cluster: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": cluster, "namespace": "argocd", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
        "data": {"name": super::encoded(cluster.as_bytes()), "config": super::encoded(b"{}"),
                 "server": super::encoded(format!("https://{cluster}.example").as_bytes())},
    });
    server.kubectl("create -f -").input(secret.to_string()).succeeds();
}

#[test]
#[ignore = "builds Argo CD's generator in Go, which takes minutes: `make consumers`"]
fn argo_cds_own_generator_gives_an_application_set_the_clusters_of_its_decision() {
    let server = Server::start();
    server.kubectl("create namespace argocd").succeeds();
    for file in ["ocm/fleet.yaml", "ocm/story-1.yaml"] {
        server.load(&server.file(&file.replace('/', "-"), &example(file)));
    }
    let decisions = deployed("decisions.yaml");
    server
        .kubectl_args(&["create", "-f", decisions.to_str().unwrap()])
        .succeeds();
    server
        .kubectl("wait publication/argocd --for=condition=Published --timeout=60s")
        .succeeds();
    let decided = eventually("a decision", || {
        let decision = server
            .kubectl("get decision placement.ocm -n story-1 -o json")
            .json();
        let list = decision["status"]["decisions"].as_array()?.clone();
        let names = list.iter().filter_map(|cluster| cluster["clusterName"].as_str());
        let names: BTreeSet<String> = names.map(|name| format!("{name}.ocm")).collect();
        (!names.is_empty()).then_some(names)
    });
    for cluster in &decided {
        register_cluster(&server, cluster);
    }
    let set = deployed("applicationset-ocm.yaml");
    let output = generate(&server, &set);
    assert!(output.status.success(), "{output:?}");
    let made = super::printed(&output);
    let names: BTreeSet<String> = made
        .iter()
        .map(|parameters| parameters["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(names, decided, "{made:?}");
    for parameters in &made {
        assert_eq!(parameters["system"], "ocm");
        let name = parameters["name"].as_str().expect("a name");
        assert_eq!(parameters["server"], format!("https://{name}.example"));
        assert!(parameters["reason"].is_string(), "{parameters}");
    }
    // A missing decision is an error, on which all Applications are kept.
    let text = std::fs::read_to_string(&set).expect("it is there");
    assert!(text.contains("story-1.placement.ocm"), "{text}");
    let none = server.file("none.yaml", &text.replace("story-1.placement.ocm", "nothing.ocm"));
    let output = generate(&server, &none);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && errors.contains("no clusterDecisionResources found"),
        "{errors}"
    );
}
