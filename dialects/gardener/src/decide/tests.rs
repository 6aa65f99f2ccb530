//! Strategies, order, outcomes, sentences and choices.

mod choices;
mod notes;
mod outcomes;
mod pending;
mod properties;

use berth_dialect_contract::{Targets, Words};
use serde_json::{Value, json};

use crate::testing::{configuration, decide, fleet, picked, refusals, seed, shoot, with};

fn bound(name: &str, seed: &str) -> Value {
    with(shoot(name, "eu-west-1"), "/spec/seedName", json!(seed))
}

#[test]
fn same_region_wants_provider_and_region() {
    let demand = shoot("foo", "eu-west-1");
    let fleet = fleet(&[
        demand.clone(),
        seed("far", "aws", "us-east-1"),
        seed("foreign", "gcp", "eu-west-1"),
        seed("near", "aws", "eu-west-1"),
    ]);
    assert_eq!(picked(&fleet, &demand).as_deref(), Some("near"));
    let decision = decide(&fleet, &demand);
    assert_eq!(refusals(&fleet, &decision, "far"), ["Strategy/NotSameRegion"]);
    assert_eq!(
        refusals(&fleet, &decision, "foreign"),
        ["Provider/ProviderMismatch", "Strategy/NotSameProvider"]
    );
}

#[test]
fn testing_looks_at_the_provider_alone_whatever_the_strategy() {
    for strategy in ["SameRegion", "MinimalDistance"] {
        let demand = with(shoot("foo", "eu-west-1"), "/spec/purpose", json!("testing"));
        let fleet = fleet(&[
            configuration(strategy),
            demand.clone(),
            seed("a-near", "aws", "eu-west-1"),
            seed("b-far", "aws", "ap-south-1"),
            bound("other", "a-near"),
        ]);
        assert_eq!(
            picked(&fleet, &demand).as_deref(),
            Some("b-far"),
            "{strategy}: least shoots"
        );
    }
}

#[test]
fn minimal_distance_takes_the_nearest_of_what_is_left() {
    let demand = shoot("foo", "eu-west-1");
    let full = with(
        seed("exact", "aws", "eu-west-1"),
        "/status/allocatable",
        json!({"shoots": "0"}),
    );
    let fleet = fleet(&[
        configuration("MinimalDistance"),
        demand.clone(),
        full,
        seed("far", "aws", "us-east-1"),
        seed("near", "aws", "eu-west-3"),
    ]);
    let decision = decide(&fleet, &demand);
    assert_eq!(picked(&fleet, &demand).as_deref(), Some("near"));
    assert_eq!(
        refusals(&fleet, &decision, "far"),
        ["Strategy/NotMinimalDistance"]
    );
    assert_eq!(refusals(&fleet, &decision, "exact"), ["Capacity/Full"]);
    let far = fleet.candidate("far").unwrap();
    let refusal = decision.solved.rejections_of(far)[0];
    let words = fleet.sentence(&decision, far, refusal.plugin, refusal.reason);
    assert_eq!(
        words,
        "the distance from \"us-east-1\" to \"eu-west-1\" is 6, the smallest is 2"
    );
}

#[test]
fn another_provider_adds_two_to_the_distance() {
    let demand = with(
        shoot("foo", "eu-west-1"),
        "/spec/seedSelector",
        json!({"providerTypes": ["*"]}),
    );
    let fleet = fleet(&[
        configuration("MinimalDistance"),
        demand.clone(),
        seed("a-foreign", "gcp", "eu-west-1"),
        seed("b-near", "aws", "eu-west-3"),
        seed("c-farther", "gcp", "eu-west-3"),
    ]);
    let decision = decide(&fleet, &demand);
    let feasible: Vec<String> = decision
        .solved
        .feasible
        .iter()
        .map(|&candidate| fleet.cluster_name(candidate).to_string())
        .collect();
    assert_eq!(feasible, ["a-foreign", "b-near"], "both at distance 2");
    assert_eq!(
        refusals(&fleet, &decision, "c-farther"),
        ["Strategy/NotMinimalDistance"]
    );
}

#[test]
fn fewest_shoots_win_and_names_break_ties() {
    let demand = shoot("foo", "eu-west-1");
    let mut objects = vec![demand.clone()];
    objects.extend(["c", "a", "b"].map(|name| seed(name, "aws", "eu-west-1")));
    assert_eq!(picked(&fleet(&objects), &demand).as_deref(), Some("a"));
    objects.push(bound("one", "a"));
    assert_eq!(picked(&fleet(&objects), &demand).as_deref(), Some("b"));
    // A migrating shoot counts on both seeds.
    objects.push(with(bound("two", "b"), "/status/seedName", json!("c")));
    let fleet = fleet(&objects);
    assert_eq!(picked(&fleet, &demand).as_deref(), Some("a"), "one shoot each");
    let used: Vec<i64> = (0..3).map(|candidate| fleet.row(candidate).used).collect();
    assert_eq!(used, [1, 1, 1]);
}

#[test]
fn scores_inform_and_do_not_add_up() {
    let demand = shoot("foo", "eu-west-1");
    let fleet = fleet(&[
        configuration("MinimalDistance"),
        demand.clone(),
        seed("a", "aws", "eu-west-2"),
        bound("x", "a"),
    ]);
    let decision = decide(&fleet, &demand);
    let names: Vec<&str> = decision.scorers.iter().map(|name| &**name).collect();
    assert_eq!(names, ["Utilization", "MinimalDistance"]);
    let values: Vec<_> = decision
        .solved
        .scores
        .iter()
        .map(|column| (column.weight, column.values[0]))
        .collect();
    assert_eq!(values, [(0, Some(1)), (0, Some(2))]);
    assert!(decision.solved.totals.is_empty());
}
