//! Properties of every decision on every fleet.

use std::collections::BTreeSet;

use dialect_contract::{Action, Affected, Inventory};
use meta::Key;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{World, cluster, fleet, foreign, placement, scores, wants};
use crate::names::CLUSTERS;

#[derive(Clone, Debug)]
struct Member {
    env: Option<u8>,
    tainted: bool,
    score: Option<i8>,
    cpu: Option<u8>,
    foreign: u8,
}

fn member() -> impl Strategy<Value = Member> {
    let score = prop::option::of(-100i8..=100);
    (
        prop::option::of(0u8..3),
        prop::bool::weighted(0.2),
        score,
        prop::option::of(1u8..64),
        0u8..4,
    )
        .prop_map(|(env, tainted, score, cpu, foreign)| Member {
            env,
            tainted,
            score,
            cpu,
            foreign,
        })
}

fn spec() -> impl Strategy<Value = Value> {
    // Steady never has a negative weight here: it alone may flip at every decision (DESIGN.md section 3).
    let weights = (-3i32..=3, 0i32..=3, -3i32..=3, -3i32..=3);
    let groups = prop_oneof![Just(json!("100%")), Just(json!("30%")), Just(json!(2))];
    (prop::option::of(0i32..12), prop::option::of(0u8..3), weights, groups).prop_map(
        |(wanted, env, (balance, steady, cpu, score), size)| {
            let mut spec = json!({
                "prioritizerPolicy": {"configurations": [
                    {"scoreCoordinate": {"builtIn": "Balance"}, "weight": balance},
                    {"scoreCoordinate": {"builtIn": "Steady"}, "weight": steady},
                    {"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}, "weight": cpu},
                    {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "s"}}, "weight": score},
                ]},
                "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size}},
            });
            if let Some(wanted) = wanted {
                spec["numberOfClusters"] = json!(wanted);
            }
            if let Some(env) = env {
                spec["predicates"] = json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"env": env.to_string()}}}}]);
            }
            spec
        },
    )
}

fn objects(members: &[Member]) -> Vec<Value> {
    let mut list = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let name = format!("c{index:02}");
        let mut value = cluster(&name);
        if let Some(env) = member.env {
            value["metadata"]["labels"]["env"] = json!(env.to_string());
        }
        if member.tainted {
            value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
        }
        if let Some(cpu) = member.cpu {
            value["status"] = json!({"allocatable": {"cpu": cpu.to_string()}, "capacity": {"cpu": "64"}});
        }
        list.push(value);
        if let Some(score) = member.score {
            list.push(scores(
                &name,
                &json!([{"name": "s", "value": score}]),
                &Value::Null,
            ));
        }
        list.extend((0..member.foreign).map(|number| foreign(&format!("f-{name}-{number}"), &[&name])));
    }
    list
}

fn build(objects: &[Value], spec: &Value) -> World {
    let mut world = fleet(&[]);
    for object in objects {
        world.put(object);
    }
    world.put(&wants("p", spec));
    world
}

fn key() -> Key {
    placement("ns", "p")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn deciding_twice_changes_nothing_and_writes_give_exactly_the_changes(
        before in prop::collection::vec(member(), 0..14),
        after in prop::collection::vec(member(), 0..14),
        first in spec(),
        second in spec(),
    ) {
        let mut world = build(&objects(&before), &first);
        for round in 0..2 {
            if round == 1 {
                for object in objects(&after).iter().filter(|object| object["kind"] == "ManagedCluster") {
                    world.put(object);
                }
                world.edit(&key(), |value| value["spec"] = second.clone());
            }
            let was: BTreeSet<String> = world.bound(&key()).into_iter().collect();
            let decision = world.decide(&key());
            let mut expected = was.clone();
            for change in &decision.changes {
                match change.action {
                    Action::Bind => prop_assert!(expected.insert(change.cluster_name.to_string())),
                    Action::Unbind => prop_assert!(expected.remove(&*change.cluster_name)),
                    _ => prop_assert!(was.contains(&*change.cluster_name)),
                }
            }
            for write in world.hub.writes(&decision) {
                // Own writes never make a placement due.
                prop_assert_eq!(world.apply(&write).decide, Affected::None);
            }
            prop_assert_eq!(world.bound(&key()), expected.into_iter().collect::<Vec<_>>());
            let again = world.decide(&key());
            prop_assert_eq!(&again.solved.picked.iter().collect::<BTreeSet<_>>(), &decision.solved.picked.iter().collect::<BTreeSet<_>>());
            prop_assert!(world.hub.writes(&again).is_empty());
            prop_assert!(again.changes.iter().all(|change| change.action == Action::Keep));
        }
    }

    #[test]
    fn any_prefix_of_the_writes_is_finished_by_deciding_again(
        members in prop::collection::vec(member(), 0..14),
        spec in spec(),
        stop in 0usize..8,
    ) {
        let mut whole = build(&objects(&members), &spec);
        // Foreign counts do not depend on own decisions, so both end alike unless Steady holds something half-way.
        let picked = whole.settle(&key()).solved.picked;
        let mut cut = build(&objects(&members), &spec);
        let decision = cut.decide(&key());
        for write in cut.hub.writes(&decision).iter().take(stop) {
            cut.apply(write);
        }
        let rest = cut.settle(&key());
        prop_assert_eq!(rest.solved.picked.into_iter().collect::<BTreeSet<_>>(), picked.into_iter().collect::<BTreeSet<_>>());
        prop_assert_eq!(cut.listed(&key()), whole.listed(&key()));
        prop_assert!(cut.hub.writes(&cut.decide(&key())).is_empty());
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(
        members in prop::collection::vec(member(), 0..14),
        spec in spec(),
        seed in any::<u64>(),
    ) {
        let list = objects(&members);
        let straight = build(&list, &spec);
        let mut shuffled = list.clone();
        let mut random = scheduling::Random::new(seed);
        for place in (1..shuffled.len()).rev() {
            let other = usize::try_from(random.below(place as u64 + 1)).unwrap();
            shuffled.swap(place, other);
        }
        // Reads in between build the columns early, so that later objects edit them in place.
        let mut other = fleet(&[]);
        other.put(&wants("p", &spec));
        for object in &shuffled {
            other.put(object);
            drop(other.decide(&key()));
        }
        let (one, two) = (straight.decide(&key()), other.decide(&key()));
        prop_assert_eq!(one.solved, two.solved);
        prop_assert_eq!(one.changes, two.changes);
    }

    #[test]
    fn a_cluster_that_is_not_feasible_changes_no_pick(
        members in prop::collection::vec(member(), 0..14),
        spec in spec(),
        name in "[a-z]{1,3}",
    ) {
        let mut world = build(&objects(&members), &spec);
        let before = world.picked(&world.decide(&key()));
        let mut refused = cluster(&name);
        refused["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}]);
        refused["status"] = json!({"allocatable": {"cpu": "1000"}, "capacity": {"cpu": "1000"}});
        world.put(&refused);
        prop_assert_eq!(world.picked(&world.decide(&key())), before.clone());
        world.delete(&Key::new(CLUSTERS, "", &name));
        prop_assert_eq!(world.picked(&world.decide(&key())), before);
    }

    #[test]
    fn every_cluster_is_feasible_or_says_why(members in prop::collection::vec(member(), 0..14), spec in spec()) {
        let world = build(&objects(&members), &spec);
        let decision = world.decide(&key());
        for candidate in 0..world.hub.count() {
            let refused = !decision.solved.rejections_of(candidate).is_empty();
            prop_assert_eq!(decision.solved.row_of(candidate).is_none(), refused);
        }
        let ranked = &decision.solved.ranked;
        for pair in ranked.windows(2) {
            let (a, b) = (decision.solved.total_of(pair[0]), decision.solved.total_of(pair[1]));
            prop_assert!(a > b || (a == b && pair[0] < pair[1]));
        }
    }
}
