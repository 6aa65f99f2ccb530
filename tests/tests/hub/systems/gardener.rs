//! Gardener's objects behind another API server with `shoots/binding`, which a CustomResourceDefinition
//! cannot have. A second Berth that owns Gardener's group replaces gardener-apiserver, in its own namespace,
//! without decisions.

use std::process::Command;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Account, Berth};
use serde_json::{Value, json};

use crate::systems::binding::{audit, wrote};
use crate::systems::by_themselves::shoot;

/// The account of the replacement of gardener-apiserver.
const GARDENER: Account = Account {
    namespace: "garden",
    name: "gardener-apiserver",
};

/// Output of `berth manifests` for the replacement.
fn printed(set: &str) -> String {
    let output = Command::new(berth_tests::berth())
        .args(["manifests", set, "--namespace", GARDENER.namespace])
        .args(["--service", GARDENER.name])
        .args(["--mode=decide", "--source=gardener=owned"])
        .output()
        .expect("berth runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("YAML is text")
}

/// Starts the replacement and registers it for Gardener's group.
fn gardener_apiserver(hub: &Hub) -> Berth {
    hub.ensure(&["create", "namespace", GARDENER.namespace]);
    // Its rights have other names: the tested Berth has those of the manifests.
    let rights = printed("rbac").replace("name: berth:", "name: garden:");
    hub.kubectl("apply --server-side -f -").input(rights).succeeds();
    let arguments = [
        "--service-namespace",
        GARDENER.namespace,
        "--service-name",
        GARDENER.name,
        "--controllers=-gardener",
    ];
    let serving = Berth::start_as(hub, GARDENER, "gardener-apiserver", &arguments);
    serving.register_as(hub, GARDENER, |service| {
        service["spec"]["group"] == "core.gardener.cloud"
    });
    serving
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_shoot_is_bound_by_shoots_binding_where_its_api_server_has_it() {
    let hub = Hub::start();
    berth::apply_rights(&hub);
    berth::apply(&hub, "hub-sources-rbac.yaml");
    let _gardener = gardener_apiserver(&hub);
    eventually("shoots/binding to be served", || {
        let group = hub.kubectl("get --raw /apis/core.gardener.cloud/v1beta1").run();
        group.out.contains("\"shoots/binding\"").then_some(())
    });
    // The API server does not bind new shoots.
    berth::auto_bind(&hub, &["gardener"], "Controller");
    berth::load(&hub, "../examples/gardener/fleet.yaml");
    let _berth = crate::systems::install(&hub);
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    let bound = eventually("the shoot to be placed", || {
        let shoot = hub.kubectl("get shoot one -n garden-dev -o json").json();
        shoot["spec"]["seedName"].is_string().then_some(shoot)
    });
    let seed = bound["spec"]["seedName"].as_str().unwrap_or_default();
    assert!(seed.starts_with("aws-eu"), "{bound}");
    let binding: Vec<Value> = audit(&hub)
        .into_iter()
        .filter(|event| {
            event["objectRef"]["resource"] == "shoots" && event["objectRef"]["subresource"] == "binding"
        })
        .collect();
    let [event] = &binding[..] else {
        panic!("one write through shoots/binding: {binding:?}")
    };
    assert_eq!(
        (&event["verb"], &event["impersonatedUser"]["username"]),
        (&json!("update"), &json!("berth:scheduler")),
        "{event}"
    );
    assert!(wrote(&hub, "berth:scheduler", "shoots"));

    // And a manual binding, to a chosen seed.
    hub.kubectl("create -f -")
        .input(shoot("two").to_string())
        .succeeds();
    let decision = eventually("the decision", || {
        let output = hub
            .kubectl("get decision two.gardener -n garden-dev -o json")
            .run();
        let decision: Value = output
            .success
            .then(|| serde_json::from_str(&output.out).expect("JSON"))?;
        (decision["status"]["phase"] == "Bound").then_some(decision)
    });
    assert_eq!(
        decision["status"]["decisions"][0]["clusterName"]
            .as_str()
            .map(|name| &name[..6]),
        Some("aws-eu")
    );
}
