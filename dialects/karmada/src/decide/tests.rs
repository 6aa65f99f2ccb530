//! Decisions on incomplete, unreadable and deleted objects, which are as documented and have clear
//! sentences.

use berth_apimachinery::{Change, Key, Timestamp};
use berth_dialect_contract::Inventory as _;
use berth_dialect_contract::Words as _;
use serde_json::{Value, json};

use super::*;
use crate::names::{APPLIED_PLACEMENT, BINDINGS, CLUSTERS};
use crate::testing::{binding_value, cluster_value, object};

fn key() -> Key {
    Key::new(BINDINGS, "team", "web-deployment")
}

fn aggregated() -> Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}})
}

fn fold(fleet: &mut Fleet, key: &Key, value: &Value) {
    fleet.fold(&Change::added(key.clone(), object(value)));
}

/// A fleet of clusters a, b and so on with room for ten pods each, to which `changes` are applied.
fn fleet(changes: &[fn(&mut Value)]) -> Fleet {
    let mut fleet = Fleet::default();
    for (name, change) in ["a", "b", "c", "d"].iter().zip(changes) {
        let mut value = cluster_value(name, 10);
        change(&mut value);
        fold(&mut fleet, &Key::new(CLUSTERS, "", name), &value);
    }
    fleet
}

/// The decision on `binding`.
fn decided(fleet: &mut Fleet, binding: &Value) -> Decision {
    let demand = key();
    fold(fleet, &demand, binding);
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: None,
    };
    let decision = fleet.decide(&ask).expect("it is there");
    decision.expect("nothing was chosen")
}

/// The decision on `binding` for the clusters in `names`, which a caller chose.
fn chosen(fleet: &mut Fleet, binding: &Value, names: &[&str]) -> Result<Decision, ChoiceRefusal> {
    let demand = key();
    fold(fleet, &demand, binding);
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: Some(&names),
    };
    fleet.decide(&ask).expect("it is there")
}

#[test]
fn chosen_clusters_that_the_next_look_would_replace_are_refused() {
    let mut fleet = fleet(&[|_| {}, |_| {}]);
    let (everywhere, divided) = (json!({}), aggregated());
    for (placement, replicas) in [(&everywhere, 3), (&everywhere, 0), (&divided, 0)] {
        let binding = binding_value(placement, replicas, "");
        let Err(refusal) = chosen(&mut fleet, &binding, &["a"]) else {
            panic!("{placement}: it would not stay");
        };
        let text = refusal.errors[0].to_string();
        assert!(
            text.contains("at every look") && text.contains("clusterAffinity"),
            "{text}"
        );
        let all = chosen(&mut fleet, &binding, &["a", "b"]);
        assert!(all.is_ok(), "{placement}: as it is decided");
    }
    assert!(chosen(&mut fleet, &binding_value(&divided, 3, ""), &["b"]).is_ok());
    // A constraint that allows one cluster keeps the one that is there.
    let one = json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]});
    assert!(chosen(&mut fleet, &binding_value(&one, 3, ""), &["b"]).is_ok());
}

#[test]
fn a_request_to_reschedule_that_is_dated_into_the_future_refuses_no_chosen_clusters() {
    let mut fleet = fleet(&[|_| {}, |_| {}]);
    let asked = |placement: &Value| {
        let mut binding = binding_value(placement, 3, "");
        binding["spec"]["rescheduleTriggeredAt"] = "1970-01-01T00:01:00Z".into();
        binding
    };
    // From scratch, these weights would divide the replicas between both clusters.
    let weighted = json!({"replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }});
    assert!(chosen(&mut fleet, &asked(&weighted), &["b"]).is_ok());
    assert!(
        chosen(&mut fleet, &asked(&json!({})), &["b"]).is_err(),
        "it is decided at every look"
    );
}

#[test]
fn chosen_clusters_of_a_workload_of_components_are_refused_with_the_reason_that_holds() {
    let mut fleet = fleet(&[|_| {}, |_| {}]);
    let mut binding = binding_value(&aggregated(), 3, "");
    binding["spec"]["components"] = json!([{"name": "a", "replicas": 1}, {"name": "b", "replicas": 2}]);
    let Err(refusal) = chosen(&mut fleet, &binding, &["a"]) else {
        panic!("it would not stay");
    };
    let text = refusal.errors[0].to_string();
    assert!(text.contains("its replicas are not divided"), "{text}");
}

#[test]
fn a_binding_without_a_placement_is_left_alone_and_says_where_it_goes() {
    let mut fleet = fleet(&[|_| {}]);
    let mut binding = binding_value(&json!({}), 3, "");
    binding["spec"]["placement"] = Value::Null;
    let decision = decided(&mut fleet, &binding);
    assert_eq!(
        (decision.outcome, decision.reason),
        (Outcome::Ignored, "NoPlacement")
    );
    assert_eq!(
        fleet.message(&decision),
        "it has no placement of its own: it follows the bindings that depend on it"
    );
    assert!(fleet.writes(&decision).is_empty());
}

#[test]
fn an_annotation_that_is_no_placement_is_warned_about_and_a_changed_one_makes_nothing_due() {
    let mut fleet = fleet(&[|_| {}]);
    let mut binding = binding_value(&aggregated(), 3, "a3");
    binding["metadata"]["annotations"] = json!({APPLIED_PLACEMENT: "{\"replicaScheduling\": 7"});
    binding["status"] = json!({
        "schedulerObservedGeneration": 1, "lastScheduledTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "Scheduled", "status": "True", "reason": "Success", "message": "",
                        "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    });
    let decision = decided(&mut fleet, &binding);
    assert_eq!(decision.outcome, Outcome::Unchanged);
    let warnings = fleet.warnings(&decision);
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains(APPLIED_PLACEMENT) && warning.contains("not a valid placement")),
        "{warnings:?}"
    );
    assert!(fleet.writes(&decision).is_empty(), "the note is left as it is");
}

#[test]
fn chosen_clusters_are_told_although_nothing_makes_karmada_decide() {
    let mut fleet = fleet(&[|_| {}, |_| {}]);
    let mut binding = binding_value(&aggregated(), 3, "a3");
    binding["metadata"]["annotations"] = json!({APPLIED_PLACEMENT: aggregated().to_string()});
    let left_alone = decided(&mut fleet, &binding);
    let nothing = "nothing makes Karmada decide again";
    assert!(fleet.message(&left_alone).contains(nothing));
    assert_eq!(fleet.not_picked(&left_alone, 1, None).0, "NotLookedAt");
    let (demand, chosen) = (key(), ["b".to_owned()]);
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: Some(&chosen),
    };
    let decision = fleet.decide(&ask).expect("it is there").expect("b has room");
    assert_eq!(decision.solved.picked, [1]);
    let message = fleet.message(&decision);
    assert!(!message.contains(nothing), "{message}");
    assert_eq!(fleet.not_picked(&decision, 0, None).0, "NotChosen");
}

#[test]
fn a_cluster_that_reports_no_resources_gets_nothing_that_is_divided_by_room() {
    let mut fleet = fleet(&[|_| {}, |value| value["status"]["resourceSummary"] = Value::Null]);
    let decision = decided(&mut fleet, &binding_value(&aggregated(), 12, ""));
    assert_eq!(decision.reason, "NotEnoughRoom");
    let told = crate::words::bound(&decision, 1, 2);
    assert_eq!(
        told.as_deref(),
        Some("the cluster has not reported its resources")
    );
    let message = fleet.message(&decision);
    assert!(
        message.contains("12 replicas are wanted, and there is room for 10"),
        "{message}"
    );
}

#[test]
fn a_partial_list_of_apis_refuses_what_it_does_not_have_and_keeps_what_is_there() {
    let partial: fn(&mut Value) = |value| {
        value["status"]["apiEnablements"] = json!([{"groupVersion": "apps/v1", "resources": []}, {}]);
    };
    let mut fleet = fleet(&[
        |_| {},
        partial,
        |value| value["status"]["apiEnablements"] = json!([]),
        partial,
    ]);
    let decision = decided(&mut fleet, &binding_value(&json!({}), 1, "d1"));
    let picked: Vec<Ix> = decision.solved.picked.clone();
    assert_eq!(picked, [3, 0], "d has it already");
    let told = |candidate: Ix| {
        let rejection = decision.solved.rejections_of(candidate)[0];
        fleet.token(rejection.plugin, rejection.reason)
    };
    assert_eq!((told(1), told(2)), ("ApiNotServed", "NoApisReported"));
}

#[test]
fn amounts_beyond_what_karmada_counts_with_leave_the_object_out() {
    let mut fleet = fleet(&[|_| {}]);
    for (field, value) in [
        ("replicas", json!(2_147_483_648_i64)),
        ("replicas", json!(-2_147_483_649_i64)),
        ("clusters", json!([{"name": "a", "replicas": 3_000_000_000_i64}])),
    ] {
        let mut binding = binding_value(&aggregated(), 1, "");
        binding["spec"][field] = value;
        fold(&mut fleet, &key(), &binding);
        let problem = fleet.problem(&key()).expect("it is left out");
        assert!(
            problem.contains("web-deployment is left out") && problem.contains("i32"),
            "{problem}"
        );
        assert!(fleet.demands().is_empty());
    }
}

#[test]
fn clusters_with_more_room_than_can_be_counted_do_not_overflow() {
    let vast: fn(&mut Value) = |value| {
        value["status"]["resourceSummary"]["allocatable"]["pods"] = "9223372036854775807".into();
    };
    let mut fleet = fleet(&[vast, vast, vast]);
    let decision = decided(&mut fleet, &binding_value(&aggregated(), 2_147_483_647, ""));
    assert_eq!(decision.outcome, Outcome::Scheduled);
    assert_eq!(decision.amounts.iter().sum::<i64>(), 2_147_483_647);
}
