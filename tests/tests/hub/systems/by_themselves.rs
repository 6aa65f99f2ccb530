//! The controllers keep decisions of the hub's objects up to date.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth;
use serde_json::{Value, json};

use crate::systems::install;

/// A Shoot for the example fleet of Gardener.
pub(crate) fn shoot(name: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"}, "purpose": "evaluation", "region": "eu-west-1",
            "provider": {"type": "aws", "workers": [
                {"name": "worker", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 3}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

fn seed(hub: &Hub, name: &str) -> Option<String> {
    let shoot = hub
        .kubectl(&format!("get shoot {name} -n garden-dev -o json"))
        .json();
    shoot["spec"]["seedName"].as_str().map(str::to_owned)
}

fn holder(hub: &Hub) -> Option<String> {
    let words = format!("get lease berth-controllers -n {} -o json", berth::NAMESPACE);
    let output = hub.kubectl(&words).run();
    let lease: Value = output
        .success
        .then(|| serde_json::from_str(&output.out).expect("JSON"))?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    (!holder.is_empty()).then(|| holder.to_owned())
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn objects_of_the_hub_are_placed_by_themselves_and_moved_when_the_world_changes() {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    let _berth = install(&hub);
    let text = berth_tests::example::example("ocm/fleet.yaml");
    berth::load_text(&hub, "ocm.yaml", &text);
    berth::load_text(
        &hub,
        "gardener.yaml",
        &berth_tests::example::example("gardener/fleet.yaml"),
    );
    let held_by = eventually("somebody to hold the Lease", || holder(&hub));
    assert!(held_by.starts_with("berth_"), "{held_by}");

    hub.kubectl("create -f -")
        .input(shoot("by-itself").to_string())
        .succeeds();
    let on = eventually("the shoot to be placed", || seed(&hub, "by-itself"));
    assert!(on.starts_with("aws-eu"), "{on}");

    berth::load_text(
        &hub,
        "story.yaml",
        &berth_tests::example::example("ocm/story-1.yaml"),
    );
    let chosen = || -> Option<Vec<String>> {
        let words = "get placementdecisions -n story-1 -o json";
        let list = hub.kubectl(words).json();
        let decisions = list["items"].as_array()?.iter();
        let names = decisions.flat_map(|decision| {
            let listed = decision["status"]["decisions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            listed
                .into_iter()
                .filter_map(|one| one["clusterName"].as_str().map(str::to_owned))
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then_some(names)
    };
    let first = eventually("the placement to be decided", chosen);
    // A picked cluster is deleted: the decision changes.
    let gone = &first[0];
    let taint = json!([{"op": "add", "path": "/spec/taints", "value": [
        {"key": "gone", "value": "away", "effect": "NoSelect"}]}]);
    hub.kubectl_args(&[
        "patch",
        "managedcluster",
        gone,
        "--type=json",
        "-p",
        &taint.to_string(),
    ])
    .succeeds();
    eventually("the decision to leave the tainted cluster", || {
        chosen().filter(|names| !names.contains(gone)).map(drop)
    });
}
