//! `kubectl apply --prune`: objects that a manifest no longer contains are deleted, by allowlist and by
//! ApplySet, from the client and on the server; others' objects are kept.

use berth_tests::Server;

/// A ConfigMap and a Placement for each of `names`.
fn manifest(names: &[&str]) -> String {
    let documents = names.iter().map(|name| {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default, labels: {{app: shop}}}}, \
             data: {{color: blue}}}}\n---\n{{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, \
             metadata: {{name: {name}, namespace: default, labels: {{app: shop}}}}, spec: {{numberOfClusters: 1}}}}\n"
        )
    });
    documents.collect()
}

/// The names of the existing ConfigMaps and Placements.
fn standing(server: &Server) -> Vec<String> {
    let kinds = "configmaps,placements.cluster.open-cluster-management.io";
    let listed = server
        .kubectl(&format!("-n default get {kinds} -o name"))
        .succeeds();
    let mut names: Vec<String> = listed
        .lines()
        .filter(|name| !name.ends_with("kube-root-ca.crt"))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

const FIRST: [&str; 2] = [
    "configmap/one",
    "placement.cluster.open-cluster-management.io/one",
];

/// Only from the client: kubectl does not prune server-side applied objects by allowlist, and reports that.
#[test]
fn pruning_by_an_allowlist_takes_what_the_manifest_no_longer_has() {
    const ALLOWED: &str = "--prune-allowlist=core/v1/ConfigMap \
                           --prune-allowlist=cluster.open-cluster-management.io/v1beta1/Placement";
    let server = Server::start();
    let apply = |names: &[&str]| {
        let command = format!("-n default apply --prune -l app=shop {ALLOWED} -f -");
        server.kubectl(&command).input(manifest(names)).succeeds()
    };
    apply(&["one", "two"]);
    assert_eq!(standing(&server).len(), 4);
    // Not applied, so not pruned, although it has the label.
    server.kubectl("-n default create configmap bystander").succeeds();
    server
        .kubectl("-n default label configmap bystander app=shop")
        .succeeds();
    let output = apply(&["one"]);
    assert!(
        output.contains("configmap/two pruned")
            && output.contains("placement.cluster.open-cluster-management.io/two pruned"),
        "{output}"
    );
    let mut left = FIRST.to_vec();
    left.insert(0, "configmap/bystander");
    assert_eq!(standing(&server), left);
}

#[test]
fn pruning_by_an_applyset_takes_what_left_the_set() {
    for how in ["", "--server-side"] {
        let server = Server::start();
        let apply = |names: &[&str]| {
            let command = format!("-n default apply {how} --prune --applyset=shop -f -");
            let kubectl = server.kubectl(&command).env("KUBECTL_APPLYSET", "true");
            kubectl.input(manifest(names)).succeeds()
        };
        apply(&["one", "two"]);
        let set = server
            .kubectl("-n default get secret shop -o json --show-managed-fields")
            .json();
        let kinds = &set["metadata"]["annotations"]["applyset.kubernetes.io/contains-group-kinds"];
        assert_eq!(
            kinds, "ConfigMap,Placement.cluster.open-cluster-management.io",
            "{how}: {set}"
        );
        server.kubectl("-n default create configmap bystander").succeeds();
        let output = apply(&["one"]);
        assert!(output.contains("configmap/two pruned"), "{how}: {output}");
        let mut left = FIRST.to_vec();
        left.insert(0, "configmap/bystander");
        assert_eq!(standing(&server), left, "{how}");
    }
}
