//! Agreement over the toy dialect, which leaves toys where they are.

use std::time::Duration;

use berth_apimachinery::{Key, Timestamp};
use serde_json::Value;

use super::*;
use crate::plan::tests::{now, shelf, toy, toy_in, world};

/// Comparison of where the toy `car` is in a world of `objects` with what would be decided.
fn compared(objects: &[Value]) -> Comparison {
    let world = world(objects);
    let snapshot = world.snapshot();
    let demand = Key::new(berth_dialect_toy::TOYS, "ns", "car");
    let decision = snapshot.decide(&demand, None, now()).unwrap().unwrap();
    let view = snapshot.inventory.demand(&demand, now()).unwrap();
    Comparison::of(snapshot, &decision, &view, 10)
}

fn before(seconds: u64) -> Option<Timestamp> {
    now().checked_sub(Duration::from_secs(seconds)).ok()
}

#[test]
fn a_demand_that_would_stay_where_it_is_agrees_and_so_does_one_without_any_place_to_be() {
    let placed = compared(&[shelf("a", 1), shelf("b", 1), toy_in("car", "b")]);
    assert_eq!((placed.agreement, placed.differs()), (Agreement::Same, false));
    assert_eq!(placed.sentence(), "Berth would leave it where it is");
    let nowhere = compared(&[shelf("a", 0), toy("car")]);
    assert_eq!(
        (nowhere.agreement.status(), nowhere.agreement.reason()),
        ("True", "Same")
    );
    assert_eq!(nowhere.sentence(), "Berth finds no place either");
}

#[test]
fn a_difference_is_none_yet_while_the_other_scheduler_has_time() {
    let grace = Duration::from_secs(30);
    let difference = || compared(&[shelf("a", 1), toy("car")]);
    for (since, status, reason) in [
        (before(0), "Unknown", "GracePeriod"),
        (before(29), "Unknown", "GracePeriod"),
        (before(30), "False", "Fits"),
        (None, "False", "Fits"),
    ] {
        let agreement = difference().within(since, grace, now()).agreement;
        assert_eq!(
            (agreement.status(), agreement.reason()),
            (status, reason),
            "{since:?}"
        );
    }
    let early = difference().within(before(1), grace, now());
    assert!(early.differs(), "what would change is told already");
    assert_eq!(
        early.sentence(),
        "the other scheduler may not have processed the request yet: Berth would take a (rank 1)"
    );
    assert_eq!(
        difference().within(None, grace, now()).sentence(),
        "Berth would take a (rank 1)"
    );
}

#[test]
fn a_cluster_that_berth_would_create_is_not_told_to_be_unknown() {
    let world = world(&[shelf("a", 1), toy("car")]);
    let snapshot = world.snapshot();
    let demand = Key::new(berth_dialect_toy::TOYS, "ns", "car");
    let mut decision = snapshot.decide(&demand, None, now()).unwrap().unwrap();
    decision.changes[0].action = Action::Create;
    decision.changes[0].cluster_name = "new".into();
    let view = snapshot.inventory.demand(&demand, now()).unwrap();
    let comparison = Comparison::of(snapshot, &decision, &view, 10);
    assert_eq!(
        comparison.sentence(),
        "Berth would take new (Berth would create this cluster)"
    );
}

#[test]
fn the_sentence_names_the_first_clusters_and_is_bounded() {
    let side = |name: &str| ContestedCluster {
        cluster_name: name.to_owned(),
        reasons: vec![format!("Plugin/Reason: {}", "why ".repeat(300))],
        rank: None,
        score: None,
        recorded: None,
    };
    let mut comparison = compared(&[shelf("a", 1), toy("car")]);
    comparison.losses = ["b", "c", "d"].map(side).into();
    comparison.loss_count = 12;
    comparison.losses[0].reasons = vec!["Plugin/Reason: why".to_owned()];
    assert_eq!(
        comparison.sentence(),
        "Berth would leave b (Plugin/Reason: why), c, d and 9 more and take a (rank 1)"
    );
    comparison.losses[0] = side("b");
    let text = comparison.sentence();
    assert!(text.len() <= 1_000 && text.ends_with('…'), "{text}");
}
