//! Objects of the systems on the hub itself, as CustomResourceDefinitions rendered from the kinds: Berth decides over
//! copies and writes on the hub.

use serde_json::{Value, json};
use tests::eventually;
use tests::hub::Hub;
use tests::hub::berth::{self, Berth};

use crate::kubectl::shoot;

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn what_the_hub_stores_is_decided_and_bound_there() {
    let hub = Hub::start();
    berth::apply(&hub, "hub-sources-rbac.yaml");
    // The system comes later than Berth: it is idle until then, and wakes.
    let berth = Berth::install_hub(&hub, &["gardener", "ocm"]);
    assert!(!hub.kubectl("get targets").ok().contains("gardener"));
    berth::apply(&hub, "crds-systems.yaml");
    eventually("the definitions to be established", || {
        let seeds = hub.kubectl("get seeds").run();
        seeds.success.then_some(())
    });
    for fleet in ["gardener", "ocm"] {
        berth::load(&hub, &format!("../examples/{fleet}/fleet.yaml"));
    }
    eventually("the fleet's targets", || {
        let table = hub.kubectl("get targets").ok();
        ["aws-eu1.gardener", "cluster5.ocm"]
            .iter()
            .all(|target| table.contains(target))
            .then_some(())
    });

    hub.kubectl("create -f -")
        .input(shoot("garden-dev", "one").to_string())
        .ok();
    let decision = || -> Option<Value> {
        let output = hub
            .kubectl("get decision one.gardener -n garden-dev -o json")
            .run();
        output
            .success
            .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))
    };
    let pending = eventually("the decision", decision);
    assert_eq!(pending["status"]["phase"], "Pending", "{pending}");
    let binding = json!({
        "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Binding",
        "metadata": {"name": "one.gardener", "namespace": "garden-dev"},
    });
    hub.kubectl("create -f - --dry-run=server")
        .input(binding.to_string())
        .ok();
    let seed = |name: &str| {
        let shoot = hub
            .kubectl(&format!("get shoot {name} -n garden-dev -o json"))
            .json();
        shoot["spec"]["seedName"].as_str().map(str::to_owned)
    };
    assert_eq!(seed("one"), None);
    hub.kubectl("create -f -").input(binding.to_string()).ok();
    let seed = seed("one").expect("the shoot is bound");
    assert!(seed.starts_with("aws-eu"), "{seed}");
    let bound = eventually("the decision to follow", || {
        decision().filter(|decision| decision["status"]["phase"] == "Bound")
    });
    assert_eq!(bound["status"]["decisions"][0]["clusterName"], seed);
    let log = std::fs::read_to_string(hub.audit_log()).expect("the audit log is there");
    let written_by = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("an event");
        event["objectRef"]["resource"] == "shoots"
            && event["impersonatedUser"]["username"] == "berth:scheduler"
    };
    assert!(log.lines().any(written_by), "nobody wrote as the scheduler");
    drop(berth);
}
