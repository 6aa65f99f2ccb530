//! The kinds: schemas, defaults, rules on updates, columns.

use meta::kind::{Cell, Via, Write};
use meta::{Kind, Object, Revision};
use serde_json::{Value, json};

use super::placement::PlacementKind;
use super::{binding::BindingKind, member_cluster::MemberClusterKind, snapshot::SnapshotKind};

const NOW: &str = "2021-10-28T09:00:00Z";

/// Everything wrong with `new`, which replaces `old`, as a server finds it.
fn errors(kind: &dyn Kind, old: Option<&Value>, mut new: Value) -> Vec<String> {
    let schema = kind.schema("v1beta1");
    schema.default(&mut new);
    let write = Write {
        via: if old.is_some() { Via::Update } else { Via::Create },
        old,
        now: NOW.parse().unwrap(),
    };
    let mut errors = schema.validate(&new);
    errors.extend(kind.validate(&write, &new));
    errors.extend(kind.own_rules(&write, &new));
    errors.iter().map(ToString::to_string).collect()
}

fn placement(policy: &Value) -> Value {
    let mut value = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1", "kind": "ClusterResourcePlacement", "metadata": {"name": "p"},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "app"}]},
    });
    if !policy.is_null() {
        value["spec"]["policy"] = policy.clone();
    }
    value
}

fn texts(kind: &dyn Kind, value: &Value) -> Vec<String> {
    let row = kind.row(&Object::new(value, Revision(1)).unwrap());
    assert_eq!(row.len(), kind.columns().len());
    let text = |cell: Cell| match cell {
        Cell::Value(Value::String(text)) => text,
        Cell::Value(other) => other.to_string(),
        Cell::Age(at) => at.map(meta::time::rfc3339).unwrap_or_default(),
    };
    row.into_iter().map(text).collect()
}

#[test]
fn defaults_are_those_of_the_system() {
    let mut value = placement(&json!({
        "topologySpreadConstraints": [{"topologyKey": "region"}], "tolerations": [{"key": "a"}],
    }));
    PlacementKind.schema("v1beta1").default(&mut value);
    assert_eq!(value["spec"]["revisionHistoryLimit"], 10);
    assert_eq!(value["spec"]["statusReportingScope"], "ClusterScopeOnly");
    assert_eq!(
        value["spec"]["policy"],
        json!({
            "placementType": "PickAll", "tolerations": [{"key": "a", "operator": "Equal"}],
            "topologySpreadConstraints": [{"topologyKey": "region", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        })
    );
    let mut cluster = json!({"spec": {"identity": {"kind": "User", "name": "x"}, "deleteOptions": {}}});
    MemberClusterKind.schema("v1beta1").default(&mut cluster);
    assert_eq!(cluster["spec"]["heartbeatPeriodSeconds"], 60);
    assert_eq!(cluster["spec"]["deleteOptions"]["validationMode"], "Strict");
}

#[test]
fn the_type_of_a_policy_stays_and_tolerations_are_only_added() {
    let old =
        placement(&json!({"placementType": "PickAll", "tolerations": [{"key": "a", "operator": "Exists"}]}));
    let change = |policy: &Value| errors(&PlacementKind, Some(&old), placement(policy));
    assert!(change(&json!({"placementType": "PickAll", "tolerations": [{"key": "b"}, {"key": "a", "operator": "Exists"}]})).is_empty());
    assert_eq!(
        change(&json!({"placementType": "PickFixed"})),
        [
            "spec.policy.placementType: Invalid value: \"PickFixed\": field is immutable: it is PickAll",
            "spec.policy.tolerations: Forbidden: may only be added to: {\"key\":\"a\",\"operator\":\"Exists\"} was changed or \
             removed",
        ]
    );
    assert_eq!(
        change(&Value::Null),
        ["spec.policy: Forbidden: may not be removed once it is set"]
    );
    assert!(
        errors(
            &PlacementKind,
            Some(&placement(&Value::Null)),
            placement(&json!({"placementType": "PickFixed"}))
        )
        .is_empty()
    );
}

#[test]
fn schemas_refuse_what_is_out_of_range() {
    let bad = errors(
        &PlacementKind,
        None,
        placement(&json!({
            "placementType": "PickSome", "numberOfClusters": -1,
            "affinity": {"clusterAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 101}]}},
            "topologySpreadConstraints": [{"maxSkew": 0}], "tolerations": [{"key": "a", "effect": "NoExecute"}],
        })),
    );
    for path in [
        "spec.policy.placementType: Unsupported value",
        "spec.policy.numberOfClusters: Invalid value: -1",
        "preferredDuringSchedulingIgnoredDuringExecution[0].preference: Required value",
        "preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101",
        "spec.policy.topologySpreadConstraints[0].topologyKey: Required value",
        "spec.policy.topologySpreadConstraints[0].maxSkew: Invalid value: 0",
        "spec.policy.tolerations[0].effect: Unsupported value",
    ] {
        assert!(
            bad.iter().any(|error| error.contains(path)),
            "{path} is not in {bad:#?}"
        );
    }
    let mut none = placement(&Value::Null);
    none["spec"]["resourceSelectors"] = json!([]);
    assert!(errors(&PlacementKind, None, none)[0].starts_with("spec.resourceSelectors: Invalid value"));
    let cluster = json!({"metadata": {"name": "c"}, "spec": {"heartbeatPeriodSeconds": 601, "taints": [
        {"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, {"key": "b b", "effect": "NoExecute"}]}});
    let bad = errors(&MemberClusterKind, None, cluster);
    for path in [
        "spec.identity: Required value",
        "spec.heartbeatPeriodSeconds: Invalid value: 601",
        "spec.taints[1]: Duplicate value: \"a:NoSchedule\"",
        "spec.taints[2].key: Invalid value: \"b b\"",
        "spec.taints[2].effect: Unsupported value",
    ] {
        assert!(
            bad.iter().any(|error| error.contains(path)),
            "{path} is not in {bad:#?}"
        );
    }
}

#[test]
fn names_fit_the_labels_that_carry_them() {
    let long = "a".repeat(64);
    for kind in [&PlacementKind as &dyn Kind, &MemberClusterKind] {
        assert!(kind.validate_name(&long[1..]).is_ok());
        assert!(
            kind.validate_name(&long)
                .unwrap_err()
                .to_string()
                .contains("no more than 63 characters")
        );
    }
    assert!(BindingKind.validate_name("a.b").is_err());
}

#[test]
fn columns_are_those_of_the_system() {
    let mut value = placement(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    value["metadata"]["generation"] = 3.into();
    value["metadata"]["creationTimestamp"] = NOW.into();
    value["status"] = json!({"conditions": [{"type": "ClusterResourcePlacementScheduled", "status": "True", "observedGeneration": 2}]});
    assert_eq!(
        texts(&PlacementKind, &value),
        ["p", "3", "PickN", "True", "2", "", "null", "", "null", NOW]
    );
    let cluster = json!({
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster", "metadata": {"name": "c"},
        "status": {
            "conditions": [{"type": "Joined", "status": "True"}],
            "properties": {"kubernetes-fleet.io/node-count": {"value": "3"}},
            "resourceUsage": {"available": {"cpu": "1500m", "memory": "2Gi"}, "allocatable": {"cpu": 4, "memory": "8Gi"}},
            "agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": NOW}],
        },
    });
    assert_eq!(
        texts(&MemberClusterKind, &cluster),
        ["c", "True", "", NOW, "3", "1500m", "2Gi", "4", "8Gi"]
    );
    let binding = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding", "metadata": {"name": "b"},
        "spec": {"targetCluster": "c"}, "status": {"conditions": [{"type": "Applied", "status": "True"}]},
    });
    assert_eq!(texts(&BindingKind, &binding), ["b", "", "True", "", ""]);
    assert_eq!(
        errors(
            &BindingKind,
            None,
            json!({"metadata": {"name": "b"}, "spec": {"targetCluster": ""}})
        )
        .len(),
        4
    );
    let snapshot = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot",
        "metadata": {"name": "p-0", "generation": 1}, "spec": {"policyHash": ""},
    });
    assert_eq!(texts(&SnapshotKind, &snapshot), ["p-0", "1", ""]);
}
