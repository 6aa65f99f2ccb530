//! Seeds that the caller chooses.

use berth_dialect_contract::{Inventory, Outcome, Words};
use serde_json::json;

use super::bound;
use crate::testing::{ask, fleet, seed, shoot, with};

fn errors(fleet: &crate::fleet::Fleet, demand: &serde_json::Value, names: &[&str]) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let refused = ask(fleet, demand, Some(&names)).unwrap_err();
    refused.errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_feasible_choice_beats_the_order() {
    let demand = shoot("foo", "eu-west-1");
    let fleet = fleet(&[
        demand.clone(),
        seed("a", "aws", "eu-west-1"),
        seed("b", "aws", "eu-west-1"),
    ]);
    let decision = ask(&fleet, &demand, Some(&["b".to_owned()])).unwrap();
    assert_eq!(
        (decision.outcome, &decision.solved.picked[..]),
        (Outcome::Scheduled, &[1][..])
    );
    assert_eq!(fleet.message(&decision), "2 of 2 seeds feasible; picked b");
    assert_eq!(fleet.not_picked(&decision, 0, None).1, "seed \"b\" was asked for");
}

#[test]
fn unknown_and_infeasible_choices_are_refused_with_every_reason() {
    let demand = shoot("foo", "eu-west-1");
    let bad = with(
        seed("bad", "aws", "us-east-1"),
        "/spec/taints",
        json!([{"key": "t", "value": "v"}]),
    );
    let fleet = fleet(&[demand.clone(), seed("a", "aws", "eu-west-1"), bad]);
    let infeasible = "spec.targets[0]: Invalid value: \"bad\": Untolerated: the shoot does not tolerate the taint t=v; \
                      NotSameRegion: the seed's region is \"us-east-1\", the shoot's is \"eu-west-1\"";
    assert_eq!(errors(&fleet, &demand, &["bad"]), [infeasible]);
    let unknown = "there is no seed \"nope\"";
    assert_eq!(
        errors(&fleet, &demand, &["nope"]),
        [format!("spec.targets[0]: Invalid value: \"nope\": {unknown}")]
    );
    let many = errors(&fleet, &demand, &["a", "nope"]);
    assert_eq!(many[0], "spec.targets: Too many: 2: must have at most 1 items");
    assert_eq!(
        many[1],
        format!("spec.targets[1]: Invalid value: \"nope\": {unknown}")
    );
    assert!(errors(&fleet, &demand, &[])[0].starts_with("spec.targets: Required value"));
}

#[test]
fn a_bound_shoot_is_not_moved_by_a_choice() {
    let demand = bound("foo", "a");
    let fleet = fleet(&[
        demand.clone(),
        seed("a", "aws", "eu-west-1"),
        seed("b", "aws", "eu-west-1"),
    ]);
    let decision = ask(&fleet, &demand, Some(&["a".to_owned()])).unwrap();
    assert_eq!(
        (decision.outcome, fleet.writes(&decision).len()),
        (Outcome::Unchanged, 0)
    );
    assert!(errors(&fleet, &demand, &["b"])[0].contains("control plane migration"));
    assert!(errors(&fleet, &demand, &["c"])[0].contains("there is no seed"));
}
