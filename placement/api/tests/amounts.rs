//! Amounts of systems that divide one: on the wire, and in the cells of tables.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use berth_apimachinery::{Cell, Draft, Kind};
use berth_scheduling_api::decision::{self, Decision};
use berth_scheduling_api::record::{self, DecisionRecord};
use berth_scheduling_api::shared::Manifest;
use berth_scheduling_api::{API_VERSION, VirtualKind, published};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An object of `kind`, which fits its schema and is the same when it was read into `T` and written again.
fn object<T: Serialize + DeserializeOwned>(kind: &VirtualKind, body: &Value) -> Value {
    let mut object = json!({
        "apiVersion": API_VERSION, "kind": kind.info().kind, "metadata": {"namespace": "team", "name": "web.system"},
    });
    let fields = object.as_object_mut().unwrap();
    fields.extend(body.as_object().unwrap().clone());
    let schema = kind.schema("v1alpha1");
    assert_eq!(schema.validate(&object), []);
    assert_eq!(schema.unknown_fields(&object), [""; 0]);
    let read: Manifest<T> = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), object);
    object
}

/// The cell below `heading` in the row of `object`.
fn cell(kind: &VirtualKind, object: &Value, heading: &str) -> Cell {
    let object = Draft::new(object).unwrap().unstored();
    let column = kind.columns().iter().position(|column| column.name == heading);
    kind.row(&object).remove(column.unwrap())
}

fn source() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Request", "namespace": "team", "name": "web"})
}

#[test]
fn a_decision_holds_the_amounts_of_its_clusters_and_those_that_it_would_have() {
    let kind = decision::namespaced();
    let decision = object::<Decision>(
        &kind,
        &json!({
            "spec": {"dialect": "system", "sourceRef": source()},
            "status": {
                "phase": "Bound",
                "amount": {"name": "replicas", "wanted": 9, "placed": 9},
                "decisions": [
                    {"clusterName": "eu-1", "reason": "", "amount": 6},
                    {"clusterName": "eu-2", "reason": "", "amount": 3},
                ],
                "wouldChange": {
                    "verdict": "Resized", "message": "Berth would resize eu-1 (6 to 4)",
                    "losses": [], "lossCount": 0, "gains": [], "gainCount": 0,
                    "resizes": [{"clusterName": "eu-1", "from": 6, "to": 4}], "resizeCount": 1,
                },
            },
        }),
    );
    assert_eq!(cell(&kind, &decision, "Clusters"), "eu-1:6,eu-2:3".into());
}

#[test]
fn a_cluster_that_is_published_is_shown_without_its_amount_which_is_a_text_there() {
    let kind = published::kind();
    let cluster = json!({"clusterName": "eu-1", "amount": "6"});
    let published = json!({
        "apiVersion": API_VERSION, "kind": "PublishedDecision", "metadata": {"namespace": "argocd", "name": "web"},
        "status": {"decisions": [cluster]},
    });
    assert_eq!(cell(&kind, &published, "Clusters"), "eu-1".into());
}

#[test]
fn a_record_shows_the_clusters_that_stay_with_another_amount() {
    let kind = record::namespaced();
    let side = |clusters: Value| json!({"phase": "Bound", "clusterCount": 2, "clusters": clusters});
    let record = object::<DecisionRecord>(
        &kind,
        &json!({"spec": {
            "decision": "web.system", "dialect": "system", "sourceRef": source(), "at": "2026-11-23T10:14:03.000000Z",
            "change": "Moved",
            "from": side(json!([
                {"clusterName": "a", "amount": 6}, {"clusterName": "b", "amount": 3}, {"clusterName": "c", "amount": 1},
                {"clusterName": "d", "amount": 2, "leaving": true},
            ])),
            "to": side(json!([
                {"clusterName": "a", "amount": 4}, {"clusterName": "b", "amount": 3}, {"clusterName": "d", "amount": 3},
            ])),
            "clusters": [{"clusterName": "d", "change": "Joined"}, {"clusterName": "c", "change": "Left"}],
            "joinedCount": 1, "leftCount": 1, "reasons": [], "counted": false,
            "cause": {"type": "Time"}, "actor": {},
        }}),
    );
    assert_eq!(cell(&kind, &record, "Clusters"), "+d -c ~a:4".into());
}
