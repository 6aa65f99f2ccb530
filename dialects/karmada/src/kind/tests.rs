//! Policies that Karmada's webhooks refuse.

use berth_apimachinery::Timestamp;
use berth_apimachinery::kind::{Via, Write};
use serde_json::{Value, json};

use super::*;

/// The fields that are refused of a policy with `spec`.
fn refused(spec: &Value) -> Vec<String> {
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "team"}, "spec": spec,
    });
    let kinds = all();
    let kind = kinds.iter().find(|kind| kind.info().kind == "PropagationPolicy");
    let write = Write {
        via: Via::Create,
        old: None,
        now: Timestamp::UNIX_EPOCH,
    };
    let errors = kind.expect("it is served").validate(&write, &policy);
    errors.iter().map(|error| error.path.clone()).collect()
}

fn placed(placement: Value) -> Vec<String> {
    refused(
        &json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "placement": placement}),
    )
}

#[test]
fn what_contradicts_itself_is_refused_at_its_field() {
    let group = |name: &str| json!({"affinityName": name});
    let by = |field: &str, least: i64, most: i64| json!({"spreadByField": field, "minGroups": least, "maxGroups": most});
    for (placement, field) in [
        (
            json!({"clusterAffinity": {}, "clusterAffinities": [group("g")]}),
            "spec.placement.clusterAffinities",
        ),
        (
            json!({"clusterAffinities": [group("g"), group("g")]}),
            "spec.placement.clusterAffinities[1].affinityName",
        ),
        (
            json!({"clusterAffinities": [group("not a key")]}),
            "spec.placement.clusterAffinities[0].affinityName",
        ),
        (
            json!({"spreadConstraints": [by("region", 1, 2)]}),
            "spec.placement.spreadConstraints",
        ),
        (
            json!({"spreadConstraints": [by("cluster", 3, 2)]}),
            "spec.placement.spreadConstraints[0].maxGroups",
        ),
        (
            json!({"spreadConstraints": [by("cluster", -1, 2)]}),
            "spec.placement.spreadConstraints[0].minGroups",
        ),
        (
            json!({"spreadConstraints": [by("cluster", 1, 2), by("cluster", 1, 1)]}),
            "spec.placement.spreadConstraints[1].spreadByField",
        ),
        (
            json!({"clusterTolerations": [{"key": "k", "operator": "Gt", "value": "1"}]}),
            "spec.placement.clusterTolerations[0].operator",
        ),
        (
            json!({"clusterAffinity": {"fieldSelector": {"matchExpressions": [
                {"key": "country", "operator": "In", "values": ["de"]}]}}}),
            "spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].key",
        ),
    ] {
        assert_eq!(placed(placement.clone()), [field], "{placement}");
    }
    assert!(placed(json!({"spreadConstraints": [by("region", 1, 2), by("cluster", 1, 0)]})).is_empty());
}

#[test]
fn overflow_is_for_what_counts_room_and_for_groups_that_leave_some_out() {
    let placement = |division: &str, own: Value| {
        let mut group = own;
        group["affinityName"] = "g".into();
        group["overflowAffinities"] = json!([{"affinityName": "o"}]);
        json!({
            "clusterAffinities": [group],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": division},
        })
    };
    let names = json!({"clusterNames": ["a"]});
    assert!(placed(placement("Aggregated", names.clone())).is_empty());
    let path = ["spec.placement.clusterAffinities[0].overflowAffinities"];
    assert_eq!(placed(placement("Weighted", names)), path);
    assert_eq!(placed(placement("Aggregated", json!({}))), path);
}

#[test]
fn a_policy_selects_in_its_own_namespace_and_takes_only_what_it_names() {
    let selector = |fields: Value| {
        let mut selector = fields;
        selector["apiVersion"] = "apps/v1".into();
        selector["kind"] = "Deployment".into();
        json!({"resourceSelectors": [selector]})
    };
    assert_eq!(
        refused(&selector(json!({"namespace": "other"}))),
        ["spec.resourceSelectors[0].namespace"]
    );
    let mut taking = selector(json!({}));
    taking["preemption"] = "Always".into();
    assert_eq!(refused(&taking), ["spec.resourceSelectors[0].name"]);
}

#[test]
fn the_names_of_clusters_are_short() {
    let kinds = all();
    let cluster = kinds
        .iter()
        .find(|kind| kind.info().kind == "Cluster")
        .expect("it is served");
    assert!(cluster.validate_name(&"a".repeat(48)).is_ok());
    assert!(cluster.validate_name(&"a".repeat(49)).is_err());
}

#[test]
fn every_list_is_replaced_as_a_whole_as_by_karmadas_definitions() {
    fn lists(schema: &Value, found: &mut Vec<Value>) {
        if schema["type"] == "array" {
            found.push(schema["x-kubernetes-list-type"].clone());
        }
        schema
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(_, field)| lists(field, found));
    }
    for kind in all() {
        let mut found = Vec::new();
        let own = &kind.schema(kind.info().storage_version).openapi()["properties"]["spec"];
        lists(own, &mut found);
        assert!(
            found.iter().all(|how| how == "atomic"),
            "{}: {found:?}",
            kind.info().kind
        );
    }
}

#[test]
fn every_schema_is_one() {
    for kind in all().into_iter().chain(further()) {
        let schema = kind.schema(kind.info().storage_version);
        assert!(schema.openapi()["properties"].is_object(), "{}", kind.info().kind);
    }
}
