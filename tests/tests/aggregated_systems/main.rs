//! All five systems' objects on a real hub, as CustomResourceDefinitions rendered from the kinds: Berth decides over
//! copies and writes there. These tests build and run a kube-apiserver, so they are `make e2e`, and ignored elsewhere.

mod binding;
mod by_themselves;
mod idle;
mod kcp;
mod lost;
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

/// Installs Berth with every system on the hub.
fn install(hub: &Hub) -> Berth {
    hub.ensure(&["create", "namespace", berth::NAMESPACE]);
    berth::apply(hub, "hub-sources-rbac.yaml");
    Berth::install_hub(hub, &SYSTEMS)
}
