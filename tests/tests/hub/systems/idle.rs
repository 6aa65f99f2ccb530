//! Systems that the hub does not have yet, or that Berth may not read.

use std::time::Duration;

use berth_tests::eventually;
use berth_tests::hub::Hub;
use berth_tests::hub::audit::{BERTH_USER, Entry};
use berth_tests::hub::berth::{self, Berth};
use berth_tests::hub::installation::{Installation, ON_HUB};

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

#[test]
#[ignore = "builds and runs a real kube-apiserver: `make e2e`"]
fn at_rest_a_server_renews_its_lease_and_asks_the_hub_for_nothing_else() {
    let hub = Hub::start();
    let _berth = Installation::new(&ON_HUB).install(&hub, &[]);
    // Reviews are caused by kube-apiserver's own requests to Berth.
    let at_rest = |entry: &Entry| {
        let resource = entry.resource();
        entry.verb() == "watch"
            || resource.ends_with("reviews.authorization.k8s.io")
            || (entry.verb(), resource.as_str()) == ("update", "leases.coordination.k8s.io")
    };
    // The start is over when a window is quiet. Without watches, the longest interval between two requests
    // was below this window.
    let window = Duration::from_secs(65);
    let mut others = Vec::new();
    for _ in 0..4 {
        let witness = hub.witness();
        std::thread::sleep(window);
        let entries = witness.entries();
        let berths: Vec<_> = entries
            .iter()
            .filter(|entry| entry.user() == BERTH_USER)
            .collect();
        assert!(!berths.is_empty(), "it renews its Lease");
        let further = berths.iter().filter(|entry| !at_rest(entry));
        others = further.map(|entry| entry.summary()).collect();
        if others.is_empty() {
            break;
        }
    }
    assert!(others.is_empty(), "{others:#?}");

    // Kinds of new groups are found all the same, long before the next attempt without a watch.
    berth::apply_definitions(&hub);
    eventually("every system to wake", || {
        let listed = hub.kubectl("get targets").run();
        (listed.success && !listed.err.contains("idle")).then_some(())
    });
}
