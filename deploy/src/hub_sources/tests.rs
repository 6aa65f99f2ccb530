//! Rights where some systems are on the hub and some are not.

use super::*;

/// An installation of these systems, of which `on_hub` are on the hub.
fn installation(names: &[&str], on_hub: &[&'static str]) -> Installation {
    let mut installation = Installation::default();
    installation
        .dialects
        .retain(|dialect| names.contains(&dialect.name()));
    installation.on_hub = on_hub.iter().copied().collect();
    installation
}

fn named<'a>(objects: &'a [Value], name: &str) -> Option<&'a Value> {
    let mut roles = objects.iter().filter(|object| object["kind"] == "ClusterRole");
    roles.find(|role| role["metadata"]["name"] == name)
}

/// The groups a role is about.
fn groups(role: &Value) -> BTreeSet<&str> {
    let rules = role["rules"].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule["apiGroups"][0].as_str()).collect()
}

#[test]
fn of_kcp_that_berth_stores_the_hub_has_namespaces_and_what_is_in_them() {
    let objects = hub_sources(&installation(&["gardener", "kcp"], &[]));
    let reader = named(&objects, "berth:reader").expect("somebody reads");
    assert_eq!(groups(reader), ["", "apps"].into());
    let namespaces = json!(["namespaces", "namespaces/status"]);
    for actor in ["berth:placement-controller", "berth:namespace-controller"] {
        let role = named(&objects, actor).unwrap_or_else(|| panic!("{actor} writes nothing"));
        assert_eq!(role["rules"][0]["resources"], namespaces, "{actor}");
    }
    let resources = named(&objects, "berth:resource-controller").expect("it hands labels on");
    assert_eq!(groups(resources), ["", "apps"].into());
    assert!(named(&objects, "berth:syncer").is_some());
    // Locations and WorkloadClusters are written here, as is a Shoot's seed.
    for actor in [
        "berth:location-controller",
        "berth:heartbeat-controller",
        "berth:scheduler",
    ] {
        assert!(named(&objects, actor).is_none(), "{actor}");
    }
    let impersonator = named(&objects, "berth:impersonator").expect("Berth is them");
    assert_eq!(
        impersonator["rules"][0]["resourceNames"],
        json!([
            "berth:namespace-controller",
            "berth:placement-controller",
            "berth:resource-controller"
        ])
    );
}

#[test]
fn systems_that_are_berths_in_whole_need_nothing_of_the_hub() {
    assert!(hub_sources(&installation(&["fleet", "gardener", "ocm", "openmcp"], &[])).is_empty());
}

#[test]
fn on_the_hub_kcps_own_kinds_are_read_and_written_there_too() {
    let objects = hub_sources(&installation(&["kcp"], &["kcp"]));
    let reader = named(&objects, "berth:reader").expect("somebody reads");
    assert_eq!(
        groups(reader),
        ["", "apps", "scheduling.kcp.dev", "workloads.kcp.dev"].into()
    );
    assert!(named(&objects, "berth:location-controller").is_some());
}
