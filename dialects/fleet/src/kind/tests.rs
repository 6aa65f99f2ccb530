//! The kinds: schemas, defaults, rules on updates, columns.

use berth_apimachinery::{Cell, Kind, Object, Revision, Write, WriteOperation};
use serde_json::{Value, json};

use super::member_cluster::MemberClusterKind;
use super::{binding, placement as placements, snapshot};

const NOW: &str = "2021-10-28T09:00:00Z";

/// All errors of `new`, which replaces `old`, as a server reports them.
fn errors(kind: &dyn Kind, old: Option<&Value>, mut new: Value) -> Vec<String> {
    let schema = kind.schema("v1beta1");
    schema.default(&mut new);
    let write = Write {
        operation: if old.is_some() {
            WriteOperation::Update
        } else {
            WriteOperation::Create
        },
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
        Cell::Age(at) => at.map(berth_apimachinery::time::rfc3339).unwrap_or_default(),
    };
    row.into_iter().map(text).collect()
}

#[test]
fn defaults_are_those_of_the_system() {
    let mut value = placement(&json!({
        "topologySpreadConstraints": [{"topologyKey": "region"}], "tolerations": [{"key": "a"}],
    }));
    placements::CLUSTER_SCOPED.schema("v1beta1").default(&mut value);
    assert_eq!(value["spec"]["revisionHistoryLimit"], 10);
    assert_eq!(value["spec"]["statusReportingScope"], "ClusterScopeOnly");
    assert_eq!(
        value["spec"]["policy"],
        json!({
            "placementType": "PickAll", "tolerations": [{"key": "a", "operator": "Equal"}],
            "topologySpreadConstraints": [{"topologyKey": "region", "maxSkew": 1}],
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
    let change = |policy: &Value| errors(&placements::CLUSTER_SCOPED, Some(&old), placement(policy));
    assert!(change(&json!({"placementType": "PickAll", "tolerations": [{"key": "b"}, {"key": "a", "operator": "Exists"}]})).is_empty());
    assert_eq!(
        change(&json!({"placementType": "PickFixed"})),
        [
            "spec.policy.placementType: Invalid value: \"PickFixed\": field is immutable: it is PickAll",
            "spec.policy.tolerations: Forbidden: tolerations may only be added: {\"key\":\"a\",\"operator\":\"Exists\"} was changed or \
             removed",
        ]
    );
    assert_eq!(
        change(&Value::Null),
        ["spec.policy: Forbidden: may not be removed once it is set"]
    );
}

#[test]
fn no_policy_is_pick_all_and_stays_pick_all() {
    let change = |policy: &Value| {
        errors(
            &placements::CLUSTER_SCOPED,
            Some(&placement(&Value::Null)),
            placement(policy),
        )
    };
    assert!(change(&json!({"placementType": "PickAll", "tolerations": [{"operator": "Exists"}]})).is_empty());
    for policy in [
        json!({"placementType": "PickN", "numberOfClusters": 1}),
        json!({"placementType": "PickFixed", "clusterNames": ["a"]}),
    ] {
        let found = change(&policy);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            found[0].contains("field is immutable: it is PickAll, since without a policy"),
            "{found:#?}"
        );
    }
}

#[test]
fn fields_of_another_type_are_refused_even_where_they_are_empty() {
    let refused = |policy: Value| -> Vec<String> {
        let found = errors(&placements::CLUSTER_SCOPED, None, placement(&policy));
        let field = |error: String| error.split(':').next().unwrap_or_default().to_owned();
        found.into_iter().map(field).collect()
    };
    for (policy, fields) in [
        (json!({"clusterNames": []}), vec!["spec.policy.clusterNames"]),
        (
            json!({"topologySpreadConstraints": [], "numberOfClusters": 1}),
            vec![
                "spec.policy.numberOfClusters",
                "spec.policy.topologySpreadConstraints",
            ],
        ),
        (
            json!({"placementType": "PickFixed", "tolerations": []}),
            vec!["spec.policy.tolerations"],
        ),
        (
            json!({"placementType": "PickFixed", "affinity": {}}),
            vec!["spec.policy.affinity"],
        ),
        (json!({"placementType": "PickFixed"}), vec![]),
        (
            json!({"placementType": "PickN", "numberOfClusters": 1, "clusterNames": [], "affinity": {}, "tolerations": []}),
            vec![],
        ),
    ] {
        assert_eq!(refused(policy.clone()), fields, "{policy}");
    }
}

#[test]
fn topology_spread_constraints_are_at_most_a_hundred_unless_more_are_stored() {
    let constrained = |count: usize, number: u32| {
        let constraints = vec![json!({"topologyKey": "zone", "maxSkew": 1}); count];
        placement(&json!({
            "placementType": "PickN", "numberOfClusters": number, "topologySpreadConstraints": constraints,
        }))
    };
    let kind = &placements::CLUSTER_SCOPED;
    let refused = ["spec.policy.topologySpreadConstraints: Too many: 101: must have at most 100 items"];
    assert_eq!(errors(kind, None, constrained(100, 1)), [""; 0]);
    assert_eq!(errors(kind, None, constrained(101, 1)), refused);
    let fewer = constrained(100, 1);
    assert_eq!(errors(kind, Some(&fewer), constrained(101, 1)), refused);
    let stored = constrained(101, 1);
    assert_eq!(errors(kind, Some(&stored), constrained(101, 2)), [""; 0]);
}

#[test]
fn property_ranges_are_refused_where_no_value_is_left_and_not_for_a_hole() {
    let bounds = |bounds: &[(&str, &str)]| {
        let expressions = bounds.iter().map(|(operator, value)| {
            json!({"name": "kubernetes.azure.com/vm-sizes/Standard_D2s/count", "operator": operator, "values": [value]})
        });
        let expressions: Vec<Value> = expressions.collect();
        let terms = json!([{"propertySelector": {"matchExpressions": expressions}}]);
        let required =
            json!({"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}});
        let policy = json!({"affinity": {"clusterAffinity": required}});
        errors(&placements::CLUSTER_SCOPED, None, placement(&policy))
    };
    for allowed in [
        &[("Ge", "5"), ("Le", "5"), ("Ne", "5")][..],
        &[("Eq", "1"), ("Eq", "1000m")],
    ] {
        assert_eq!(bounds(allowed), Vec::<String>::new());
    }
    for refused in [
        &[("Gt", "5"), ("Le", "5")][..],
        &[("Eq", "5"), ("Ne", "5")],
        &[("Eq", "5"), ("Eq", "6")],
        &[("Eq", "5"), ("Lt", "5")],
    ] {
        assert_eq!(bounds(refused).len(), 1, "{refused:?}");
    }
}

fn selecting(selectors: Value, scope: &str) -> Value {
    let mut value = placement(&Value::Null);
    value["spec"]["resourceSelectors"] = selectors;
    value["spec"]["statusReportingScope"] = scope.into();
    value
}

#[test]
fn a_namespace_of_which_parts_are_selected_is_the_only_one_and_named() {
    let namespace = |name: &str, scope: &str| {
        let mut selector =
            json!({"group": "", "version": "v1", "kind": "Namespace", "selectionScope": scope});
        if !name.is_empty() {
            selector["name"] = name.into();
        }
        selector
    };
    let quota = json!({"group": "", "version": "v1", "kind": "ResourceQuota", "name": "q"});
    let refused = |selectors: &[Value]| {
        let selectors = selectors.to_vec().into();
        errors(
            &placements::CLUSTER_SCOPED,
            None,
            selecting(selectors, "ClusterScopeOnly"),
        )
    };
    let parts = "NamespaceWithResourceSelectors";
    assert_eq!(
        refused(&[namespace("app", parts), quota.clone()]),
        Vec::<String>::new()
    );
    assert_eq!(
        refused(&[namespace("", parts), quota]),
        [
            "spec.resourceSelectors[0].name: Required value: must be specified when selectionScope is \
          NamespaceWithResourceSelectors"
        ]
    );
    let two = refused(&[namespace("a", parts), namespace("b", "NamespaceOnly")]);
    assert!(
        matches!(two.as_slice(), [error] if error.starts_with("spec.resourceSelectors[0].selectionScope: Forbidden")),
        "{two:#?}"
    );
}

#[test]
fn a_status_that_a_namespace_shows_needs_one_namespace_and_stays_there() {
    let namespace = |name: &str| json!({"group": "", "version": "v1", "kind": "Namespace", "name": name});
    let one = selecting(json!([namespace("a")]), "NamespaceAccessible");
    assert_eq!(
        errors(&placements::CLUSTER_SCOPED, None, one.clone()),
        Vec::<String>::new()
    );
    let two = selecting(json!([namespace("a"), namespace("b")]), "NamespaceAccessible");
    let found = errors(&placements::CLUSTER_SCOPED, None, two);
    assert!(
        matches!(found.as_slice(), [error] if error.starts_with("spec.statusReportingScope: Forbidden") && error.ends_with("there are 2")),
        "{found:#?}"
    );
    let moved = selecting(json!([namespace("a")]), "ClusterScopeOnly");
    assert_eq!(
        errors(&placements::CLUSTER_SCOPED, Some(&one), moved),
        [
            "spec.statusReportingScope: Invalid value: \"ClusterScopeOnly\": field is immutable: it is NamespaceAccessible"
        ]
    );
}

#[test]
fn a_strategy_has_the_settings_of_its_type() {
    let with = |strategy: Value| {
        let mut value = placement(&Value::Null);
        value["spec"]["strategy"] = strategy;
        value
    };
    let external = with(json!({"type": "External"}));
    assert_eq!(
        errors(&placements::CLUSTER_SCOPED, None, external.clone()),
        Vec::<String>::new()
    );
    let back = errors(
        &placements::CLUSTER_SCOPED,
        Some(&external),
        with(json!({"type": "RollingUpdate"})),
    );
    assert!(
        matches!(back.as_slice(), [error] if error.starts_with("spec.strategy.type: Forbidden")),
        "{back:#?}"
    );
    let bad = errors(
        &placements::CLUSTER_SCOPED,
        None,
        with(json!({
            "type": "External",
            "rollingUpdate": {"maxSurge": "200%", "unavailablePeriodSeconds": -1},
            "applyStrategy": {"comparisonOption": "fullComparison", "serverSideApplyConfig": {"force": true}},
        })),
    );
    for path in [
        "spec.strategy.rollingUpdate: Forbidden",
        "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"200%\"",
        "spec.strategy.rollingUpdate.unavailablePeriodSeconds: Invalid value: -1",
        "spec.strategy.applyStrategy.comparisonOption: Unsupported value: \"fullComparison\"",
        "spec.strategy.applyStrategy.serverSideApplyConfig: Forbidden",
    ] {
        assert!(
            bad.iter().any(|error| error.starts_with(path)),
            "{path} is not in {bad:#?}"
        );
    }
}

#[test]
fn a_snapshot_without_its_number_is_as_an_older_hub_left_it() {
    let snapshot = json!({
        "metadata": {"name": "p-0", "annotations": {"kubernetes-fleet.io/number-of-clusters": "2"}},
        "spec": {"policyHash": "AAAA", "policy": {"placementType": "PickN"}},
    });
    assert_eq!(
        errors(&snapshot::CLUSTER_SCOPED.kind(), None, snapshot),
        Vec::<String>::new()
    );
}

#[test]
fn members_may_have_taints_of_one_key_and_properties_that_are_no_quantities() {
    let cluster = json!({
        "metadata": {"name": "c"},
        "spec": {"identity": {"kind": "User", "name": "x"}, "taints": [
            {"key": "team", "value": "a", "effect": "NoSchedule"}, {"key": "team", "value": "b", "effect": "NoSchedule"},
        ]},
        "status": {"properties": {
            "kubernetes.azure.com/vm-sizes/Standard_D2s/count": {"value": "3", "observationTime": NOW},
            "k8s.io/cluster-entrypoint": {"value": "https://10.0.0.1:6443", "observationTime": NOW},
        }},
    });
    assert_eq!(errors(&MemberClusterKind, None, cluster), Vec::<String>::new());
}

/// The fields of `value` that are unknown to the schema of `kind`.
fn unknown(kind: &dyn Kind, value: &Value) -> Vec<String> {
    kind.schema("v1beta1").unknown_fields(value)
}

#[test]
fn what_a_hub_exports_is_known_field_by_field() {
    let condition = |r#type: &str| json!({"type": r#type, "status": "True", "reason": "Said", "message": "ok", "lastTransitionTime": NOW});
    let resource = json!({
        "group": "apps", "version": "v1", "kind": "Deployment", "name": "web", "namespace": "shop",
        "envelope": {"name": "e", "namespace": "shop", "type": "ResourceEnvelope"},
    });
    let beside = |more: Value| {
        let mut all = resource.clone();
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let patch = json!([{"path": "/spec/replicas", "valueInMember": "1", "valueInHub": "2"}]);
    let failed = json!([beside(json!({"condition": condition("Applied")}))]);
    let drifted = json!([beside(json!({
        "observationTime": NOW, "firstDriftedObservedTime": NOW, "targetClusterObservedGeneration": 1,
        "observedDrifts": patch.clone(),
    }))]);
    let diffed = json!([beside(json!({
        "observationTime": NOW, "firstDiffedObservedTime": NOW, "targetClusterObservedGeneration": 1,
        "observedDiffs": patch,
    }))]);
    let apply = json!({
        "comparisonOption": "FullComparison", "whenToApply": "IfNotDrifted", "type": "ServerSideApply",
        "allowCoOwnership": true, "serverSideApplyConfig": {"force": true}, "whenToTakeOver": "Never",
    });
    let mut exported = placement(&json!({"placementType": "PickAll"}));
    exported["spec"]["strategy"] = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1, "unavailablePeriodSeconds": 60},
        "applyStrategy": apply.clone(),
        "deleteStrategy": {"propagationPolicy": "Abandon"},
        "reportBackStrategy": {"type": "Mirror", "destination": "WorkAPI"},
    });
    exported["status"] = json!({
        "observedResourceIndex": "0",
        "selectedResources": [resource.clone()],
        "conditions": [condition("ClusterResourcePlacementScheduled")],
        "placementStatuses": [{
            "clusterName": "m1", "observedResourceIndex": "0", "conditions": [condition("Scheduled")],
            "applicableResourceOverrides": [{"name": "o-0", "namespace": "shop"}],
            "applicableClusterResourceOverrides": ["o-0"],
            "failedPlacements": failed.clone(), "driftedPlacements": drifted.clone(), "diffedPlacements": diffed.clone(),
        }],
    });
    assert_eq!(
        unknown(&placements::CLUSTER_SCOPED, &exported),
        Vec::<String>::new()
    );
    assert_eq!(
        errors(&placements::CLUSTER_SCOPED, None, exported),
        Vec::<String>::new()
    );
    let binding = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
        "metadata": {"name": "p-m1-0"},
        "spec": {
            "state": "Bound", "resourceSnapshotName": "p-0-snapshot", "schedulingPolicySnapshotName": "p-0",
            "targetCluster": "m1", "clusterDecision": {"clusterName": "m1", "selected": true, "reason": "picked"},
            "resourceOverrideSnapshots": [{"name": "o-0", "namespace": "shop"}],
            "clusterResourceOverrideSnapshots": ["o-0"],
            "applyStrategy": apply, "deleteStrategy": {"propagationPolicy": "Delete"},
        },
        "status": {
            "conditions": [condition("Applied")],
            "failedPlacements": failed, "driftedPlacements": drifted, "diffedPlacements": diffed,
        },
    });
    assert_eq!(unknown(&binding::CLUSTER_SCOPED, &binding), Vec::<String>::new());
    assert_eq!(
        errors(&binding::CLUSTER_SCOPED, None, binding),
        Vec::<String>::new()
    );
}

#[test]
fn schemas_refuse_what_is_out_of_range() {
    let bad = errors(
        &placements::CLUSTER_SCOPED,
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
    assert!(
        errors(&placements::CLUSTER_SCOPED, None, none)[0]
            .starts_with("spec.resourceSelectors: Invalid value")
    );
    let cluster = json!({"metadata": {"name": "c"}, "spec": {"heartbeatPeriodSeconds": 601, "taints": [
        {"key": "a", "value": "x", "effect": "NoSchedule"}, {"key": "a", "value": "x", "effect": "NoSchedule"}, {"key": "b b", "effect": "NoExecute"}]}});
    let bad = errors(&MemberClusterKind, None, cluster);
    for path in [
        "spec.identity: Required value",
        "spec.heartbeatPeriodSeconds: Invalid value: 601",
        "spec.taints[1]: Duplicate value: \"a=x:NoSchedule\"",
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
    for kind in [&placements::CLUSTER_SCOPED as &dyn Kind, &MemberClusterKind] {
        assert!(kind.validate_name(&long[1..]).is_ok());
        assert!(
            kind.validate_name(&long)
                .unwrap_err()
                .to_string()
                .contains("no more than 63 characters")
        );
    }
    assert!(binding::CLUSTER_SCOPED.validate_name("a.b").is_err());
}

#[test]
fn columns_are_those_of_the_system() {
    let mut value = placement(&json!({"placementType": "PickN", "numberOfClusters": 1}));
    value["metadata"]["generation"] = 3.into();
    value["metadata"]["creationTimestamp"] = NOW.into();
    value["status"] = json!({"conditions": [{"type": "ClusterResourcePlacementScheduled", "status": "True", "observedGeneration": 2}]});
    assert_eq!(
        texts(&placements::CLUSTER_SCOPED, &value),
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
    assert_eq!(
        texts(&binding::CLUSTER_SCOPED, &binding),
        ["b", "", "True", "", ""]
    );
    assert_eq!(
        errors(
            &binding::CLUSTER_SCOPED,
            None,
            json!({"metadata": {"name": "b"}, "spec": {"targetCluster": ""}})
        )
        .len(),
        5
    );
    let snapshot = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterSchedulingPolicySnapshot",
        "metadata": {"name": "p-0", "generation": 1}, "spec": {"policyHash": ""},
    });
    assert_eq!(
        texts(&snapshot::CLUSTER_SCOPED.kind(), &snapshot),
        ["p-0", "1", ""]
    );
}

#[test]
fn a_resource_placement_shows_its_status_to_its_namespace_whatever_its_scope_says() {
    let with = |scope: &str| {
        let mut value = placement(&json!({"placementType": "PickAll"}));
        value["kind"] = "ResourcePlacement".into();
        value["metadata"]["namespace"] = "team".into();
        value["spec"]["resourceSelectors"][0]["kind"] = "ConfigMap".into();
        value["spec"]["statusReportingScope"] = scope.into();
        value
    };
    let (accessible, hub) = (with("NamespaceAccessible"), with("ClusterScopeOnly"));
    let kind = &placements::NAMESPACED;
    assert_eq!(errors(kind, None, accessible.clone()), Vec::<String>::new());
    assert_eq!(errors(kind, Some(&accessible), hub), Vec::<String>::new());
    assert!(!errors(&placements::CLUSTER_SCOPED, None, accessible).is_empty());
}

#[test]
fn the_columns_of_a_resource_placement_read_its_own_conditions() {
    let status = json!({"conditions": [
        {"type": "ResourcePlacementScheduled", "status": "True", "observedGeneration": 3},
        {"type": "ClusterResourcePlacementScheduled", "status": "Unknown", "observedGeneration": 9},
    ]});
    let value = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ResourcePlacement",
        "metadata": {"name": "p", "namespace": "team", "generation": 3}, "status": status,
    });
    let row = texts(&placements::NAMESPACED, &value);
    assert_eq!((row[3].as_str(), row[4].as_str()), ("True", "3"), "{row:?}");
}

#[test]
fn namespaced_kinds_have_the_versions_and_short_names_of_kubefleet() {
    let kinds: [(&dyn Kind, &str, &[&str]); 3] = [
        (&placements::NAMESPACED, "rp", &["v1", "v1beta1"]),
        (&snapshot::NAMESPACED.kind(), "sps", &["v1beta1"]),
        (&binding::NAMESPACED, "rb", &["v1beta1"]),
    ];
    for (kind, short, versions) in kinds {
        let info = kind.info();
        assert!(info.namespaced() && info.status_subresource, "{}", info.kind);
        assert_eq!((info.short_names, info.versions), (&[short][..], versions));
        assert_eq!(info.storage_version, "v1beta1");
    }
}

#[test]
fn a_member_cluster_has_its_name_as_a_label() {
    let write = Write {
        operation: WriteOperation::Create,
        old: None,
        now: NOW.parse().unwrap(),
    };
    for labels in [
        Value::Null,
        json!({"kubernetes-fleet.io/member-name": "other", "a": "b"}),
    ] {
        let mut value = json!({"metadata": {"name": "east", "labels": labels}});
        MemberClusterKind.prepare(&write, &mut value);
        assert_eq!(
            value["metadata"]["labels"]["kubernetes-fleet.io/member-name"],
            "east"
        );
    }
}
