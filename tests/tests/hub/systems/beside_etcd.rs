//! One system on the hub, the others in Berth's own etcd: both are decided, each in its store.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use serde_json::{Value, json};

use crate::systems::by_themselves::shoot;

fn start(hub: &Hub) -> Berth {
    // kcp's synced objects are copied with Secrets, which must be encrypted.
    let encryption = berth::encryption(hub);
    let arguments = [
        "--encryption-provider-config",
        &encryption,
        "--source=gardener=hub",
        "--source=kcp=owned",
        "--storage",
        "etcd",
        "--etcd-servers",
        hub.etcd(),
        "--etcd-prefix",
        "/of-berth",
    ];
    let berth = Berth::start(hub, "berth", &arguments);
    let ca = std::fs::read(berth.data_dir().join("ca.crt")).expect("berth wrote its CA");
    berth::register(hub, berth.port(), &ca, &["apiservice.yaml"]);
    berth.register_as(hub, berth::BERTH, |service| {
        service["spec"]["group"] != "core.gardener.cloud"
    });
    berth::available(hub);
    berth
}

fn seed(hub: &Hub, name: &str) -> Option<String> {
    let shoot = hub
        .kubectl(&format!("get shoot {name} -n garden-dev -o json"))
        .json();
    shoot["spec"]["seedName"].as_str().map(str::to_owned)
}

/// The clusters of the example's Placement.
fn chosen(hub: &Hub) -> Option<Value> {
    let output = hub.kubectl("get decision placement.ocm -n story-1 -o json").run();
    let decision: Value = output
        .success
        .then(|| serde_json::from_str(&output.out).expect("kubectl prints JSON"))?;
    (decision["status"]["phase"] == "Bound").then(|| decision["status"]["decisions"].clone())
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_system_of_the_hub_and_systems_in_etcd_are_decided_side_by_side() {
    let hub = Hub::start();
    berth::apply_rights(&hub);
    berth::apply(&hub, "hub-sources-rbac.yaml");
    crate::systems::define(&hub, "core.gardener.cloud");
    let first = start(&hub);
    berth::load(&hub, "../examples/gardener/fleet.yaml");
    berth::load_text(&hub, "ocm.yaml", &berth_tests::example::example("ocm/fleet.yaml"));
    berth::load_text(
        &hub,
        "story.yaml",
        &berth_tests::example::example("ocm/story-1.yaml"),
    );
    hub.kubectl("create -f -")
        .input(shoot("one").to_string())
        .succeeds();
    let placed = eventually("the shoot of the hub to be placed", || seed(&hub, "one"));
    assert!(placed.starts_with("aws-eu"), "{placed}");
    let decided = eventually("the placement in etcd to be decided", || chosen(&hub));
    // Objects in etcd are not on the hub, and vice versa.
    let crds = hub.kubectl("get crd -o name").succeeds();
    assert!(!crds.contains("open-cluster-management"), "{crds}");

    // A restarted server has the current objects of both.
    drop(first);
    hub.kubectl("delete shoot one -n garden-dev").succeeds();
    hub.kubectl("create -f -")
        .input(shoot("two").to_string())
        .succeeds();
    let _second = start(&hub);
    eventually("the copy of what was deleted meanwhile to go", || {
        let output = hub.kubectl("get decision one.gardener -n garden-dev").run();
        output.err.contains("NotFound").then_some(())
    });
    eventually("what was created meanwhile to be placed", || seed(&hub, "two"));
    assert_eq!(
        eventually("the placement to be shown again", || chosen(&hub)),
        decided
    );
    let changed = json!({"spec": {"numberOfClusters": 1}}).to_string();
    hub.kubectl_args(&[
        "patch",
        "placements.cluster.open-cluster-management.io",
        "placement",
        "-n",
        "story-1",
        "--type=merge",
        "-p",
        &changed,
    ])
    .succeeds();
    eventually("the placement to be decided anew", || {
        let clusters = chosen(&hub)?;
        (clusters.as_array().map(Vec::len) == Some(1)).then_some(())
    });
}
