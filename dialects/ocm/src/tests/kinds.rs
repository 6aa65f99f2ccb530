//! Schemas, defaults, rules and columns of the kinds.

use berth_apimachinery::{Cell, Kind, Object, Revision, Write, WriteOperation};
use serde_json::{Value, json};

use super::world::{LimitedList, cluster, limited_lists, now, scores, wants};
use crate::kind;

fn kind(name: &str) -> std::sync::Arc<dyn Kind> {
    kind::all()
        .into_iter()
        .chain(kind::further())
        .find(|kind| kind.info().kind == name)
        .unwrap()
}

/// The object that results from a write through the API server's steps, or all errors.
fn write(operation: WriteOperation, old: Option<&Value>, value: &Value) -> Result<Value, Vec<String>> {
    let kind = kind(value["kind"].as_str().unwrap());
    let version = value["apiVersion"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    let schema = kind.schema(&version);
    let mut value = value.clone();
    let unknown = schema.unknown_fields(&value);
    schema.default(&mut value);
    let write = Write {
        operation,
        old,
        now: now(),
    };
    kind.prepare(&write, &mut value);
    let mut errors: Vec<String> = unknown
        .iter()
        .map(|path| format!("unknown field {path}"))
        .collect();
    errors.extend(schema.validate(&value).iter().map(ToString::to_string));
    errors.extend(kind.validate(&write, &value).iter().map(ToString::to_string));
    errors.extend(kind.own_rules(&write, &value).iter().map(ToString::to_string));
    if errors.is_empty() { Ok(value) } else { Err(errors) }
}

fn create(value: &Value) -> Result<Value, Vec<String>> {
    write(WriteOperation::Create, None, value)
}

fn refused(value: &Value) -> Vec<String> {
    create(value).expect_err(&value.to_string())
}

#[test]
fn every_example_passes_every_step() {
    for file in [
        include_str!("../../../../examples/ocm/fleet.yaml"),
        include_str!("../../../../examples/ocm/story-1.yaml"),
        include_str!("../../../../examples/ocm/story-2.yaml"),
        include_str!("../../../../examples/ocm/story-3.yaml"),
        include_str!("../../../../examples/ocm/story-4.yaml"),
    ] {
        let documents: Vec<Value> = serde_saphyr::from_multiple(file).unwrap();
        for document in documents
            .iter()
            .filter(|document| super::world::key_of(document).is_some())
        {
            create(document).unwrap_or_else(|errors| panic!("{document}: {errors:?}"));
        }
    }
}

#[test]
fn a_full_placement_passes_and_gets_its_defaults() {
    let spec = json!({
        "clusterSets": ["a"], "numberOfClusters": 3,
        "predicates": [{"requiredClusterSelector": {
            "labelSelector": {"matchLabels": {"a": "b"}},
            "claimSelector": {"matchExpressions": [{"key": "platform.open-cluster-management.io", "operator": "Exists"}]},
            "celSelector": {"celExpressions": ["managedCluster.metadata.name == 'a'"]},
        }}],
        "prioritizerPolicy": {"configurations": [
            {"scoreCoordinate": {"builtIn": "Balance"}},
            {"scoreCoordinate": {"type": "BuildIn", "buildIn": "Steady"}, "weight": -10},
            {"name": "ResourceAllocatableCPU", "weight": 2},
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}},
        ]},
        "tolerations": [{"key": "gpu", "value": "x", "effect": "NoSelect", "tolerationSeconds": 300}],
        "spreadPolicy": {"spreadConstraints": [{"topologyKey": "zone", "topologyKeyType": "Label"}]},
        "decisionStrategy": {"groupStrategy": {"decisionGroups": [
            {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}},
        ]}},
    });
    let stored = create(&wants("p", &spec)).unwrap();
    let read = |path: &str| {
        stored
            .pointer(&format!("/spec{path}"))
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(read("/prioritizerPolicy/mode"), "Additive");
    assert_eq!(
        read("/prioritizerPolicy/configurations/0"),
        json!({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}, "weight": 1})
    );
    // The stored values keep their form.
    assert_eq!(
        read("/prioritizerPolicy/configurations/1/scoreCoordinate"),
        json!({"type": "BuildIn", "buildIn": "Steady"})
    );
    assert_eq!(
        read("/prioritizerPolicy/configurations/2"),
        json!({"name": "ResourceAllocatableCPU", "weight": 2})
    );
    assert_eq!(read("/tolerations/0/operator"), "Equal");
    assert_eq!(
        read("/decisionStrategy/groupStrategy/clustersPerDecisionGroup"),
        "100%"
    );
    assert_eq!(read("/spreadPolicy/spreadConstraints/0/maxSkew"), 1);
    assert_eq!(read("/sortBy"), "ClusterName");
    let mut old_version = wants("p", &spec);
    old_version["apiVersion"] = json!("cluster.open-cluster-management.io/v1alpha1");
    assert_eq!(create(&old_version).unwrap()["spec"], stored["spec"]);
}

#[test]
fn a_bad_placement_is_refused_with_every_error_at_its_field() {
    for (spec, expected) in [
        (
            json!({"numberOfClusters": -1}),
            "spec.numberOfClusters: Invalid value: -1",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"name": "Steady", "weight": 11}]}}),
            "weight: Invalid value: 11",
        ),
        (
            json!({"prioritizerPolicy": {"mode": "Most"}}),
            "spec.prioritizerPolicy.mode: Unsupported value: \"Most\"",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{}]}}),
            "configurations[0].scoreCoordinate: Required value",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"name": "Spread"}]}}),
            "configurations[0].name: Unsupported value: \"Spread\"",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"name": "Steady"}, {"scoreCoordinate": {"builtIn": "Steady"}}]}}),
            "spec.prioritizerPolicy.configurations[1]: Duplicate value: \"Steady\"",
        ),
        (
            json!({"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"type": "AddOn"}}]}}),
            "scoreCoordinate.addOn: Required value",
        ),
        (
            json!({"prioritizerPolicy": {"prioritizer": []}}),
            "unknown field spec.prioritizerPolicy.prioritizer",
        ),
        (
            json!({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}),
            "spec.tolerations[0].value: Invalid value: \"b\": must be empty when operator is Exists",
        ),
        (
            json!({"tolerations": [{"operator": "Equal"}]}),
            "spec.tolerations[0].operator: Invalid value: \"Equal\": must be Exists when key is empty",
        ),
        (
            json!({"tolerations": [{"key": "a", "operator": "Near"}]}),
            "spec.tolerations[0].operator: Unsupported value: \"Near\"",
        ),
        (
            json!({"tolerations": [{"key": "a", "effect": "NoSchedule"}]}),
            "spec.tolerations[0].effect: Unsupported value: \"NoSchedule\"",
        ),
        (
            json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "0%"}}}),
            "spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup: Invalid value: \"0%\"",
        ),
        (
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": [{"groupName": "-x"}]}}}),
            "groupName: Invalid value: \"-x\"",
        ),
        (
            json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": [{"groupName": "canary"}]}}}),
            "decisionGroups[0].groupClusterSelector: Required value",
        ),
        (
            json!({"tolerations": [{"key": "bad key!", "operator": "Exists"}]}),
            "spec.tolerations[0].key: Invalid value: \"bad key!\"",
        ),
        (
            json!({"spreadPolicy": {"spreadConstraints": [{"topologyKey": "bad key!", "topologyKeyType": "Label"}]}}),
            "spreadConstraints[0].topologyKey: Invalid value: \"bad key!\"",
        ),
        (
            json!({"scoreRateLimit": "1h30m"}),
            "spec.scoreRateLimit: Invalid value: \"1h30m\"",
        ),
    ] {
        let errors = refused(&wants("p", &spec));
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{spec}: {errors:?}"
        );
    }
    let long = "x".repeat(64);
    assert!(
        kind("Placement")
            .validate_name(&long)
            .unwrap_err()
            .to_string()
            .contains("63")
    );
}

#[test]
fn a_list_is_at_most_as_long_as_its_limit_unless_it_is_stored_longer() {
    for LimitedList { path, max, spec } in limited_lists() {
        let placement = |count: usize, number: u32| {
            let mut value = wants("p", &spec(count));
            value["spec"]["numberOfClusters"] = json!(number);
            value
        };
        let (fits, longer) = (placement(max, 1), placement(max + 1, 1));
        let refusal = [format!(
            "{path}: Too many: {}: must have at most {max} items",
            max + 1
        )];
        assert_eq!(create(&fits).err(), None);
        assert_eq!(refused(&longer), refusal);
        assert_eq!(
            write(WriteOperation::Update, Some(&fits), &longer).unwrap_err(),
            refusal
        );
        let changed = write(WriteOperation::Update, Some(&longer), &placement(max + 1, 2));
        assert_eq!(changed.err(), None, "{path}");
    }
}

#[test]
fn what_open_cluster_management_requires_is_required() {
    let mut placement = wants("p", &json!({}));
    placement.as_object_mut().unwrap().remove("spec");
    assert_eq!(refused(&placement), ["spec: Required value"]);
    let decision = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": "d", "namespace": "ns"}, "status": {},
    });
    assert_eq!(refused(&decision), ["status.decisions: Required value"]);
    let mut odd = cluster("a");
    odd["status"] = json!({"conditions": [{
        "type": "not a type", "status": "True", "reason": "not a reason", "message": "", "lastTransitionTime": "2021-10-28T08:00:00Z",
    }]});
    let errors = refused(&odd);
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn a_bad_group_size_is_told_once() {
    for size in [
        json!("0%"),
        json!("0"),
        json!("x"),
        json!("9".repeat(30)),
        json!(0),
        json!(-1),
        json!(true),
    ] {
        let spec = json!({"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": size}}});
        let errors = refused(&wants("p", &spec));
        assert_eq!(errors.len(), 1, "{size}: {errors:?}");
        assert!(
            errors[0].starts_with("spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup: "),
            "{errors:?}"
        );
    }
}

#[test]
fn the_api_server_of_a_cluster_has_an_https_url() {
    let cluster = |url: &str| {
        let mut cluster = cluster("c1");
        cluster["spec"]["managedClusterClientConfigs"] = json!([{"url": "https://a.example"}, {"url": url}]);
        cluster
    };
    for good in [
        "https://a",
        "https://a.example:6443/path?x=1",
        "https://[fd00::1]:6443",
        "https://10.0.0.1",
    ] {
        assert!(create(&cluster(good)).is_ok(), "{good}");
    }
    for bad in [
        "",
        "a.example",
        "http://a.example",
        "https://",
        "https://:6443",
        "https://a:port",
        "https://a b",
        "https://[fd00::1",
        "https://me@a",
    ] {
        let errors = refused(&cluster(bad));
        assert_eq!(
            errors,
            [format!(
                "spec.managedClusterClientConfigs[1].url: Invalid value: \"{bad}\": must be an absolute https URL, such \
                 as https://cluster1.example.com:6443"
            )]
        );
    }
}

#[test]
fn the_name_of_a_cluster_is_the_name_of_a_namespace() {
    let named = |name: &str| {
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name}, "spec": {"hubAcceptsClient": true},
        })
    };
    assert!(create(&named("cluster-1")).is_ok());
    for bad in ["a.b", &"x".repeat(64)] {
        let problems = refused(&named(bad));
        assert!(
            problems[0].starts_with("metadata.name: Invalid value")
                && problems[0].ends_with("the namespace of the cluster on the hub has the same name"),
            "{problems:?}"
        );
    }
    assert!(kind("ManagedCluster").validate_name("A").is_err());
}

#[test]
fn scores_are_bounded_and_unique() {
    let item = |value: Value| scores("a", &value, &Value::Null);
    assert!(create(&item(json!([{"name": "x", "value": -100}, {"name": "y"}]))).is_ok());
    for (list, expected) in [
        (
            json!([{"name": "x", "value": 101}]),
            "status.scores[0].value: Invalid value: 101",
        ),
        (json!([{"value": 1}]), "status.scores[0].name: Required value"),
        (
            json!([{"prioritizer": "memratio", "value": 77}]),
            "unknown field status.scores[0].prioritizer",
        ),
        (
            json!([{"name": "x"}, {"name": "x"}]),
            "status.scores[1]: Duplicate value",
        ),
    ] {
        let errors = refused(&item(list.clone()));
        assert!(
            errors.iter().any(|error| error.contains(expected)),
            "{list}: {errors:?}"
        );
        assert!(
            errors.iter().filter(|error| error.contains("Duplicate")).count() < 2,
            "{errors:?}"
        );
    }
}

#[test]
fn taints_get_their_time_from_the_server() {
    let tainted = |taints: Value| {
        let mut value = cluster("a");
        value["spec"]["taints"] = taints;
        value
    };
    let earlier = "2021-10-28T08:00:00Z";
    let stored = create(&tainted(
        json!([{"key": "k", "effect": "NoSelect", "timeAdded": earlier}]),
    ))
    .unwrap();
    assert_eq!(
        stored["spec"]["taints"][0]["timeAdded"],
        berth_apimachinery::time::rfc3339(now())
    );
    let old = tainted(json!([{"key": "k", "effect": "NoSelect", "timeAdded": earlier}]));
    let update = |taints: Value| write(WriteOperation::Update, Some(&old), &tainted(taints));
    let kept =
        update(json!([{"key": "k", "effect": "NoSelect"}, {"key": "n", "effect": "NoSelect"}])).unwrap();
    assert_eq!(kept["spec"]["taints"][0]["timeAdded"], earlier);
    assert_eq!(
        kept["spec"]["taints"][1]["timeAdded"],
        berth_apimachinery::time::rfc3339(now())
    );
    assert!(update(json!([{"key": "k", "effect": "NoSelect", "timeAdded": earlier}])).is_ok());
    for bad in [
        json!([{"key": "k", "effect": "NoSelect", "timeAdded": "2021-10-28T08:30:00Z"}]),
        json!([{"key": "k", "effect": "NoSelectIfNew", "timeAdded": earlier}]),
        json!([{"key": "n", "effect": "NoSelect", "timeAdded": earlier}]),
    ] {
        let errors = update(bad.clone()).unwrap_err();
        assert!(
            errors[0].starts_with("spec.taints[0].timeAdded: Invalid value"),
            "{bad}: {errors:?}"
        );
    }
    let errors = refused(&tainted(json!([{"key": "a b", "effect": "NoSchedule"}])));
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn clusters_sets_and_bindings_follow_their_rules() {
    let mut plain = cluster("a");
    plain["metadata"].as_object_mut().unwrap().remove("labels");
    plain["spec"] = json!({});
    let stored = create(&plain).unwrap();
    assert_eq!(
        stored["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"],
        "default"
    );
    assert_eq!(
        stored["spec"],
        json!({"hubAcceptsClient": false, "leaseDurationSeconds": 60})
    );
    let set = |spec: Value| {
        let mut value = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": "s"},
        });
        if !spec.is_null() {
            value["spec"] = spec;
        }
        value
    };
    let exclusive = json!({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}});
    assert_eq!(create(&set(Value::Null)).unwrap()["spec"], exclusive);
    assert_eq!(create(&set(json!({}))).unwrap()["spec"], exclusive);
    let bad = set(
        json!({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a b": ""}}}}),
    );
    assert!(refused(&bad)[0].starts_with("spec.clusterSelector.labelSelector.matchLabels"));
    assert!(create(&super::world::binding("ns", "s")).is_ok());
    let mut other = super::world::binding("ns", "s");
    other["spec"]["clusterSet"] = json!("t");
    assert_eq!(
        refused(&other),
        [
            "spec.clusterSet: Invalid value: \"t\": must equal metadata.name \"s\": a binding has the name of its set"
        ]
    );
    other["spec"] = json!({});
    assert_eq!(refused(&other), ["spec.clusterSet: Required value"]);
}

#[test]
fn rows_show_what_the_system_shows() {
    let mut value = cluster("a");
    value["spec"]["managedClusterClientConfigs"] = json!([{"url": "https://a:6443"}]);
    value["status"] = json!({"conditions": [
        {"type": "ManagedClusterJoined", "status": "True"},
        {"type": "ManagedClusterConditionAvailable", "status": "Unknown"},
    ]});
    let row = |value: &Value| {
        let kind = kind(value["kind"].as_str().unwrap());
        let row = kind.row(&Object::new(value, Revision(1)).unwrap());
        assert_eq!(row.len(), kind.columns().len());
        row.into_iter()
            .map(|cell| {
                if let Cell::Value(value) = cell {
                    value
                } else {
                    Value::Null
                }
            })
            .collect::<Value>()
    };
    assert_eq!(
        row(&value),
        json!(["a", true, "https://a:6443", "True", "Unknown", null])
    );
    let mut placement = wants("p", &json!({}));
    assert_eq!(row(&placement), json!(["p", "", "", null]), "as a hub shows it");
    placement["status"] = json!({
        "numberOfSelectedClusters": 3,
        "conditions": [{"type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled"}],
    });
    assert_eq!(row(&placement), json!(["p", "True", "AllDecisionsScheduled", 3]));
}

#[test]
fn every_kind_explains_every_field() {
    fn undocumented(schema: &Value, path: &str, found: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if field["description"].as_str().unwrap_or_default().is_empty() && field["$ref"].is_null() {
                found.push(path.clone());
            }
            undocumented(field, &path, found);
            undocumented(&field["items"], &path, found);
        }
    }
    for kind in kind::all() {
        let mut found = Vec::new();
        for version in kind.info().versions {
            let schema = kind.schema(version).openapi();
            undocumented(schema, kind.info().kind, &mut found);
        }
        found.retain(|path| !path.ends_with(".metadata"));
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn a_claim_of_a_managed_cluster_is_taken_as_its_definition_takes_it() {
    let claim = |spec: Value| {
        json!({"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "ClusterClaim",
            "metadata": {"name": "id.k8s.io"}, "spec": spec})
    };
    for taken in [json!({"value": "a"}), json!({})] {
        create(&claim(taken)).unwrap();
    }
    assert_eq!(
        refused(&claim(json!({"value": ""}))),
        ["spec.value: Invalid value: \"\": spec.value in body should be at least 1 chars long"]
    );
    assert!(refused(&claim(json!({"value": "a".repeat(1025)})))[0].starts_with("spec.value: Too long"));
    assert_eq!(
        refused(&claim(json!({"valeu": "a"}))),
        ["unknown field spec.valeu"]
    );
}
