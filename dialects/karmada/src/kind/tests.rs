//! Policies that Karmada's webhooks refuse.

use berth_apimachinery::{Timestamp, Write, WriteOperation};
use serde_json::{Value, json};

use super::*;

/// A policy with `spec`.
fn policy(spec: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "team"}, "spec": spec,
    })
}

/// The fields for which `new`, of the kind `kind`, is refused. It replaces `old`, if that is given.
fn judged(kind: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let kinds = all();
    let kind = kinds.iter().find(|known| known.info().kind == kind);
    let write = Write {
        operation: old.map_or(WriteOperation::Create, |_| WriteOperation::Update),
        old,
        now: Timestamp::UNIX_EPOCH,
    };
    let errors = kind.expect("it is served").validate(&write, new);
    errors.iter().map(|error| error.path.clone()).collect()
}

/// The refused fields of a policy with `spec`.
fn refused(spec: &Value) -> Vec<String> {
    judged("PropagationPolicy", None, &policy(spec))
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
fn what_karmadas_webhooks_fill_in_is_filled_in() {
    let kinds = all();
    let kind = kinds
        .iter()
        .find(|known| known.info().kind == "PropagationPolicy");
    let kind = kind.expect("it is served");
    let stored = |placement: Value| {
        let mut value = policy(&spec(&json!({"placement": placement})));
        let write = Write {
            operation: WriteOperation::Create,
            old: None,
            now: Timestamp::UNIX_EPOCH,
        };
        kind.schema(kind.info().storage_version).default(&mut value);
        kind.prepare(&write, &mut value);
        assert!(kind.validate(&write, &value).is_empty(), "{value}");
        value["spec"]["placement"].take()
    };
    let divided = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}});
    for (sent, expected) in [
        (json!({}), json!({})),
        (json!({"replicaScheduling": {}}), divided.clone()),
        (
            json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}}),
            divided,
        ),
        (
            json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}),
            json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}),
        ),
        (
            json!({"spreadConstraints": [{"maxGroups": 2}]}),
            json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}]}),
        ),
        (
            json!({"spreadConstraints": [{"spreadByLabel": "rack", "minGroups": 0, "maxGroups": 2}]}),
            json!({"spreadConstraints": [{"spreadByLabel": "rack", "minGroups": 1, "maxGroups": 2}]}),
        ),
    ] {
        assert_eq!(stored(sent.clone()), expected, "{sent}");
    }
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
fn a_label_selector_that_cannot_be_read_is_refused_when_it_is_written() {
    let kinds = all();
    let kind = kinds
        .iter()
        .find(|known| known.info().kind == "PropagationPolicy");
    let kind = kind.expect("it is served");
    let selecting = |selector: Value| {
        let mut selector = selector;
        selector["apiVersion"] = "apps/v1".into();
        selector["kind"] = "Deployment".into();
        policy(&json!({"resourceSelectors": [selector], "placement": {}}))
    };
    let own_errors = |old: Option<&Value>, new: &Value| -> Vec<String> {
        let write = Write {
            operation: old.map_or(WriteOperation::Create, |_| WriteOperation::Update),
            old,
            now: Timestamp::UNIX_EPOCH,
        };
        let errors = kind.own_rules(&write, new);
        errors.iter().map(|error| error.path.clone()).collect()
    };
    let labels = json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]});
    let invalid = selecting(json!({"labelSelector": labels}));
    let valid = selecting(json!({"labelSelector": {"matchLabels": {"app": "web"}}}));
    let path = "spec.resourceSelectors[0].labelSelector.matchExpressions[0].operator";
    assert_eq!(own_errors(None, &invalid), [path]);
    assert_eq!(own_errors(Some(&valid), &invalid), [path]);
    assert!(own_errors(None, &valid).is_empty());
    assert!(own_errors(Some(&invalid), &invalid).is_empty(), "nothing changes");
    let named = selecting(json!({"name": "web", "labelSelector": labels}));
    assert!(own_errors(None, &named).is_empty(), "the labels have no effect");
}

#[test]
fn of_groups_of_clusters_and_what_flows_over_every_name_is_another() {
    let placement = json!({
        "clusterAffinities": [{"affinityName": "g", "clusterNames": ["a"], "overflowAffinities": [
            {"affinityName": "g"}, {"affinityName": "o"}, {"affinityName": "o"}, {"affinityName": "not a key"}]}],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    });
    let at = |index: usize| {
        format!("spec.placement.clusterAffinities[0].overflowAffinities[{index}].affinityName")
    };
    assert_eq!(placed(placement), [at(0), at(2), at(3)]);
}

#[test]
fn a_constraint_is_by_a_field_or_by_a_label_and_an_operator_is_one_of_two() {
    let both = json!({"spreadConstraints": [
        {"spreadByField": "cluster", "spreadByLabel": "zone", "minGroups": 1, "maxGroups": -1}]});
    assert_eq!(
        placed(both),
        [
            "spec.placement.spreadConstraints[0].spreadByLabel",
            "spec.placement.spreadConstraints[0].maxGroups"
        ]
    );
    let operator = json!({"clusterAffinity": {"fieldSelector": {"matchExpressions": [
        {"key": "region", "operator": "Exists"}]}}});
    assert_eq!(
        placed(operator),
        ["spec.placement.clusterAffinity.fieldSelector.matchExpressions[0].operator"]
    );
    let less = json!({"clusterTolerations": [{"key": "k", "operator": "Lt", "value": "1"}]});
    assert_eq!(placed(less), ["spec.placement.clusterTolerations[0].operator"]);
}

#[test]
fn workloads_are_grouped_by_labels_and_not_together_and_apart_by_one() {
    let by = |together: &str, apart: &str| {
        json!({"workloadAffinity": {
            "affinity": {"groupByLabelKey": together}, "antiAffinity": {"groupByLabelKey": apart}}})
    };
    let at = |part: &str| format!("spec.placement.workloadAffinity.{part}.groupByLabelKey");
    assert!(placed(by("a", "b")).is_empty());
    assert_eq!(placed(by("not a key", "b")), [at("affinity")]);
    assert_eq!(placed(by("a", "")), [at("antiAffinity")]);
    assert_eq!(placed(by("a", "a")), [at("antiAffinity")]);
}

/// A policy's spec with these fields in addition to its selector.
fn spec(parts: &Value) -> Value {
    let mut spec = parts.clone();
    spec["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
    spec
}

#[test]
fn an_application_fails_over_with_what_it_depends_on_and_waits_only_gracefully() {
    let application = |application: Value| {
        refused(&spec(
            &json!({"propagateDeps": true, "failover": {"application": application}}),
        ))
    };
    let at = "spec.failover.application";
    assert!(application(json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 600})).is_empty());
    assert!(application(json!({"purgeMode": "Directly"})).is_empty());
    assert_eq!(
        application(json!({"decisionConditions": {"tolerationSeconds": -1}})),
        [format!("{at}.decisionConditions.tolerationSeconds")]
    );
    for wrong in [
        json!({"purgeMode": "Gracefully", "gracePeriodSeconds": 0}),
        json!({"purgeMode": "Never", "gracePeriodSeconds": 5}),
    ] {
        assert_eq!(
            application(wrong.clone()),
            [format!("{at}.gracePeriodSeconds")],
            "{wrong}"
        );
    }
    let alone = refused(&spec(&json!({"failover": {"application": {}}})));
    assert_eq!(alone, ["spec.propagateDeps"]);
}

#[test]
fn what_is_suspended_everywhere_names_no_clusters() {
    let suspended = |everywhere: bool| {
        let suspension = json!({"dispatching": everywhere, "dispatchingOnClusters": {"clusterNames": ["a"]}});
        refused(&spec(&json!({"suspension": suspension})))
    };
    assert_eq!(suspended(true), ["spec.suspension.dispatchingOnClusters"]);
    assert!(suspended(false).is_empty());
}

#[test]
fn a_policy_keeps_its_scheduler_and_the_id_it_claims_by() {
    let plain = policy(&spec(&json!({})));
    let mut other = plain.clone();
    other["spec"]["schedulerName"] = "default-scheduler".into();
    let update = |old: &Value, new: &Value| judged("PropagationPolicy", Some(old), new);
    assert!(update(&plain, &other).is_empty(), "it is the one that none names");
    other["spec"]["schedulerName"] = "berth".into();
    assert_eq!(update(&plain, &other), ["spec.schedulerName"]);
    let id = "propagationpolicy.karmada.io/permanent-id";
    let mut claiming = plain.clone();
    claiming["metadata"]["labels"] = json!({id: "1"});
    assert!(update(&plain, &claiming).is_empty(), "it is given later");
    let at = [format!("metadata.labels[{id}]")];
    assert_eq!(update(&claiming, &plain), at);
    let mut changed = claiming.clone();
    changed["metadata"]["labels"] = json!({id: "2"});
    assert_eq!(update(&claiming, &changed), at);
}

#[test]
fn a_cluster_has_one_sort_of_zones_and_taints_that_differ() {
    let refused = |spec: Value| {
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": spec,
        });
        judged("Cluster", None, &cluster)
    };
    assert_eq!(
        refused(json!({"syncMode": "Push", "zone": "a", "zones": ["b"]})),
        ["spec.zones"]
    );
    let taint = |effect: &str| json!({"key": "k", "effect": effect});
    assert_eq!(
        refused(json!({"syncMode": "Push", "taints": [
            taint("NoSchedule"), taint("NoExecute"), taint("NoSchedule"), taint("PreferNoSchedule")]})),
        ["spec.taints[2]", "spec.taints[3].effect"]
    );
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
