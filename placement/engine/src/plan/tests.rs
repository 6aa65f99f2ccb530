//! Plans over the toy dialect: toys go into the emptiest box that has room, and what finds none is tried
//! again.

use serde_json::{Value, json};

use berth_dialect_contract::Dialect as _;
use berth_dialect_toy::{Toys, object};

use super::*;
use crate::what_if::Catalog;

pub(crate) fn now() -> Timestamp {
    "2024-01-01T00:00:00Z".parse().unwrap()
}

pub(crate) fn toy(name: &str) -> Value {
    object("Toy", "ns", name, json!({}))
}

pub(crate) fn toy_in(name: &str, shelf: &str) -> Value {
    object("Toy", "ns", name, json!({"box": shelf}))
}

pub(crate) fn shelf(name: &str, capacity: i64) -> Value {
    object("Box", "", name, json!({"capacity": capacity}))
}

pub(crate) fn catalog() -> Catalog {
    Catalog::new(Toys.kinds())
}

pub(crate) fn world(objects: &[Value]) -> World {
    let mut world = World::empty(Arc::new(Toys));
    for value in objects {
        let (key, object) = catalog().read(value.clone(), "", now()).unwrap();
        world.put(&key, object).unwrap();
    }
    world
}

fn steps(changes: &[Value]) -> Result<Vec<Step>, String> {
    Step::read_all(changes, "", "spec.changes")
        .map_err(|errors| berth_apimachinery::field::aggregate(&errors))
}

/// The plan of `changes` in a world of `objects`, or what is wrong with them.
fn plan(objects: &[Value], changes: &[Value]) -> Result<Plan, String> {
    let steps = steps(changes)?;
    let mut worlds = [world(objects)];
    let before = worlds[0].begin();
    apply(&mut worlds, &catalog(), &steps, now()).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        texts.join("\n")
    })?;
    let terms = Terms {
        now: now(),
        seed: None,
    };
    Plan::of(&before, &mut worlds[0], &terms, |_| false).map_err(|fault| fault.to_string())
}

/// Each entry as `name Verdict left->joined`.
fn shown(plan: &Plan) -> Vec<String> {
    let entries = plan.entries.iter();
    entries
        .map(|entry| {
            let (left, joined) = (entry.left.join(","), entry.joined.join(","));
            format!(
                "{} {} {left}->{joined}",
                entry.demand.name,
                entry.verdict.as_str()
            )
        })
        .collect()
}

fn reference(kind: &str, namespace: &str, name: &str) -> Value {
    let mut value = json!({"apiVersion": "toys.example/v1", "kind": kind, "name": name});
    if !namespace.is_empty() {
        value["namespace"] = namespace.into();
    }
    value
}

#[test]
fn a_new_box_takes_what_waited_and_no_more_than_has_room() {
    let objects = [shelf("a", 1), toy_in("t1", "a"), toy("t2"), toy("t3")];
    let plan = plan(&objects, &[json!({"object": shelf("b", 1)})]).unwrap();
    assert_eq!(shown(&plan), ["t2 Fits ->b"]);
    assert_eq!((plan.counts.fits, plan.counts.same), (1, 2));
    let after = plan.entries[0].after.as_ref().unwrap();
    assert_eq!((after.outcome, after.count), ("Scheduled", 1));
}

#[test]
fn a_deleted_toy_makes_room_for_the_next_one() {
    let objects = [shelf("a", 1), toy_in("t1", "a"), toy("t2")];
    let plan = plan(&objects, &[json!({"delete": reference("Toy", "ns", "t1")})]).unwrap();
    assert_eq!(shown(&plan), ["t1 Removed a->", "t2 Fits ->a"]);
}

#[test]
fn a_patch_leaves_the_rest_of_the_object_alone() {
    let objects = [shelf("a", 1), shelf("b", 1), toy_in("t1", "a")];
    let patch = json!({
        "apiVersion": "toys.example/v1", "kind": "Toy",
        "metadata": {"namespace": "ns", "name": "t1"}, "spec": {"box": null, "again": true},
    });
    let plan = plan(&objects, &[json!({"patch": patch})]).unwrap();
    assert_eq!(shown(&plan), Vec::<String>::new());
    assert_eq!((plan.decided, plan.counts.same), (1, 1));
}

#[test]
fn a_new_toy_is_bound_or_finds_no_place() {
    let objects = [shelf("a", 1)];
    let changes = [json!({"object": toy("t1")}), json!({"object": toy("t2")})];
    assert_eq!(
        shown(&plan(&objects, &changes).unwrap()),
        ["t1 Bound ->a", "t2 Unplaced ->"]
    );
}

#[test]
fn the_world_that_is_planned_on_stays_as_it_was() {
    let objects = [shelf("a", 1), toy("t1")];
    let world = world(&objects);
    let before = world.snapshot().clone();
    let mut worlds = [world];
    worlds[0].begin();
    let steps = steps(&[json!({"delete": reference("Box", "", "a")})]).unwrap();
    apply(&mut worlds, &catalog(), &steps, now()).unwrap();
    assert_eq!(before.inventory.count(), 1);
    assert_eq!(worlds[0].snapshot().inventory.count(), 0);
}

#[test]
fn what_has_finalizers_stays_marked_when_it_is_deleted() {
    let mut held = toy_in("t1", "a");
    held["metadata"]["finalizers"] = json!(["x/y"]);
    let mut worlds = [world(&[shelf("a", 1), held])];
    let steps = steps(&[json!({"delete": reference("Toy", "ns", "t1")})]).unwrap();
    apply(&mut worlds, &catalog(), &steps, now()).unwrap();
    let key = Key::new(berth_dialect_toy::TOYS, "ns", "t1");
    assert!(worlds[0].get(&key).unwrap().meta().deletion_timestamp().is_some());
}

#[test]
fn what_is_marked_as_deleted_goes_with_its_last_finalizer() {
    let mut held = toy_in("t1", "a");
    held["metadata"]["finalizers"] = json!(["x/y"]);
    held["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z".into();
    let patch = json!({
        "apiVersion": "toys.example/v1", "kind": "Toy",
        "metadata": {"namespace": "ns", "name": "t1", "finalizers": null},
    });
    let plan = plan(&[shelf("a", 1), held, toy("t2")], &[json!({"patch": patch})]).unwrap();
    assert_eq!(shown(&plan), ["t1 Removed a->", "t2 Fits ->a"]);
}

#[test]
fn a_replaced_object_keeps_its_status_uid_and_finalizers_and_counts_its_generation() {
    let mut stored = shelf("a", 1);
    stored["status"] = json!({"used": 1});
    stored["metadata"]["finalizers"] = json!(["x/y"]);
    stored["metadata"]["generation"] = 4.into();
    let mut worlds = [world(&[stored])];
    let mut new = shelf("a", 2);
    new["metadata"]["uid"] = "another".into();
    let steps = steps(&[json!({"object": new})]).unwrap();
    apply(&mut worlds, &catalog(), &steps, now()).unwrap();
    let value = worlds[0]
        .get(&Key::new(berth_dialect_toy::BOXES, "", "a"))
        .unwrap()
        .parse();
    assert_eq!(value["status"], json!({"used": 1}));
    assert_eq!(value["metadata"]["uid"], "uid-a");
    assert_eq!(value["metadata"]["generation"], 5);
    assert_eq!(value["metadata"]["finalizers"], json!(["x/y"]));
}

#[test]
fn bad_changes_are_refused_each_with_its_place() {
    let objects = [shelf("a", 1)];
    let two = json!({"delete": reference("Box", "", "a"), "drain": "a"});
    let table: &[(&[Value], &str)] = &[
        (
            &[json!({})],
            "spec.changes[0]: Required value: one of object, patch, delete and drain",
        ),
        (
            &[two],
            "spec.changes[0].drain: Forbidden: may not be set together with delete",
        ),
        (
            &[json!({"drain": 7})],
            "spec.changes[0].drain: Invalid value: 7: the name of a Target",
        ),
        (
            &[json!({"drain": "no-such"})],
            "spec.changes[0].drain: Not found: \"no-such\": there are a.toy",
        ),
        (
            &[json!({"drain": "a.toy"})],
            "spec.changes[0].drain: Invalid value: \"a.toy\": toy has no way to empty a cluster",
        ),
        (
            &[json!({"delete": reference("Box", "", "b")})],
            "spec.changes[0].delete: Not found: \"boxes.toys.example/b\"",
        ),
        (
            &[json!({"delete": reference("Shelf", "", "a")})],
            "spec.changes[0].delete.kind: Unsupported value: \"toys.example/v1 Shelf\"",
        ),
        (
            &[json!({"delete": {
                "apiVersion": "config.berth.dev/v1alpha1", "kind": "Publication", "name": "toy",
            }})],
            "spec.changes[0].delete.kind: Unsupported value: \"config.berth.dev/v1alpha1 Publication\"",
        ),
        (
            &[json!({"delete": {"apiVersion": "toys.example/v1", "kind": "Box"}})],
            "spec.changes[0].delete.name: Required value",
        ),
        (
            &[json!({"object": {
                "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration",
                "metadata": {"name": "toy"}, "spec": {"rules": "current"},
            }})],
            "spec.changes[0].object.spec.rules: Unsupported value: \"current\"",
        ),
        (
            &[
                json!({"object": shelf("a", 2)}),
                json!({"delete": reference("Box", "", "a")}),
            ],
            "spec.changes[1].delete.name: Duplicate value: \"a\"",
        ),
    ];
    for (changes, expected) in table {
        let problem = plan(&objects, changes).unwrap_err();
        assert!(
            problem.contains(expected),
            "{problem}\ndoes not contain\n{expected}"
        );
    }
}

#[test]
fn more_changes_than_a_plan_may_have_are_refused_at_once() {
    let changes = vec![json!({"drain": "a"}); change::MAX_CHANGES + 1];
    let problem = steps(&changes).unwrap_err();
    assert!(
        problem.contains("spec.changes: Too many: 5001: must have at most 5000 items"),
        "{problem}"
    );
}

#[test]
fn two_worlds_at_rest_are_compared_by_all_their_demands() {
    let one = world(&[shelf("a", 1), toy_in("t1", "a"), toy_in("t2", "a")]);
    let two = world(&[shelf("a", 1), shelf("b", 1), toy_in("t1", "b"), toy_in("t3", "a")]);
    let terms = Terms {
        now: now(),
        seed: None,
    };
    let plan = Plan::between(one.snapshot(), two.snapshot(), &terms, |_| true).unwrap();
    assert_eq!(shown(&plan), ["t1 Moved a->b", "t2 Removed a->", "t3 Bound ->a"]);
}

#[test]
fn changes_nobody_waits_for_end_at_the_next_one() {
    let abandoned = berth_apimachinery::budget::AbandonedFlag::default();
    abandoned.set();
    let mut worlds = [world(&[shelf("a", 1)])];
    let steps = steps(&[json!({"object": shelf("b", 1)})]).unwrap();
    let applied = abandoned.scope(|| apply(&mut worlds, &catalog(), &steps, now()));
    let problem = applied.unwrap_err()[0].to_string();
    assert!(problem.contains("Timeout"), "{problem}");
}

#[test]
fn a_plan_nobody_waits_for_ends_at_the_next_decision() {
    let abandoned = berth_apimachinery::budget::AbandonedFlag::default();
    abandoned.set();
    let mut world = world(&[shelf("a", 1), toy("t1")]);
    let before = world.begin();
    let terms = Terms {
        now: now(),
        seed: None,
    };
    let plan = abandoned.scope(|| Plan::of(&before, &mut world, &terms, |_| true));
    let problem = plan.err().map(|fault| fault.problem).unwrap_or_default();
    assert!(problem.contains("Timeout"), "{problem}");
}
