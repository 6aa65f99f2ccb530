//! Folding, counting, what becomes due, views.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::view::Phase;
use berth_dialect_contract::{AffectedDemands, Consequences, Edit, Inventory, Targets};
use serde_json::{Value, json};

use super::Fleet;
use crate::names::SHOOTS;
use crate::testing::{configuration, decide, fleet, gone, key, picked, profile, seed, shoot, stored, with};

fn used(fleet: &Fleet, name: &str) -> i64 {
    fleet.seed(name).unwrap().1.used
}

fn decides(due: &Consequences) -> Vec<String> {
    match &due.decide {
        AffectedDemands::None => Vec::new(),
        AffectedDemands::Some(keys) => keys.iter().map(|key| key.name.to_string()).collect(),
        AffectedDemands::All => vec!["*".to_owned()],
    }
}

fn targets(due: &Consequences) -> Vec<&str> {
    due.targets.iter().flatten().map(|name| &**name).collect()
}

#[test]
fn seeds_stand_in_name_order_however_they_come() {
    let names = ["m", "a", "z", "b", "y", "c"];
    let seeds: Vec<Value> = names.iter().map(|name| seed(name, "aws", "eu-west-1")).collect();
    let mut fleet = fleet(&seeds);
    let listed = |fleet: &Fleet| -> Vec<String> {
        (0..fleet.count())
            .map(|candidate| fleet.cluster_name(candidate).to_string())
            .collect()
    };
    assert_eq!(listed(&fleet), ["a", "b", "c", "m", "y", "z"]);
    assert_eq!((fleet.candidate("m"), fleet.candidate("n")), (Some(3), None));
    fleet.fold(&gone(&seeds[0]));
    assert_eq!(listed(&fleet), ["a", "b", "c", "y", "z"]);
}

#[test]
fn shoots_are_counted_where_they_sit_and_where_they_go() {
    let on = |spec: &str, status: Option<&str>| {
        let object = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!(spec));
        status.map_or(object.clone(), |status| {
            with(object, "/status/seedName", json!(status))
        })
    };
    // The seat is counted even before its seed is known.
    let mut fleet = fleet(&[
        on("a", None),
        seed("a", "aws", "eu-west-1"),
        seed("b", "aws", "eu-west-1"),
    ]);
    assert_eq!((used(&fleet, "a"), used(&fleet, "b")), (1, 0));
    fleet.fold(&stored(&on("a", Some("a"))));
    assert_eq!((used(&fleet, "a"), used(&fleet, "b")), (1, 0));
    let due = fleet.fold(&stored(&on("b", Some("a"))));
    assert_eq!((used(&fleet, "a"), used(&fleet, "b")), (1, 1));
    assert_eq!(targets(&due), ["b"]);
    let due = fleet.fold(&stored(&on("b", Some("b"))));
    assert_eq!(targets(&due), ["a"]);
    fleet.fold(&gone(&on("b", Some("b"))));
    assert_eq!((used(&fleet, "a"), used(&fleet, "b")), (0, 0));
}

#[test]
fn a_shoot_that_cannot_be_read_still_takes_its_seat() {
    let odd = with(
        with(shoot("odd", "eu-west-1"), "/spec/seedName", json!("a")),
        "/spec/provider",
        json!(5),
    );
    let fleet = fleet(&[odd.clone(), seed("a", "aws", "eu-west-1")]);
    assert_eq!(used(&fleet, "a"), 1);
    let unusable = fleet.unusable();
    assert_eq!(unusable[0].key, key(&odd));
    assert!(unusable[0].problem.contains("provider") || unusable[0].problem.contains("invalid type"));
    assert!(fleet.demands().is_empty() && fleet.demand(&key(&odd), Timestamp::UNIX_EPOCH).is_none());
}

#[test]
fn what_cannot_be_read_is_listed_until_it_is_mended() {
    let good = seed("a", "aws", "eu-west-1");
    let bad_limit = with(good.clone(), "/status/allocatable", json!({"shoots": "many"}));
    let bad_selector = with(
        profile("gcp"),
        "/spec/seedSelector",
        json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
    );
    let mut fleet = fleet(&[bad_limit, bad_selector.clone()]);
    assert_eq!((fleet.unusable().len(), fleet.count()), (2, 0));
    fleet.fold(&stored(&good));
    fleet.fold(&gone(&bad_selector));
    assert_eq!((fleet.unusable().len(), fleet.count()), (0, 1));
}

#[test]
fn a_fork_changes_on_its_own() {
    let before = fleet(&[seed("a", "aws", "eu-west-1")]);
    let mut after = before.clone();
    after.fold(&stored(&seed("b", "aws", "eu-west-1")));
    after.fold(&stored(&with(
        shoot("foo", "eu-west-1"),
        "/spec/seedName",
        json!("a"),
    )));
    assert_eq!((before.count(), used(&before, "a")), (1, 0));
    assert_eq!((after.count(), used(&after, "a")), (2, 1));
    assert_eq!(before.fork().count(), 1);
}

#[test]
fn shoots_are_due_when_they_come_and_when_they_ask_for_something_else() {
    let mut fleet = fleet(&[seed("a", "aws", "eu-west-1")]);
    let foo = shoot("foo", "eu-west-1");
    assert_eq!(decides(&fleet.fold(&stored(&foo))), ["foo"]);
    let reported = with(
        foo.clone(),
        "/status/lastOperation",
        json!({"type": "Create", "state": "Pending"}),
    );
    assert!(
        decides(&fleet.fold(&stored(&reported))).is_empty(),
        "status writes do not defeat the backoff"
    );
    let labelled = with(foo.clone(), "/metadata/labels", json!({"a": "b"}));
    assert!(decides(&fleet.fold(&stored(&labelled))).is_empty());
    let wider = with(foo.clone(), "/spec/tolerations", json!([{"key": "t"}]));
    assert_eq!(decides(&fleet.fold(&stored(&wider))), ["foo"]);
    let bound = with(wider.clone(), "/spec/seedName", json!("a"));
    assert!(
        decides(&fleet.fold(&stored(&bound))).is_empty(),
        "a binding makes nothing due"
    );
    let foreign = with(shoot("bar", "eu-west-1"), "/spec/schedulerName", json!("mine"));
    assert!(decides(&fleet.fold(&stored(&foreign))).is_empty());
}

#[test]
fn waiting_shoots_are_due_when_the_world_changes_for_them() {
    let limited = with(
        seed("a", "aws", "eu-west-1"),
        "/status/allocatable",
        json!({"shoots": "1"}),
    );
    let resident = with(shoot("resident", "eu-west-1"), "/spec/seedName", json!("a"));
    let metal = with(
        shoot("metal", "eu-west-1"),
        "/spec/cloudProfileName",
        json!("metal"),
    );
    let mut fleet = fleet(&[
        limited.clone(),
        resident.clone(),
        shoot("foo", "eu-west-1"),
        metal,
    ]);
    let both = ["foo", "metal"];
    assert_eq!(
        decides(&fleet.fold(&gone(&resident))),
        both,
        "a full seed has room again"
    );
    assert!(
        decides(&fleet.fold(&stored(&resident))).is_empty(),
        "less room makes nothing possible"
    );
    let said = with(limited.clone(), "/status/kubernetesVersion", json!("1.34.1"));
    let due = fleet.fold(&stored(&said));
    assert!(
        decides(&due).is_empty() && targets(&due) == ["a"],
        "nothing that scheduling looks at"
    );
    assert_eq!(
        decides(&fleet.fold(&stored(&with(limited, "/spec/taints", json!([{"key": "t"}]))))),
        both
    );
    assert_eq!(
        decides(&fleet.fold(&stored(&seed("b", "aws", "us-east-1")))),
        both
    );
    assert_eq!(
        decides(&fleet.fold(&stored(&profile("metal")))),
        ["metal"],
        "only those with the profile"
    );
    assert!(
        decides(&fleet.fold(&stored(&profile("metal")))).is_empty(),
        "no change"
    );
    assert_eq!(
        decides(&fleet.fold(&stored(&configuration("MinimalDistance")))),
        both
    );
    assert!(
        decides(&fleet.fold(&stored(&configuration("MinimalDistance")))).is_empty(),
        "no change"
    );
}

#[test]
fn phases_come_from_the_object_alone() {
    let phase = |object: &Value| {
        let view = fleet(std::slice::from_ref(object))
            .demand(&key(object), Timestamp::UNIX_EPOCH)
            .unwrap();
        (
            view.phase,
            view.placed
                .iter()
                .map(|placed| placed.cluster_name.to_string())
                .collect::<Vec<_>>(),
        )
    };
    let free = shoot("foo", "eu-west-1");
    let bound = with(free.clone(), "/spec/seedName", json!("a"));
    let leaving = |object: Value| {
        with(
            object,
            "/metadata/deletionTimestamp",
            json!("2021-10-28T08:00:00Z"),
        )
    };
    let foreign = with(free.clone(), "/spec/schedulerName", json!("mine"));
    let on_a = vec!["a".to_owned()];
    assert_eq!(phase(&free), (Phase::Pending, vec![]));
    assert_eq!(phase(&bound), (Phase::Bound, on_a.clone()));
    assert_eq!(phase(&leaving(bound)), (Phase::Releasing, on_a));
    assert_eq!(phase(&leaving(free)), (Phase::Ignored, vec![]));
    assert_eq!(phase(&foreign), (Phase::Ignored, vec![]));
}

#[test]
fn targets_show_what_scheduling_sees() {
    let object = with(
        seed("a", "aws", "eu-west-1"),
        "/spec/taints",
        json!([{"key": "t", "value": "v"}]),
    );
    let object = with(object, "/status/allocatable", json!({"shoots": "3"}));
    let object = with(object, "/spec/settings/scheduling/visible", json!(false));
    let resident = with(shoot("foo", "eu-west-1"), "/spec/seedName", json!("a"));
    let view = fleet(&[object, resident]).target(0, Timestamp::UNIX_EPOCH);
    assert_eq!(
        (view.ready, view.ready_reason, view.cordoned),
        ("True", "SeedReady", true)
    );
    assert_eq!(
        (view.region.as_str(), view.provider.as_str()),
        ("eu-west-1", "aws")
    );
    assert_eq!(
        (
            view.capacity[0].name,
            view.capacity[0].used,
            view.capacity[0].limit
        ),
        ("shoots", 1, Some(3))
    );
    assert_eq!(
        (view.taints[0].key.as_str(), view.taints[0].value.as_str()),
        ("t", "v")
    );
    assert_eq!(view.labels.get("seed.gardener.cloud/region"), Some("eu-west-1"));
    let state = |conditions: Value| {
        let view = fleet(&[with(seed("a", "aws", "x"), "/status/conditions", conditions)])
            .target(0, Timestamp::UNIX_EPOCH);
        (view.ready, view.ready_reason, view.ready_message)
    };
    assert_eq!(
        state(json!([])),
        (
            "Unknown",
            "ConditionMissing",
            "condition GardenletReady is missing".to_owned()
        )
    );
    let unknown = state(json!([{"type": "GardenletReady", "status": "Unknown", "message": "no heartbeat"}]));
    assert_eq!(
        unknown,
        (
            "Unknown",
            "SeedUnknown",
            "condition GardenletReady is Unknown: no heartbeat".to_owned()
        )
    );
    assert_eq!(
        state(json!([{"type": "GardenletReady", "status": "False"}])).1,
        "SeedNotReady"
    );
}

#[test]
fn a_stopped_seed_takes_no_new_shoots() {
    let stop = json!({"shoot.gardener.cloud/emergency-stop-reconciliations": "true"});
    for (annotations, cordoned) in [(stop, true), (json!({}), false)] {
        let object = with(seed("a", "aws", "x"), "/metadata/annotations", annotations);
        let view = fleet(&[object]).target(0, Timestamp::UNIX_EPOCH);
        assert_eq!(view.cordoned, cordoned);
    }
}

#[test]
fn a_drain_leaves_the_other_seed_of_a_shoot_that_moves() {
    let on = |name: &str, spec: &str, status: &str| {
        let object = with(shoot(name, "eu-west-1"), "/spec/seedName", json!(spec));
        with(object, "/status/seedName", json!(status))
    };
    let fleet = fleet(&[
        seed("a", "aws", "eu-west-1"),
        on("arriving", "a", "b"),
        on("elsewhere", "b", "b"),
        on("leaving", "b", "a"),
        on("staying", "a", "a"),
    ]);
    let edits = fleet.advisor().drain("a", Timestamp::UNIX_EPOCH).unwrap();
    let patches: Vec<(&str, &Value)> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::Merge { key, patch } if key.resource == SHOOTS => Some((&*key.name, patch)),
            _ => None,
        })
        .collect();
    let (spec, status) = (
        json!({"spec": {"seedName": null}}),
        json!({"status": {"seedName": null}}),
    );
    let both = json!({"spec": {"seedName": null}, "status": {"seedName": null}});
    assert_eq!(
        patches,
        [("arriving", &spec), ("leaving", &status), ("staying", &both)]
    );
}

#[test]
fn a_demand_that_is_not_there_is_not_decided() {
    let fleet = fleet(&[]);
    let missing = key(&shoot("foo", "eu-west-1"));
    let ask = berth_dialect_contract::Ask {
        demand: &missing,
        now: Timestamp::UNIX_EPOCH,
        seed: 0,
        chosen: None,
    };
    assert!(fleet.decide(&ask).is_none());
}

#[test]
fn dialects_hand_out_an_inventory_on_defaults() {
    let dialect = crate::dialect();
    let mut inventory = dialect.inventory();
    let own = Arc::get_mut(&mut inventory).unwrap();
    let demand = shoot("foo", "eu-west-1");
    for object in [profile("aws"), seed("a", "aws", "eu-west-1"), demand.clone()] {
        own.fold(&stored(&object));
    }
    let ask = berth_dialect_contract::Ask {
        demand: &key(&demand),
        now: Timestamp::UNIX_EPOCH,
        seed: 0,
        chosen: None,
    };
    let decision = inventory.decide(&ask).unwrap().unwrap();
    assert_eq!(inventory.message(&decision), "1 of 1 seeds feasible; picked a");
    assert!(
        dialect
            .configuration()
            .validate(&json!({"schedulers": []}), "spec.gardener")
            .len()
            == 1
    );
    assert_eq!(
        decide(&fleet(&[seed("a", "aws", "eu-west-1"), demand.clone()]), &demand).reason,
        "Picked"
    );
}

#[test]
fn a_config_map_with_distances_is_due_for_the_shoots_that_wait_and_any_other_is_not() {
    let map = |namespace: &str, purpose: &str, data: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "distances", "namespace": namespace, "labels": {"scheduling.gardener.cloud/purpose": purpose},
                "annotations": {"scheduling.gardener.cloud/cloudprofiles": "aws"},
            },
            "data": {"eu-west-1": data},
        })
    };
    let mut fleet = Fleet::default();
    let waiting = shoot("web", "eu-west-1");
    fleet.fold(&stored(&waiting));
    let due = fleet.fold(&stored(&map("garden", "region-config", "us-east-1: 1")));
    assert_eq!(due.decide, AffectedDemands::Some(vec![key(&waiting)]));
    for (namespace, purpose, data) in [
        ("garden", "region-config", "us-east-1: 1"),
        ("other", "region-config", "us-east-1: 2"),
    ] {
        let due = fleet.fold(&stored(&map(namespace, purpose, data)));
        assert_eq!(due.decide, AffectedDemands::None, "{namespace} {purpose} {data}");
    }
    let due = fleet.fold(&stored(&map("garden", "another", "us-east-1: 1")));
    assert_eq!(
        due.decide,
        AffectedDemands::Some(vec![key(&waiting)]),
        "it no longer counts"
    );
}

#[test]
fn a_seed_that_is_a_shoot_has_the_label_of_the_seed_below_it_while_it_is_there() {
    let below = "name.seed.gardener.cloud/base";
    let managed = |namespace: &str| {
        json!({
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1", "kind": "ManagedSeed",
            "metadata": {"name": "top", "namespace": namespace}, "spec": {"shoot": {"name": "host"}},
        })
    };
    let host = |seed: &str| {
        let host = with(shoot("host", "eu-west-1"), "/metadata/namespace", json!("garden"));
        with(host, "/spec/seedName", json!(seed))
    };
    let wanting = with(
        shoot("web", "eu-west-1"),
        "/spec/seedSelector",
        json!({"matchLabels": {below: "true"}}),
    );
    let mut fleet = fleet(&[
        seed("base", "aws", "us-east-1"),
        seed("other", "aws", "us-east-1"),
        seed("top", "aws", "eu-west-1"),
        host("base"),
        wanting.clone(),
        managed("garden-dev"),
    ]);
    assert_eq!(picked(&fleet, &wanting), None, "ManagedSeeds are in the garden");
    let due = fleet.fold(&stored(&managed("garden")));
    assert_eq!(
        (decides(&due), targets(&due)),
        (vec!["web".to_owned()], vec!["top"])
    );
    assert_eq!(picked(&fleet, &wanting).as_deref(), Some("top"));
    assert_eq!(
        decides(&fleet.fold(&stored(&managed("garden")))),
        [""; 0],
        "nothing is new"
    );

    let due = fleet.fold(&stored(&host("other")));
    assert!(
        targets(&due).contains(&"top") && decides(&due) == ["web"],
        "{due:?}"
    );
    assert_eq!(picked(&fleet, &wanting), None, "it moved away");
    fleet.fold(&stored(&host("base")));
    fleet.fold(&stored(&seed("top", "aws", "eu-west-1")));
    assert_eq!(
        picked(&fleet, &wanting).as_deref(),
        Some("top"),
        "however the Seed is written"
    );
    fleet.fold(&gone(&managed("garden")));
    assert_eq!(picked(&fleet, &wanting), None);
}
