//! The events of decisions.

use berth_apimachinery::Key;
use berth_dialect_contract::Note;
use serde_json::json;

use super::world::{columns, now, placement, scores, wants};
use crate::names::{CLUSTERS, DECISIONS};
use crate::notes::notes as noted;

fn told(notes: &[Note]) -> Vec<String> {
    let line = |note: &Note| format!("{} {}: {}", note.r#type.as_str(), note.reason, note.text);
    notes.iter().map(line).collect()
}

#[test]
fn each_changed_decision_is_an_event_and_the_scores_behind_it() {
    let mut world = columns(&["a", "b"]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    let decision = world.decide(&key);
    assert!(noted(&world.fleet, &decision, false).is_empty());
    let notes = noted(&world.fleet, &decision, true);
    assert_eq!(
        told(&notes),
        [
            "Normal DecisionCreate: PlacementDecision p-decision-1 of placement p was created: 1 cluster: a",
            "Normal ScoreUpdate: a:100 b:100",
        ]
    );
    assert_eq!(
        (notes[0].action, notes[1].action),
        ("DecisionCreated", "ScoreUpdated")
    );
    let related = notes[0].related.as_ref().unwrap();
    assert_eq!(related.key, Key::new(DECISIONS, "ns", "p-decision-1"));
    world.settle(&key);
    world.edit(&Key::new(CLUSTERS, "", "a"), |value| {
        value["spec"]["taints"] = json!([{"key": "k", "effect": "NoSelect"}])
    });
    let notes = noted(&world.fleet, &world.decide(&key), true);
    assert_eq!(
        told(&notes)[0],
        "Normal DecisionUpdate: PlacementDecision p-decision-1 of placement p was updated: 1 cluster: b"
    );
}

#[test]
fn what_finds_no_place_is_a_warning_and_scores_are_cut() {
    let mut world = columns(&[]);
    let key = placement("ns", "p");
    world.put(&wants("p", &json!({"numberOfClusters": 1})));
    let notes = noted(&world.fleet, &world.decide(&key), true);
    let last = told(&notes).pop().unwrap();
    assert!(
        last.starts_with("Warning FailedScheduling: AllManagedClusterSetsEmpty: "),
        "{last}"
    );
    let names: Vec<String> = (0..200).map(|index| format!("cluster-{index:03}")).collect();
    let mut world = columns(&names.iter().map(String::as_str).collect::<Vec<_>>());
    world.put(&wants("p", &json!({})));
    let notes = noted(&world.fleet, &world.decide(&key), true);
    let scores = notes.iter().find(|note| note.reason == "ScoreUpdate").unwrap();
    assert!(
        scores.text.len() <= 1000 && scores.text.ends_with(" ......"),
        "{}",
        scores.text
    );
}

#[test]
fn a_decision_that_moves_while_scores_have_expired_is_a_warning() {
    let mut world = columns(&["a", "b", "c"]);
    for (cluster, value, until) in [
        ("b", 50, "2021-10-28T09:00:00Z"),
        ("c", -10, "2021-10-28T08:00:00Z"),
    ] {
        world.put(&scores(
            cluster,
            &json!([{"name": "cpu", "value": value}]),
            &json!(until),
        ));
    }
    let by_score = json!({
        "numberOfClusters": 1,
        "prioritizerPolicy": {"mode": "Exact", "configurations": [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "cpu"}}},
        ]},
    });
    let key = placement("ns", "p");
    world.put(&wants("p", &by_score));
    let made = world.settle(&key);
    assert_eq!(
        told(&noted(&world.fleet, &made, true))[0],
        "Warning DecisionCreate: PlacementDecision p-decision-1 of placement p was created: 1 cluster: b: \
         AddOnPlacementScores c/default expired in plugin AddOn/default/cpu"
    );
    let later = now().checked_add(jiff::SignedDuration::from_secs(1)).unwrap();
    let notes = noted(&world.fleet, &world.decide_at(&key, later), true);
    assert_eq!(
        told(&notes)[0],
        "Warning DecisionUpdate: PlacementDecision p-decision-1 of placement p was updated: 1 cluster: a: \
         AddOnPlacementScores b/default, c/default expired in plugin AddOn/default/cpu"
    );
}
