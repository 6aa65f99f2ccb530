//! All five systems' objects on a real hub, as CustomResourceDefinitions rendered from the kinds: Berth decides over
//! copies and writes there. These tests build and run a kube-apiserver, so they are `make e2e`, and ignored elsewhere.

mod beside_etcd;
mod binding;
mod by_themselves;
mod gardener;
mod idle;
mod kcp;
mod lost;
mod overruled;
mod system;

use std::sync::OnceLock;

use tests::hub::Hub;
use tests::hub::berth::{self, Berth};

/// Every system.
const SYSTEMS: [&str; 5] = ["fleet", "gardener", "kcp", "ocm", "openmcp"];

/// The hub of this program, and its Berth: with the systems' definitions and fleets, all bound by hand.
fn shared() -> &'static Hub {
    static SHARED: OnceLock<(Hub, Berth)> = OnceLock::new();
    let (hub, _) = SHARED.get_or_init(|| {
        let hub = Hub::start();
        berth::apply(&hub, "crds-systems.yaml");
        let berth = install(&hub);
        berth::auto_bind(&hub, &SYSTEMS, "Off");
        system::load_fleets(&hub);
        (hub, berth)
    });
    hub
}

/// Defines the kinds of one API group on the hub.
fn define(hub: &Hub, group: &str) {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../deploy/manifests/crds-systems.yaml"
    );
    let all = std::fs::read_to_string(file).expect("the definitions are there");
    let line = format!("\n  group: {group}\n");
    let wanted: Vec<&str> = all.split("\n---\n").filter(|part| part.contains(&line)).collect();
    assert!(!wanted.is_empty(), "no definitions of {group}");
    hub.kubectl("create -f -").input(wanted.join("\n---\n")).ok();
    let served = [
        "wait",
        "--for=condition=Established",
        "crd",
        "--all",
        "--timeout=60s",
    ];
    hub.kubectl_args(&served).ok();
}

/// Installs Berth with every system on the hub.
fn install(hub: &Hub) -> Berth {
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(hub, "hub-sources-rbac.yaml");
    Berth::install_hub(hub, &SYSTEMS)
}
