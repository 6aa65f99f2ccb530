//! Folding: stored records, and demands that become due.

use berth_apimachinery::selector::Selector;
use berth_dialect_contract::{AffectedDemands, Consequences, Outcome, Targets};
use berth_dialect_contract::{Inventory, Phase};
use serde_json::{Value, json};

use super::*;
use crate::names::NAMESPACES;
use crate::testing::{
    cluster, configuration, decide, fleet, location, namespace, now, put, remove, with, written,
};

fn names(affected: &AffectedDemands) -> Vec<String> {
    match affected {
        AffectedDemands::None => Vec::new(),
        AffectedDemands::Some(keys) => keys.iter().map(|key| key.name.to_string()).collect(),
        AffectedDemands::All => vec!["*".to_owned()],
    }
}

fn due(due: &Consequences) -> Vec<String> {
    names(&due.decide)
}

const ON_A: &str = r#"{"root:compute+east+a":"Bound"}"#;

/// A fleet with two clusters in east. The namespace `placed` is on the first, and `waiting` on none.
fn world() -> Fleet {
    fleet(&[
        location("east"),
        cluster("a", "east"),
        cluster("b", "east"),
        namespace("placed", Some(ON_A)),
        namespace("waiting", Some("{}")),
        namespace("elsewhere", Some(r#"{"root:compute+east+b":"Bound"}"#)),
    ])
}

fn beat(name: &str, at: &str) -> Value {
    with(
        cluster(name, "east"),
        "/status/lastSyncerHeartbeatTime",
        json!(at),
    )
}

#[test]
fn a_cluster_makes_those_on_it_and_those_without_a_place_due() {
    let mut world = world();
    let cordoned = with(cluster("a", "east"), "/spec/unschedulable", json!(true));
    assert_eq!(due(&put(&mut world, &cordoned)), ["placed", "waiting"]);
    assert_eq!(due(&put(&mut world, &cordoned)), [""; 0], "nothing changed");
    let renamed = with(cordoned, "/metadata/labels/team", json!("x"));
    assert_eq!(
        due(&put(&mut world, &renamed)),
        [""; 0],
        "no location asks for it"
    );
    assert_eq!(due(&remove(&mut world, &cluster("a", "east"))), ["placed"]);
    assert_eq!(due(&put(&mut world, &cluster("c", "east"))), ["waiting"]);
}

#[test]
fn heartbeats_in_time_make_nobody_due() {
    let mut world = world();
    assert_eq!(
        due(&put(&mut world, &beat("a", "2021-10-28T08:58:00Z"))),
        ["placed", "waiting"],
        "the first one"
    );
    assert_eq!(due(&put(&mut world, &beat("a", "2021-10-28T08:59:00Z"))), [""; 0]);
    let after_silence = put(&mut world, &beat("a", "2021-10-28T09:00:01Z"));
    assert_eq!(due(&after_silence), ["placed", "waiting"]);
    assert_eq!(after_silence.targets, Some(vec!["a".into()]));
}

#[test]
fn locations_and_configuration_make_all_due_when_they_mean_something_else() {
    let mut world = world();
    assert_eq!(due(&put(&mut world, &location("east"))), [""; 0]);
    let described = with(location("east"), "/status/instances", json!(3));
    assert_eq!(due(&put(&mut world, &described)), [""; 0]);
    let other = with(location("east"), "/spec/instanceSelector", json!({}));
    assert_eq!(due(&put(&mut world, &other)), ["*"]);
    assert_eq!(
        due(&put(
            &mut world,
            &configuration(&json!({"heartbeatThreshold": "1m"}))
        )),
        [""; 0]
    );
    let due_all = put(&mut world, &configuration(&json!({"heartbeatThreshold": "2m"})));
    assert_eq!((due(&due_all), due_all.targets), (vec!["*".to_owned()], None));
}

#[test]
fn a_bad_configuration_leaves_the_last_good_one_in_force() {
    let mut world = world();
    put(
        &mut world,
        &configuration(&json!({"locationCluster": "root:other"})),
    );
    assert_eq!(
        due(&put(&mut world, &configuration(&json!({"locationCluster": "x"})))),
        [""; 0]
    );
    assert_eq!(&*world.config.location_cluster, "root:other");
    let unusable = world.unusable();
    assert_eq!(unusable.len(), 1);
    assert!(
        unusable[0]
            .problem
            .starts_with("spec.kcp.locationCluster: Invalid value: \"x\""),
        "{unusable:?}"
    );
    assert_eq!(due(&remove(&mut world, &configuration(&json!({})))), ["*"]);
    assert!(world.unusable().is_empty());
    assert_eq!(&*world.config.location_cluster, "root:compute");
}

#[test]
fn other_controllers_progress_is_due_only_where_there_is_something_to_do() {
    let mut world = world();
    let mut step = |text: &str| due(&put(&mut world, &namespace("placed", Some(text))));
    assert_eq!(
        step(r#"{"root:compute+east+a":"Removing","root:compute+east+b":"Pending"}"#),
        [""; 0],
        "own write"
    );
    assert_eq!(
        step(r#"{"root:compute+east+a":"Removing","root:compute+east+b":"Bound"}"#),
        [""; 0],
        "adopted"
    );
    assert_eq!(
        step(r#"{"root:compute+east+a":"Unbound","root:compute+east+b":"Bound"}"#),
        ["placed"],
        "to clean up"
    );
    assert_eq!(step(r#"{"root:compute+east+b":"Bound"}"#), [""; 0], "own write");
    assert_eq!(step("{}"), ["placed"], "nobody may do this");
    assert_eq!(step("{"), ["placed"]);
}

#[test]
fn labels_and_deletion_make_a_namespace_due() {
    let mut world = world();
    let label = |key: &str, value: &str| {
        with(
            namespace("placed", Some(ON_A)),
            &format!("/metadata/labels/{key}"),
            json!(value),
        )
    };
    assert_eq!(due(&put(&mut world, &label("team", "a"))), [""; 0]);
    let disabled = label("experimental.workloads.kcp.dev~1scheduling-disabled", "true");
    assert_eq!(due(&put(&mut world, &disabled)), ["placed"]);
    assert_eq!(
        world
            .demand(&Key::new(NAMESPACES, "", "placed"), now())
            .unwrap()
            .phase,
        Phase::Ignored
    );
    assert_eq!(due(&put(&mut world, &label("team", "b"))), ["placed"]);
    let spec = json!({"namespaceSelector": {"matchLabels": {"team": "b"}}});
    put(&mut world, &configuration(&spec));
    assert_eq!(
        due(&put(&mut world, &label("team", "c"))),
        ["placed"],
        "to be drained"
    );
    let going = with(
        label("team", "b"),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T09:00:00Z"),
    );
    assert_eq!(due(&put(&mut world, &going)), ["placed"]);
    assert_eq!(
        world
            .demand(&Key::new(NAMESPACES, "", "placed"), now())
            .unwrap()
            .phase,
        Phase::Releasing
    );
}

#[test]
fn a_namespace_that_is_drained_is_releasing() {
    let mut world = world();
    let selector = json!({"matchLabels": {"team": "a"}});
    put(
        &mut world,
        &configuration(&json!({"namespaceSelector": selector})),
    );
    let phase = |name: &str| {
        let view = world.demand(&Key::new(NAMESPACES, "", name), now());
        view.map(|view| view.phase)
    };
    assert_eq!(phase("placed"), Some(Phase::Releasing));
    assert_eq!(phase("waiting"), None);
}

#[test]
fn namespaces_are_demands_while_there_is_a_compute_service() {
    let mut world = fleet(&[namespace("app", None), namespace("kube-system", Some(ON_A))]);
    assert!(world.demands().is_empty());
    assert_eq!(due(&put(&mut world, &location("east"))), ["*"]);
    assert_eq!(world.demands(), [Key::new(NAMESPACES, "", "app")]);
    assert_eq!(due(&put(&mut world, &cluster("a", "east"))), ["app"]);
    remove(&mut world, &cluster("a", "east"));
    let last = remove(&mut world, &location("east"));
    assert_eq!(
        (due(&last), names(&last.demands)),
        (vec!["*".to_owned()], vec!["*".to_owned()])
    );
    assert!(world.demands().is_empty());
}

#[test]
fn targets_show_readiness_and_when_it_ends() {
    let evicted = with(
        beat("a", "2021-10-28T08:59:30Z"),
        "/spec/evictAfter",
        json!("2021-10-28T09:10:00Z"),
    );
    let world = fleet(&[
        evicted,
        namespace("app", Some(r#"{"root:compute+default+a":"Removing"}"#)),
    ]);
    let at = |text: &str| berth_apimachinery::time::parse(text).unwrap();
    let view = world.target(0, now());
    assert_eq!(
        (view.ready, view.ready_reason, view.cordoned),
        ("True", "WorkloadClusterReady", false)
    );
    assert_eq!(view.capacity[0].used, 1);
    assert_eq!(view.region, "east");
    let until = at("2021-10-28T09:00:30Z");
    assert!(
        view.due_at
            .is_some_and(|due| due > until && due < at("2021-10-28T09:00:31Z"))
    );
    let view = world.target(0, view.due_at.unwrap());
    assert_eq!((view.ready, view.ready_reason), ("False", "HeartbeatStale"));
    assert_eq!(view.due_at, Some(at("2021-10-28T09:10:00Z")));
    assert!(world.target(0, at("2021-10-28T09:10:00Z")).cordoned);
}

#[test]
fn of_two_clusters_with_one_identifier_the_second_waits() {
    let mut world = world();
    let twin = |name: &str| with(cluster(name, "east"), "/metadata/uid", json!("twin"));
    put(&mut world, &twin("first"));
    put(&mut world, &twin("second"));
    assert_eq!(world.count(), 3);
    let unusable = world.unusable();
    assert!(
        unusable[0]
            .problem
            .contains("\"twin\" already belongs to WorkloadCluster \"first\""),
        "{unusable:?}"
    );
    let freed = remove(&mut world, &twin("first"));
    assert_eq!(due(&freed), ["waiting"]);
    assert!(world.unusable().is_empty());
    assert_eq!(world.target_name(world.candidate("twin").unwrap()), "second");
    put(&mut world, &with(twin("second"), "/metadata/uid", json!("own")));
    assert!(world.candidate("twin").is_none() && world.candidate("own").is_some());
}

#[test]
fn a_cluster_that_cannot_be_read_keeps_its_namespaces_and_gets_no_others() {
    let placed = namespace("placed", Some(r#"{"root:compute+default+a":"Bound"}"#));
    let mut world = fleet(&[cluster("a", "east"), placed, namespace("waiting", Some("{}"))]);
    put(&mut world, &with(cluster("a", "east"), "/spec", json!("odd")));
    assert_eq!(world.unusable().len(), 1);
    assert_eq!(written(&world, &decide(&world, "placed")), None);
    assert_eq!(decide(&world, "waiting").outcome, Outcome::Unschedulable);
    let view = world.target(0, now());
    assert_eq!((view.ready, view.ready_reason), ("Unknown", "Unreadable"));
    assert!(
        view.ready_message
            .starts_with("the WorkloadCluster cannot be read: invalid type"),
        "{}",
        view.ready_message
    );
    remove(&mut world, &cluster("a", "east"));
    let left = written(&world, &decide(&world, "placed"));
    assert_eq!(left.as_deref(), Some(r#"{"root:compute+default+a":"Removing"}"#));
}

#[test]
fn a_location_that_cannot_be_read_keeps_its_namespaces_and_gets_no_others() {
    let mut world = world();
    put(&mut world, &with(location("east"), "/spec", json!("odd")));
    assert_eq!(world.unusable().len(), 1);
    assert_eq!(written(&world, &decide(&world, "placed")), None);
    assert_eq!(decide(&world, "waiting").outcome, Outcome::Unschedulable);
    put(&mut world, &location("east"));
    assert_eq!(decide(&world, "waiting").outcome, Outcome::Scheduled);
}

#[test]
fn numbers_that_no_location_or_cluster_uses_any_more_are_given_up() {
    let labels: Vec<String> = (0..8).map(|number| format!("label-{number}")).collect();
    let by_label = |label: &String| {
        with(
            location(label),
            "/spec/instanceSelector",
            json!({"matchLabels": {label: "yes"}}),
        )
    };
    let locations: Vec<Value> = labels.iter().map(by_label).collect();
    let mut world = fleet(&locations);
    for subset in 0..256_u32 {
        let mut changed = cluster("a", "east");
        let members = (0..8_usize).filter(|&number| subset >> number & 1 == 1);
        let members: Vec<&str> = members.map(|number| labels[number].as_str()).collect();
        for label in &members {
            changed["metadata"]["labels"][*label] = "yes".into();
        }
        put(&mut world, &changed);
        let numbers = world.locations_of(world.row(0)).iter();
        let found: Vec<&str> = numbers.map(|&number| &**world.numbers.name(number)).collect();
        assert_eq!(found, members);
    }
    assert!(world.sets.count() < 100, "{}", world.sets.count());
    for number in 0..256 {
        let passing = location(&format!("passing-{number}"));
        put(&mut world, &passing);
        remove(&mut world, &passing);
    }
    assert!(world.numbers.count() < 100, "{}", world.numbers.count());
    assert_eq!(world.locations_of(world.row(0)).len(), 8);
}

#[test]
fn what_the_program_was_told_holds_where_the_configuration_is_silent() {
    let mut world = Fleet::with_defaults(Config {
        location_cluster: "root:org".into(),
        namespace_selector: Selector::parse("team=a").unwrap(),
        ..Config::default()
    });
    let mut other = namespace("other", None);
    other["metadata"]["labels"] = json!({"team": "b"});
    let mut app = namespace("app", None);
    app["metadata"]["labels"] = json!({"team": "a"});
    for object in [location("east"), cluster("a", "east"), app, other] {
        put(&mut world, &object);
    }
    let places = |world: &Fleet| {
        let names: Vec<String> = world.demands().iter().map(|key| key.name.to_string()).collect();
        (names, world.config.location_cluster.to_string())
    };
    let told = (vec!["app".to_owned()], "root:org".to_owned());
    assert_eq!(places(&world), told);
    put(&mut world, &configuration(&json!({"heartbeatThreshold": "2m"})));
    assert_eq!(places(&world), told, "nothing is said of either");
    let said = json!({"locationCluster": "root:here", "namespaceSelector": {}});
    put(&mut world, &configuration(&said));
    let both = vec!["app".to_owned(), "other".to_owned()];
    assert_eq!(places(&world), (both, "root:here".to_owned()));
    remove(&mut world, &configuration(&said));
    assert_eq!(places(&world), told);
}

#[test]
fn a_configuration_that_syncs_what_cannot_be_synced_is_not_in_force() {
    let syncable = [berth_apimachinery::GroupResource::new("", "configmaps")];
    let mut world = Fleet::with_defaults(Config::default()).restricted_to(Some(&syncable));
    let good = json!({"syncedResources": ["configmaps"], "locationCluster": "root:other"});
    put(&mut world, &configuration(&good));
    assert!(world.unusable().is_empty());
    let bad = json!({"syncedResources": ["secrets"], "locationCluster": "root:third"});
    put(&mut world, &configuration(&bad));
    assert_eq!(&*world.config.location_cluster, "root:other");
    let unusable = world.unusable();
    assert!(
        unusable[0].problem.contains("--kcp-synced-resources"),
        "{unusable:?}"
    );
}
