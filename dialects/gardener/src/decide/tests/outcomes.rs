//! Outcomes of decisions, and their sentences.

use berth_apimachinery::Timestamp;
use berth_dialect_contract::{Action, Decision, Inventory, Outcome, Words, report};
use serde_json::{Value, json};

use super::bound;
use crate::fleet::Fleet;
use crate::testing::{configuration, decide, fleet, gone, profile, seed, shoot, stored, with};

fn ended(fleet: &Fleet, demand: &Value) -> (Outcome, &'static str, String, Vec<Action>, usize) {
    let decision = decide(fleet, demand);
    let actions = decision.changes.iter().map(|change| change.action).collect();
    (
        decision.outcome,
        decision.reason,
        fleet.message(&decision),
        actions,
        fleet.writes(&decision).len(),
    )
}

#[test]
fn a_picked_seed_is_bound_through_the_subresource() {
    let demand = with(
        shoot("foo", "eu-west-1"),
        "/spec/somethingNew",
        json!({"kept": true}),
    );
    let pending = json!({"type": "Create", "state": "Pending", "progress": 0, "description": "no seed"});
    let demand = with(demand, "/status/lastOperation", pending);
    let fleet = fleet(&[
        demand.clone(),
        seed("eu-1", "aws", "eu-west-1"),
        seed("us-1", "aws", "us-east-1"),
    ]);
    let message = "1 of 2 seeds feasible; picked eu-1".to_owned();
    assert_eq!(
        ended(&fleet, &demand),
        (Outcome::Scheduled, "Picked", message, vec![Action::Bind], 1)
    );
    let decision = decide(&fleet, &demand);
    assert_eq!(decision.fences, vec!["gardener/seeds/eu-1".into()]);
    assert_eq!(decision.demand_revision.0, 7);
    let write = &fleet.writes(&decision)[0];
    assert_eq!(
        (
            write.subresource,
            write.verb.as_str(),
            write.base.map(|base| base.0)
        ),
        ("binding", "update", Some(7))
    );
    let expected = with(demand, "/spec/seedName", json!("eu-1"));
    let expected = with(expected, "/spec/networking/pods", json!("100.96.0.0/11"));
    let expected = with(expected, "/spec/networking/services", json!("100.64.0.0/13"));
    let expected = with(
        expected,
        "/metadata/labels",
        json!({"name.seed.gardener.cloud/eu-1": "true"}),
    );
    assert_eq!(write.object, with(expected, "/status", json!({})));
}

#[test]
fn what_is_bound_stays_and_is_explained() {
    let demand = bound("foo", "us-1");
    let mut fleet = fleet(&[
        demand.clone(),
        seed("eu-1", "aws", "eu-west-1"),
        seed("us-1", "aws", "us-east-1"),
    ]);
    let message = "bound to us-1; nothing to do".to_owned();
    assert_eq!(
        ended(&fleet, &demand),
        (Outcome::Unchanged, "Kept", message, vec![Action::Keep], 0)
    );
    let decision = decide(&fleet, &demand);
    assert_eq!(
        decision.solved.picked,
        [1],
        "a kept target is picked, feasible or not"
    );
    assert_eq!(decision.solved.feasible, [0]);
    fleet.fold(&gone(&seed("us-1", "aws", "us-east-1")));
    assert_eq!(
        ended(&fleet, &demand).2,
        "bound to us-1, which does not exist; nothing to do"
    );
}

#[test]
fn an_object_that_cannot_be_read_is_not_told_as_missing() {
    let bad_seed = with(
        seed("us-1", "aws", "us-east-1"),
        "/status/allocatable",
        json!({"shoots": "many"}),
    );
    let demand = bound("foo", "us-1");
    let message = ended(&fleet(&[demand.clone(), bad_seed.clone()]), &demand).2;
    assert!(
        message.starts_with("bound to us-1, which cannot be read: status.allocatable[shoots]: "),
        "{message}"
    );
    let demand = shoot("foo", "eu-west-1");
    let message = ended(&fleet(&[demand.clone(), bad_seed]), &demand).2;
    assert_eq!(message, "none of the seeds can be read");
    let bad_profile = with(
        profile("aws"),
        "/spec/seedSelector",
        json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
    );
    let message = ended(&fleet(&[demand.clone(), bad_profile]), &demand).2;
    assert!(
        message.starts_with(
            "CloudProfile \"aws\" cannot be read: spec.seedSelector.matchExpressions[0].operator: "
        ),
        "{message}"
    );
}

#[test]
fn a_shoot_does_not_stand_in_its_own_way() {
    let full = with(
        seed("eu-1", "aws", "eu-west-1"),
        "/status/allocatable",
        json!({"shoots": "1"}),
    );
    let demand = bound("foo", "eu-1");
    assert_eq!(
        decide(&fleet(&[demand.clone(), full]), &demand).solved.feasible,
        [0]
    );
}

#[test]
fn nothing_suitable_is_told_with_the_nearest_seed() {
    let demand = shoot("foo", "eu-west-1");
    let taint = |name: &str| {
        with(
            seed(name, "aws", "eu-west-1"),
            "/spec/taints",
            json!([{"key": "t"}]),
        )
    };
    let fleet_of_three = fleet(&[
        demand.clone(),
        taint("a"),
        taint("b"),
        seed("c", "aws", "us-east-1"),
    ]);
    let message = "No Seed fits. Nearest: a: the shoot does not tolerate the taint t; 1 more is as near";
    let expected = (
        Outcome::Unschedulable,
        "NoSuitableSeed",
        message.to_owned(),
        vec![],
        0,
    );
    assert_eq!(ended(&fleet_of_three, &demand), expected);
    assert_eq!(
        ended(&fleet(std::slice::from_ref(&demand)), &demand).2,
        "there are no seeds"
    );
}

#[test]
fn a_missing_profile_is_invalid_until_it_is_there() {
    let demand = with(
        shoot("foo", "eu-west-1"),
        "/spec/cloudProfileName",
        json!("metal"),
    );
    let mut fleet = fleet(&[demand.clone(), seed("a", "aws", "eu-west-1")]);
    let message = "CloudProfile \"metal\" not found".to_owned();
    assert_eq!(
        ended(&fleet, &demand),
        (Outcome::Invalid, "CloudProfileNotFound", message, vec![], 0)
    );
    fleet.fold(&stored(&profile("metal")));
    assert_eq!(ended(&fleet, &demand).0, Outcome::Scheduled);
}

#[test]
fn the_newer_profile_reference_wins() {
    let demand = with(
        shoot("foo", "eu-west-1"),
        "/spec/cloudProfileName",
        json!("metal"),
    );
    let by_name = with(demand, "/spec/cloudProfile", json!({"name": "aws"}));
    assert_eq!(
        ended(
            &fleet(&[by_name.clone(), seed("a", "aws", "eu-west-1")]),
            &by_name
        )
        .0,
        Outcome::Scheduled
    );
    let namespaced = with(
        by_name,
        "/spec/cloudProfile/kind",
        json!("NamespacedCloudProfile"),
    );
    let message = "NamespacedCloudProfile \"aws\" not found";
    assert_eq!(
        ended(&fleet(std::slice::from_ref(&namespaced)), &namespaced).2,
        message
    );
}

#[test]
fn other_schedulers_shoots_and_deleted_ones_are_left_alone() {
    let seeds = seed("a", "aws", "eu-west-1");
    let foreign = with(shoot("foo", "eu-west-1"), "/spec/schedulerName", json!("mine"));
    let message = "the shoot belongs to the scheduler \"mine\"".to_owned();
    assert_eq!(
        ended(&fleet(&[foreign.clone(), seeds.clone()]), &foreign).0,
        Outcome::Ignored
    );
    assert_eq!(
        ended(&fleet(&[foreign.clone(), seeds.clone()]), &foreign).2,
        message
    );
    let leaving = with(
        bound("foo", "a"),
        "/metadata/deletionTimestamp",
        json!("2021-10-28T08:00:00Z"),
    );
    let (outcome, _, message, actions, writes) = ended(&fleet(&[leaving.clone(), seeds]), &leaving);
    assert_eq!(
        (outcome, actions, writes),
        (Outcome::Released, vec![Action::Unbind], 0)
    );
    assert_eq!(message, "the shoot is being deleted and leaves seed \"a\"");
}

#[test]
fn a_shoot_that_hosts_itself_needs_no_seed() {
    let workers = json!([{"name": "pool"}, {"name": "control", "controlPlane": {}}]);
    let own = with(shoot("foo", "eu-west-1"), "/spec/provider/workers", workers);
    let (outcome, _, message, actions, writes) =
        ended(&fleet(&[own.clone(), seed("a", "aws", "eu-west-1")]), &own);
    assert_eq!((outcome, actions, writes), (Outcome::Ignored, vec![], 0));
    assert_eq!(
        message,
        "the shoot is self-hosted (spec.provider.workers[].controlPlane) and needs no seed"
    );
}

#[test]
fn a_bad_configuration_leaves_the_last_good_one_in_force() {
    let demand = shoot("foo", "eu-west-1");
    let seeds = seed("far", "aws", "us-east-1");
    let mut fleet = fleet(&[configuration("nonsense"), demand.clone(), seeds]);
    let (outcome, reason, message, ..) = ended(&fleet, &demand);
    assert_eq!(
        (outcome, reason),
        (Outcome::Invalid, "ConfigInvalid"),
        "there was no good one"
    );
    assert!(
        message.contains("candidateDeterminationStrategy: Unsupported value: \"nonsense\""),
        "{message}"
    );
    fleet.fold(&stored(&configuration("MinimalDistance")));
    assert_eq!(ended(&fleet, &demand).0, Outcome::Scheduled);
    fleet.fold(&stored(&configuration("nonsense")));
    assert_eq!(ended(&fleet, &demand).0, Outcome::Scheduled);
    assert_eq!(fleet.unusable().len(), 1, "it is told all the same");
    fleet.fold(&gone(&configuration("nonsense")));
    assert_eq!(
        ended(&fleet, &demand).0,
        Outcome::Unschedulable,
        "the default is SameRegion"
    );
    assert_eq!(fleet.unusable(), []);
}

#[test]
fn the_report_explains_every_seed() {
    let demand = shoot("foo", "eu-west-1");
    let fleet = fleet(&[
        demand.clone(),
        seed("a", "aws", "eu-west-1"),
        seed("b", "aws", "eu-west-1"),
        with(
            seed("c", "aws", "eu-west-1"),
            "/spec/networks/pods",
            json!("100.100.0.0/16"),
        ),
        bound("x", "a"),
    ]);
    let decision: Decision = decide(&fleet, &demand);
    let report = serde_json::to_value(report::report("gardener", &fleet, 7, &decision)).unwrap();
    assert_eq!(decision.now, Timestamp::UNIX_EPOCH);
    let rows: Vec<(&str, bool, Option<u64>, &str)> = report["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let words = row["rejections"][0]["message"].as_str().unwrap_or_default();
            (
                row["target"].as_str().unwrap(),
                row["picked"].as_bool().unwrap(),
                row["rank"].as_u64(),
                words,
            )
        })
        .collect();
    let overlap = "networks overlap: default pods 100.96.0.0/11 and seed's pods 100.100.0.0/16";
    let expected = [
        ("b.gardener", true, Some(1), ""),
        ("a.gardener", false, Some(2), "1 shoot, seed \"b\" has 0"),
        ("c.gardener", false, None, overlap),
    ];
    assert_eq!(rows, expected);
    assert_eq!(report["candidates"][1]["rejections"][0]["reason"], "Utilization");
    assert_eq!(
        report["picked"][0]["scores"],
        json!([{"plugin": "Utilization", "value": 0, "weight": 0, "weighted": 0}])
    );
}
