//! Repeated writes of objects that were bound meanwhile: the scheduler's fields are kept.

use std::process::Command;

use super::*;

/// Result of `berth load` of a file: success, and the whole output.
fn load(server: &Server, text: &str) -> (bool, String) {
    let file = server.file("again.yaml", text);
    let output = Command::new(berth_tests::berth())
        .arg("load")
        .arg("--kubeconfig")
        .arg(server.kubeconfig())
        .arg("-f")
        .arg(file)
        .output()
        .unwrap();
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.success(), texts.concat())
}

#[test]
fn what_binding_wrote_stays_when_a_file_is_loaded_again() {
    let server = gardener();
    let plain = shoot("web", "eu-west-1").to_string();
    assert!(load(&server, &plain).0);
    let bound = server.kubectl("-n garden-dev get shoot web -o json").json();
    assert_eq!(bound["spec"]["seedName"], "aws-eu1");
    let (loaded, printed) = load(&server, &plain);
    assert!(loaded && printed.contains("web unchanged"), "{printed}");
    let mut changed = shoot("web", "eu-west-1");
    changed["spec"]["purpose"] = "development".into();
    let (loaded, printed) = load(&server, &changed.to_string());
    assert!(loaded && printed.contains("web configured"), "{printed}");
    let after = server.kubectl("-n garden-dev get shoot web -o json").json();
    assert_eq!(after["spec"]["purpose"], "development");
    assert_eq!(after["spec"]["seedName"], bound["spec"]["seedName"]);
    assert_eq!(after["spec"]["networking"], bound["spec"]["networking"]);
    let (loaded, printed) = load(&server, &placed("web", "aws-eu2").to_string());
    assert!(
        !loaded
            && printed.contains("spec.seedName may only be changed through the subresource shoots/binding"),
        "a wish is not dropped: {printed}"
    );
    // kubectl apply and kubectl replace follow Kubernetes' own rules.
    server.kubectl("apply -f -").input(plain.clone()).succeeds();
    let refused = server.kubectl("replace -f -").input(plain).fails();
    assert!(refused.contains("spec.seedName may only be changed"), "{refused}");
}

#[test]
fn an_openmcp_cluster_is_applied_and_loaded_again_while_requests_use_it() {
    let server = Server::start();
    server.load(&example("openmcp/configuration.yaml"));
    server.load(&example("openmcp/fleet.yaml"));
    let cluster = |labels: &str| {
        format!(
            "apiVersion: clusters.openmcp.cloud/v1alpha1\nkind: Cluster\nmetadata: {{name: workload-0, namespace: \
             workload-clusters, labels: {{{labels}}}}}\nspec: {{profile: gcp-small, purposes: [workload], tenancy: Shared}}\n"
        )
    };
    server.kubectl("apply -f -").input(cluster("a: b")).succeeds();
    server.load(&example("openmcp/shared.yaml"));
    let uses = || {
        let stored = server
            .kubectl("-n workload-clusters get clusters.clusters.openmcp.cloud workload-0 -o json")
            .json();
        stored["metadata"]["finalizers"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(uses(), 1, "the request went to the emptiest cluster");
    server.kubectl("apply -f -").input(cluster("a: c")).succeeds();
    let (loaded, printed) = load(&server, &cluster("a: d"));
    assert!(loaded && printed.contains("workload-0 configured"), "{printed}");
    assert_eq!(uses(), 1);
    let replaced = server.kubectl("replace -f -").input(cluster("a: e")).fails();
    assert!(
        replaced.contains(
            "it says that a request uses the Cluster; only berth:scheduler writes it: keep it in the list"
        ),
        "{replaced}"
    );
    // An old status.
    let request = server
        .kubectl("-n project-a get clusterrequest batch -o json")
        .json();
    assert_eq!(request["status"]["phase"], "Granted");
    let mut stale = request.clone();
    stale["status"] = json!({"phase": "Pending", "observedGeneration": 1});
    let (loaded, printed) = load(&server, &stale.to_string());
    assert!(
        loaded
            && printed.contains(
                "status.phase stays as it is stored: Forbidden: it says whether the request was granted"
            ),
        "{printed}"
    );
    let after = server
        .kubectl("-n project-a get clusterrequest batch -o json")
        .json();
    assert_eq!(after["status"]["cluster"], request["status"]["cluster"]);
}

#[test]
fn the_schedulers_hold_on_a_placement_is_not_taken_off_by_others() {
    let server = Server::start();
    let placement = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
        "metadata": {"name": "web", "finalizers": ["kubernetes-fleet.io/scheduler-cleanup", "example.com/mine"]},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "web"}]},
    });
    server
        .kubectl("create -f -")
        .input(placement.to_string())
        .succeeds();
    let patch = |change: &str| {
        server.kubectl_args(&[
            "patch",
            "clusterresourceplacement",
            "web",
            "--type=merge",
            "-p",
            change,
        ])
    };
    let refused = patch(r#"{"metadata":{"finalizers":null}}"#).fails();
    assert!(
        refused.contains(
            "metadata.finalizers[kubernetes-fleet.io/scheduler-cleanup]: Forbidden: it keeps the placement until its \
             bindings are deleted, and only berth:scheduler removes it"
        ),
        "{refused}"
    );
    patch(r#"{"metadata":{"finalizers":["kubernetes-fleet.io/scheduler-cleanup"]}}"#).succeeds();
    server
        .kubectl("delete clusterresourceplacement web --timeout=60s")
        .succeeds();
}
