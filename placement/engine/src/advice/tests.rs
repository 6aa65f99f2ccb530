//! Advice over the toy dialect: toys go into the emptiest box that has room and no lid.

use serde_json::{Value, json};

use super::*;
use crate::plan::tests::{catalog, now, shelf, toy, toy_in, world};
use berth_dialect_toy::{TOYS, object};

fn demand() -> Key {
    Key::new(TOYS, "ns", "t")
}

fn advice(objects: &[Value], change: impl FnOnce(&mut Terms)) -> Result<Advice, NoAdvice> {
    let mut terms = Terms {
        now: now(),
        seed: None,
        limit: TARGETS,
        only: None,
        can_bind: true,
    };
    change(&mut terms);
    advise(&world(objects), &catalog(), &demand(), &terms)
}

fn lidded(name: &str, capacity: i64) -> Value {
    object("Box", "", name, json!({"capacity": capacity, "lid": "blue"}))
}

/// Each set as `then: what; what`.
fn shown(advised: &TargetAdvice) -> Vec<String> {
    let sets = advised.advice.iter();
    sets.map(|set| {
        let words: Vec<&str> = set.changes.iter().map(|change| change.message.as_str()).collect();
        format!("{}: {}", set.then, words.join("; "))
    })
    .collect()
}

#[test]
fn only_what_helps_is_told_and_the_nearest_target_comes_first() {
    let objects = [toy("t"), lidded("a", 0), shelf("b", 0)];
    let advice = advice(&objects, |_| {}).unwrap();
    let names: Vec<&str> = advice.targets.iter().map(|one| one.target.as_str()).collect();
    assert_eq!(names, ["b.toy", "a.toy"], "one refusal is nearer than two");
    // To make the toy small was proposed, tried, and left out.
    assert_eq!(shown(&advice.targets[0]), ["Picked: widen box b to 1"]);
    assert_eq!(
        shown(&advice.targets[1]),
        ["Picked: widen box a to 1; take the lid off"]
    );
    assert_eq!((advice.remaining, advice.gave_up), (0, None));
}

#[test]
fn one_object_is_one_patch_and_one_line() {
    let advice = advice(&[toy("t"), lidded("a", 0)], |_| {}).unwrap();
    let [patch] = advice.targets[0].advice[0].patches.as_slice() else {
        panic!("{:?}", advice.targets);
    };
    let operations = vec![
        json!({"op": "replace", "path": "/spec/capacity", "value": 1}),
        json!({"op": "remove", "path": "/spec/lid"}),
    ];
    assert_eq!(patch.form, Form::Json(operations));
    assert_eq!(
        patch.command,
        "kubectl patch boxes.toys.example a --type=json -p \
         '[{\"op\":\"replace\",\"path\":\"/spec/capacity\",\"value\":1},{\"op\":\"remove\",\"path\":\"/spec/lid\"}]'"
    );
}

#[test]
fn what_nothing_lifts_says_why() {
    let advice = advice(&[toy("t"), shelf("sealed", 0)], |_| {}).unwrap();
    let [advised] = advice.targets.as_slice() else {
        panic!("{:?}", advice.targets);
    };
    assert_eq!(advised.rejections[0].note.as_deref(), Some("it is glued shut"));
    assert_eq!(shown(advised), [""; 0]);
    assert!(!advised.gave_up);
}

#[test]
fn a_feasible_target_is_had_by_naming_it() {
    let objects = [
        toy("t"),
        shelf("a", 1),
        shelf("b", 1),
        toy_in("u", "b"),
        shelf("c", 2),
    ];
    let advice = advice(&objects, |terms| terms.only = Some("c".to_owned())).unwrap();
    // What is picked would stay if the dialect took both, but a toy is in one box.
    assert_eq!(shown(&advice.targets[0]), ["Picked: bind it to c.toy by name"]);
    let command = &advice.targets[0].advice[0].patches[0].command;
    assert!(command.contains("kubectl create -f -"), "{command}");
}

#[test]
fn no_binding_is_advised_for_a_request_that_another_scheduler_decides() {
    let objects = [toy("t"), shelf("a", 1), shelf("c", 2)];
    let advised = |can_bind: bool| {
        let advice = advice(&objects, |terms| {
            terms.only = Some("c".to_owned());
            terms.can_bind = can_bind;
        });
        shown(&advice.unwrap().targets[0])
    };
    assert_eq!(advised(true), ["Picked: bind it to c.toy by name"]);
    assert_eq!(advised(false), [""; 0]);
}

#[test]
fn a_decision_that_evaluates_no_target_gives_no_advice_and_still_knows_the_targets_by_name() {
    let objects = [toy_in("t", "a"), shelf("a", 1), shelf("b", 1)];
    let about = |name: &str| advice(&objects, |terms| terms.only = Some(name.to_owned()));
    let advice = about("b").unwrap();
    assert_eq!((advice.targets.len(), advice.remaining), (0, 0));
    let unknown = about("z");
    assert!(matches!(unknown, Err(NoAdvice::Target(name)) if name == "z"));
}

#[test]
fn the_number_of_targets_is_kept_and_what_is_left_is_counted() {
    let objects = [toy("t"), shelf("a", 0), shelf("b", 0), shelf("c", 0)];
    let advice = advice(&objects, |terms| terms.limit = 2).unwrap();
    assert_eq!((advice.targets.len(), advice.remaining), (2, 1));
}

#[test]
fn a_target_is_found_by_either_name_and_an_unknown_one_is_an_error() {
    for name in ["a", "a.toy"] {
        let advice = advice(&[toy("t"), shelf("a", 0)], |terms| {
            terms.only = Some(name.to_owned())
        })
        .unwrap();
        assert_eq!(&*advice.targets[0].cluster_name, "a");
    }
    let none = advice(&[toy("t"), shelf("a", 0)], |terms| {
        terms.only = Some("z".to_owned())
    });
    assert!(matches!(none, Err(NoAdvice::Target(name)) if name == "z"));
    let gone = advice(&[shelf("a", 0)], |_| {});
    assert!(matches!(gone, Err(NoAdvice::Demand(_))));
}

#[test]
fn the_world_that_is_asked_about_stays_as_it_is() {
    let objects = [toy("t"), shelf("a", 0)];
    let asked = world(&objects);
    let terms = Terms {
        now: now(),
        seed: None,
        limit: 1,
        only: None,
        can_bind: true,
    };
    let first = advise(&asked, &catalog(), &demand(), &terms).unwrap();
    let second = advise(&asked, &catalog(), &demand(), &terms).unwrap();
    assert_eq!(shown(&first.targets[0]), shown(&second.targets[0]));
    assert_eq!(asked.changes(), 2, "the two objects it was made of");
}

#[test]
fn a_search_that_takes_too_long_says_so() {
    let mut budget = Budget::new("advice", 500, u64::MAX);
    let world = world(&[toy("t"), shelf("a", 0)]);
    let terms = Terms {
        now: now(),
        seed: None,
        limit: 1,
        only: None,
        can_bind: true,
    };
    let decision = decide(world.snapshot(), &demand(), None, &terms)
        .unwrap()
        .unwrap();
    let catalog = catalog();
    let key = demand();
    let mut search = Search::new(&world, &catalog, &key, &terms, 0, 1, &mut budget);
    let Err(search::Stop::Spent(exceeded)) = search.run(&decision) else {
        panic!("it did not end");
    };
    assert_eq!(
        exceeded.to_string(),
        "advice takes more than the limit of 500 steps of work"
    );
}
