//! Bindings that a change makes due, objects that cannot be parsed, and drains.

use berth_apimachinery::{Change, Key, Revision, Timestamp};
use berth_dialect_contract::{Advisor as _, AffectedDemands, Consequences, Edit, Inventory};
use serde_json::{Value, json};

use super::*;
use crate::fleet::policies::ImplicitPriority;
use crate::names::{BINDINGS, CLUSTERS, PROPAGATION_POLICIES, QUOTAS};
use crate::template::TemplateKind;
use crate::testing::{binding_value, cluster_value, object};

fn key() -> Key {
    Key::new(BINDINGS, "team", "web-deployment")
}

/// Folds `value` in, over an existing object.
fn fold(fleet: &mut Fleet, key: &Key, value: &Value) -> Consequences {
    Inventory::fold(fleet, &Change::added(key.clone(), object(value)))
}

fn fleet(placement: &Value) -> Fleet {
    let mut fleet = Fleet::default();
    fold(&mut fleet, &Key::new(CLUSTERS, "", "a"), &cluster_value("a", 10));
    fold(&mut fleet, &key(), &binding_value(placement, 3, ""));
    fleet
}

fn due(fleet: &mut Fleet, change: impl FnOnce(&mut Value)) -> bool {
    let mut value = cluster_value("a", 10);
    change(&mut value);
    fold(fleet, &Key::new(CLUSTERS, "", "a"), &value).decide == AffectedDemands::Some(vec![key()])
}

#[test]
fn labels_and_spec_of_a_cluster_make_due_and_what_it_reports_does_not() {
    let fleet = || fleet(&json!({}));
    assert!(!due(&mut fleet(), |_| {}));
    assert!(!due(&mut fleet(), |value| {
        value["status"]["resourceSummary"]["allocatable"]["pods"] = "3".into();
    }));
    assert!(due(&mut fleet(), |value| value["metadata"]["labels"] =
        json!({"env": "dev"})));
    assert!(due(&mut fleet(), |value| value["spec"]["region"] = "eu".into()));
    assert!(due(&mut fleet(), |value| {
        value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    }));
}

#[test]
fn only_bindings_whose_affinity_matches_are_due() {
    let labelled = |value: &mut Value| value["metadata"]["labels"] = json!({"env": "dev"});
    let mut elsewhere = fleet(&json!({"clusterAffinity": {"clusterNames": ["b"]}}));
    assert!(!due(&mut elsewhere, labelled));
    let groups = json!({"clusterAffinities": [
        {"affinityName": "g1", "clusterNames": ["b"]}, {"affinityName": "g2", "clusterNames": ["a"]},
    ]});
    assert!(
        !due(&mut fleet(&groups), labelled),
        "the first group is looked at"
    );
}

#[test]
fn a_cluster_that_is_new_or_gone_makes_nothing_due() {
    let mut fleet = fleet(&json!({}));
    let place = Key::new(CLUSTERS, "", "b");
    assert_eq!(
        fold(&mut fleet, &place, &cluster_value("b", 1)).decide,
        AffectedDemands::None
    );
    let gone = Change {
        revision: Revision(2),
        key: place,
        old: Some(object(&cluster_value("b", 1))),
        new: None,
    };
    assert_eq!(Inventory::fold(&mut fleet, &gone).decide, AffectedDemands::None);
}

#[test]
fn clusters_that_others_take_away_make_due_and_those_that_are_as_decided_do_not() {
    let divided = json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    let mut fleet = fleet(&divided);
    let mut decided = binding_value(&divided, 3, "a3");
    decided["metadata"]["annotations"] = json!({"policy.karmada.io/applied-placement": divided.to_string()});
    assert_eq!(fold(&mut fleet, &key(), &decided).decide, AffectedDemands::None);
    let mut lowered = decided.clone();
    lowered["spec"]["clusters"][0]["replicas"] = 1.into();
    assert_eq!(
        fold(&mut fleet, &key(), &lowered).decide,
        AffectedDemands::Some(vec![key()])
    );
}

#[test]
fn what_cannot_be_read_is_left_out_with_the_reason() {
    let mut fleet = Fleet::default();
    let mut binding = binding_value(&json!({}), 3, "");
    binding["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "much"}});
    fold(&mut fleet, &key(), &binding);
    let problem = Inventory::problem(&fleet, &key()).expect("it is left out");
    assert!(
        problem.contains("spec.replicaRequirements.resourceRequest[cpu]"),
        "{problem}"
    );
    assert!(Inventory::demands(&fleet).is_empty());
    binding["spec"]["replicas"] = json!(3_000_000_000_i64);
    fold(&mut fleet, &key(), &binding);
    assert!(Inventory::problem(&fleet, &key()).is_some(), "beyond 32 bits");
}

#[test]
fn a_drained_cluster_has_the_taint_of_a_cordoned_one_once() {
    let cordon = json!({"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"});
    let other = json!({"key": "cluster.karmada.io/unschedulable", "effect": "NoExecute"});
    for (taints, expected) in [
        (json!([]), json!([cordon])),
        (json!([cordon]), json!([cordon])),
        (json!([other]), json!([other, cordon])),
    ] {
        let mut fleet = Fleet::default();
        let mut value = cluster_value("a", 10);
        value["spec"]["taints"] = taints.clone();
        fold(&mut fleet, &Key::new(CLUSTERS, "", "a"), &value);
        let edits = fleet.drain("a", Timestamp::UNIX_EPOCH).expect("it is there");
        let Some(Edit::Merge { patch, .. }) = edits.first() else {
            panic!("{edits:?}");
        };
        assert_eq!(patch["spec"]["taints"], expected, "{taints}");
    }
}

#[test]
fn a_policy_with_an_invalid_label_selector_is_in_force_and_selects_by_its_other_selectors() {
    let mut fleet = Fleet::default();
    let policy_key = Key::new(PROPAGATION_POLICIES, "team", "p");
    let selector = |fields: Value| {
        let mut selector = fields;
        selector["apiVersion"] = "apps/v1".into();
        selector["kind"] = "Deployment".into();
        selector
    };
    let policy = |labels: Value| {
        json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "p", "namespace": "team", "uid": "id-p"},
            "spec": {"placement": {}, "resourceSelectors": [
                selector(json!({"labelSelector": {"matchLabels": labels}})), selector(json!({"name": "web"})),
            ]},
        })
    };
    let kind = TemplateKind::named("apps/v1", "Deployment").expect("it is a template");
    let priority = |fleet: &Fleet, name: &str| {
        let template = object(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "team", "labels": {"app": name}},
        }));
        let policy = fleet.policies.get(&policy_key).expect("it is in force");
        policy.implicit_priority(kind, &template)
    };

    fold(&mut fleet, &policy_key, &policy(json!({"no key": "api"})));
    assert_eq!(fleet.problem(&policy_key), None);
    assert_eq!(priority(&fleet, "api"), None);
    assert_eq!(priority(&fleet, "web"), Some(ImplicitPriority::Name));

    fold(&mut fleet, &policy_key, &policy(json!({"app": "api"})));
    assert_eq!(fleet.problem(&policy_key), None);
    assert_eq!(priority(&fleet, "api"), Some(ImplicitPriority::Labels));
}

#[test]
fn a_write_has_few_fences_however_many_clusters_and_quotas_its_decision_counts() {
    let mut fleet = Fleet::default();
    fleet.settings.counts_recent_loads = true;
    fleet.settings.enforces_quotas = true;
    let names: Vec<String> = (0..1_000).map(|number| format!("cluster-{number}")).collect();
    let of_all = fleet.room_fences(names.iter().map(String::as_str));
    assert_eq!(of_all.len(), 64);
    for name in &names {
        let of_one = fleet.room_fences(std::iter::once(name.as_str()));
        assert!(
            of_one.len() == 1 && of_all.contains(&of_one[0]),
            "{name}: {of_one:?}"
        );
    }
    assert_eq!(fleet.quota_fence(&key()), None);
    for name in ["one", "two"] {
        let quota = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
            "metadata": {"name": name, "namespace": "team"}, "spec": {"overall": {"cpu": "10"}},
        });
        fold(&mut fleet, &Key::new(QUOTAS, "team", name), &quota);
    }
    let fence = fleet.quota_fence(&key());
    assert_eq!(fence.as_deref(), Some("karmada/federatedresourcequotas/team"));
}
