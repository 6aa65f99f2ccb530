//! Systems that the hub does not have yet, or that Berth may not read.

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::berth::{self, Berth};

use crate::systems::install;

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn systems_that_are_not_there_are_idle_say_so_and_wake() {
    let hub = Hub::start();
    let _berth = install(&hub);
    let listed = hub.kubectl("get targets").run();
    assert!(listed.success, "{}", listed.err);
    for (system, resource) in [
        ("gardener", "seeds.core.gardener.cloud"),
        ("ocm", "placements.cluster.open-cluster-management.io"),
        ("openmcp", "clusters.clusters.openmcp.cloud"),
    ] {
        let start = format!("Warning: {system}: idle, since the hub does not have ");
        let line = listed.err.lines().find(|line| line.starts_with(&start));
        assert!(line.is_some_and(|line| line.contains(resource)), "{}", listed.err);
    }
    hub.kubectl("get decisions -A").succeeds();
    let missing = hub.kubectl("get target one.gardener").fails();
    assert!(missing.contains("NotFound"), "{missing}");

    berth::apply_definitions(&hub);
    eventually("every system to wake", || {
        let listed = hub.kubectl("get targets").run();
        (listed.success && !listed.err.contains("idle")).then_some(())
    });
}

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn a_system_berth_may_not_read_answers_503_for_itself_alone() {
    let hub = Hub::start();
    berth::apply_definitions(&hub);
    // Without the ClusterRole berth:reader.
    let _berth = Berth::install_hub(&hub, &["gardener"]);
    let held = hub.kubectl("get target one.gardener").fails();
    assert!(
        held.contains("ServiceUnavailable") || held.contains("still waiting for the hub's"),
        "{held}"
    );
    assert!(held.contains("seeds.core.gardener.cloud"), "{held}");
    let refused = hub.kubectl("get targets").fails();
    let way = "use --field-selector spec.dialect!=gardener for the others";
    assert!(
        refused.contains("the targets are not complete (gardener: still waiting for the hub's")
            && refused.contains(way),
        "{refused}"
    );
    hub.kubectl("get targets --field-selector spec.dialect!=gardener")
        .succeeds();
    // Another system is still answered.
    let other = hub.kubectl("get target one.ocm").fails();
    assert!(other.contains("NotFound"), "{other}");
    berth::apply(&hub, "hub-sources-rbac.yaml");
    eventually("the system to be read", || {
        let missing = hub.kubectl("get target one.gardener").run();
        missing.err.contains("NotFound").then_some(())
    });
}
