//! Every system's objects on a real hub, with CustomResourceDefinitions rendered from the kinds: Berth
//! decides with copies and writes to the hub. These tests build and run a kube-apiserver, so they are part of
//! `make e2e`, and otherwise ignored.

mod beside_etcd;
mod binding;
mod by_themselves;
mod gardener;
mod idle;
mod kcp;
mod outage;
mod overruled;
mod system;

use std::sync::OnceLock;

use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};
use berth_tests::systems::SYSTEMS;

/// The shared hub of this program, and its Berth, with the systems' definitions and fleets, without
/// automatic binding.
fn shared() -> &'static Hub {
    static SHARED: OnceLock<(Hub, Berth)> = OnceLock::new();
    let (hub, _) = SHARED.get_or_init(|| {
        let hub = Hub::start();
        berth::apply_definitions(&hub);
        let berth = install(&hub);
        berth::auto_bind(&hub, &SYSTEMS, "Off");
        system::load_fleets(&hub);
        (hub, berth)
    });
    hub
}

/// The files with the definitions of one API group: `<plural>.<group>.yaml` in the folder of a system.
fn definitions_of(group: &str) -> Vec<String> {
    let below = |folder: &std::path::Path| {
        let entries = std::fs::read_dir(folder).expect("the definitions are there");
        entries.map(|entry| entry.expect("entries can be read").path())
    };
    below(berth::definitions().as_ref())
        .flat_map(|system| below(&system))
        .map(|file| file.display().to_string())
        .filter(|file| file.ends_with(&format!(".{group}.yaml")))
        .collect()
}

/// Defines the kinds of one API group on the hub.
fn define(hub: &Hub, group: &str) {
    let wanted = definitions_of(group);
    assert!(!wanted.is_empty(), "no definitions of {group}");
    for file in wanted {
        hub.kubectl_args(&["create", "-f", &file]).succeeds();
    }
    let served = [
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ];
    hub.kubectl_args(&served).succeeds();
}

/// Installs Berth with every system on the hub.
fn install(hub: &Hub) -> Berth {
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(hub, "hub-sources-rbac.yaml");
    Berth::install_hub(hub, &SYSTEMS)
}
