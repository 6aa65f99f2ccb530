//! Properties of every hub of clusters and every placement.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Dialect;
use berth_dialect_testing::{Case, Generator, Later};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const GROUP: &str = "cluster.open-cluster-management.io";

struct Hubs;

fn now() -> Timestamp {
    "2021-10-28T09:00:00Z".parse().expect("a time")
}

fn object(version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut value = json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": kind,
        "metadata": {"name": name, "uid": format!("uid-{kind}-{namespace}-{name}"), "generation": 1},
    });
    if !namespace.is_empty() {
        value["metadata"]["namespace"] = json!(namespace);
    }
    value
}

/// The name of a cluster. There are few names, so that hubs have clusters in common.
fn cluster_name() -> impl Strategy<Value = String> {
    (0..9u8).prop_map(|number| format!("c{number}"))
}

fn taint() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => Just(json!([])),
        1 => Just(json!([{"key": "k", "effect": "NoSelect"}])),
        1 => Just(json!([{"key": "k", "effect": "NoSelectIfNew"}])),
        1 => Just(json!([{"key": "soft", "effect": "PreferNoSelect"}])),
        // The taint is tolerated for 60 seconds, of which ten remain at `now`.
        1 => Just(json!([{"key": "ending", "effect": "NoSelect", "timeAdded": "2021-10-28T08:59:10Z"}])),
    ]
}

fn cluster() -> impl Strategy<Value = Value> {
    let resources = prop::option::of((1..64u8, 1..64u8));
    let set = select(vec!["fleet", "fleet", "fleet", "other"]);
    let leaving = prop::bool::weighted(0.1);
    (prop::option::of(0..3u8), taint(), resources, set, leaving).prop_map(
        |(env, taints, resources, set, leaving)| {
            let mut value = object("v1", "ManagedCluster", "", "");
            value["metadata"]["labels"] = json!({"cluster.open-cluster-management.io/clusterset": set});
            if let Some(env) = env {
                value["metadata"]["labels"]["env"] = json!(env.to_string());
                value["status"]["clusterClaims"] = json!([{"name": "zone", "value": format!("z{env}")}]);
            }
            value["spec"] = json!({"hubAcceptsClient": true, "taints": taints});
            if let Some((cpu, memory)) = resources {
                value["status"]["allocatable"] =
                    json!({"cpu": cpu.to_string(), "memory": format!("{memory}Gi")});
                value["status"]["capacity"] = json!({"cpu": "64"});
                if memory % 3 > 0 {
                    value["status"]["capacity"]["memory"] = json!("64Gi");
                }
            }
            if leaving {
                value["metadata"]["finalizers"] = json!(["x/y"]);
                value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:59:00Z");
            }
            value
        },
    )
}

/// Scores of one cluster: with one name, with another name, or expired.
fn scores() -> impl Strategy<Value = Value> {
    let end = prop_oneof![
        3 => Just(Value::Null),
        1 => Just(json!("2021-10-28T08:00:00Z")),
        1 => Just(json!("2021-10-28T09:00:00Z")),
        1 => Just(json!("2021-10-28T09:05:00Z")),
    ];
    (-100..=100i32, prop::bool::weighted(0.9), end).prop_map(|(value, named, end)| {
        let mut object = object("v1alpha1", "AddOnPlacementScore", "", "default");
        let name = if named { "s" } else { "another" };
        object["status"] = json!({"scores": [{"name": name, "value": value}]});
        if !end.is_null() {
            object["status"]["validUntil"] = end;
        }
        object
    })
}

/// Clusters with their scores, and decisions of other placements on them.
fn columns() -> impl Strategy<Value = Vec<Value>> {
    let member = (cluster(), prop::option::of(scores()), 0..4u8);
    prop::collection::btree_map(cluster_name(), member, 0..9).prop_map(|members| {
        let mut list = Vec::new();
        for (name, (mut cluster, scores, foreign)) in members {
            cluster["metadata"]["name"] = json!(name);
            list.push(cluster);
            if let Some(mut scores) = scores {
                scores["metadata"]["namespace"] = json!(name);
                list.push(scores);
            }
            list.extend((0..foreign).map(|number| {
                let mut decision = object(
                    "v1beta1",
                    "PlacementDecision",
                    "elsewhere",
                    &format!("f-{name}-{number}"),
                );
                decision["metadata"]["labels"] =
                    json!({"cluster.open-cluster-management.io/placement": format!("f{number}")});
                decision["status"] = json!({"decisions": [{"clusterName": name, "reason": ""}]});
                decision
            }));
        }
        list
    })
}

fn predicates() -> impl Strategy<Value = Value> {
    let one = |selector: Value| json!([{"requiredClusterSelector": selector}]);
    prop_oneof![
        5 => Just(json!([])),
        1 => Just(one(json!({"labelSelector": {"matchLabels": {"env": "1"}}}))),
        1 => Just(one(json!({"labelSelector": {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["0"]}]}}))),
        1 => Just(one(json!({"claimSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z0", "z2"]}]}}))),
        1 => Just(one(json!({"celSelector": {"celExpressions": ["managedCluster.metadata.labels['env'] != '2'"]}}))),
    ]
}

fn tolerations() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(json!([])),
        1 => Just(json!([{"operator": "Exists"}])),
        1 => Just(json!([{"key": "ending", "operator": "Exists", "tolerationSeconds": 60}])),
    ]
}

fn groups() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(json!({"clustersPerDecisionGroup": "100%"})),
        1 => Just(json!({"clustersPerDecisionGroup": "30%"})),
        1 => Just(json!({"clustersPerDecisionGroup": 2})),
        1 => Just(json!({"clustersPerDecisionGroup": 1, "decisionGroups": [
            {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"env": "0"}}}},
        ]})),
    ]
}

fn prioritizers() -> impl Strategy<Value = Value> {
    // A negative weight of Steady may flip at every decision (docs/systems/ocm.md, "Differences from
    // upstream").
    let steady = prop_oneof![9 => 0..=3i32, 1 => Just(-1)];
    let mode = select(vec!["Additive", "Exact"]);
    (mode, -3..=3i32, steady, -3..=3i32, -3..=3i32, -3..=3i32).prop_map(
        |(mode, balance, steady, cpu, memory, score)| {
            let built_in = |name: &str, weight: i32| json!({"scoreCoordinate": {"builtIn": name}, "weight": weight});
            json!({"mode": mode, "configurations": [
                built_in("Balance", balance), built_in("Steady", steady),
                built_in("ResourceAllocatableCPU", cpu), built_in("ResourceAllocatableMemory", memory),
                {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "default", "scoreName": "s"}}, "weight": score},
            ]})
        },
    )
}

fn spec() -> impl Strategy<Value = Value> {
    let wanted = prop::option::of(0..8i32);
    (wanted, predicates(), tolerations(), groups(), prioritizers()).prop_map(
        |(wanted, predicates, tolerations, groups, prioritizers)| {
            let mut spec = json!({
                "predicates": predicates, "tolerations": tolerations, "prioritizerPolicy": prioritizers,
                "decisionStrategy": {"groupStrategy": groups},
            });
            if let Some(wanted) = wanted {
                spec["numberOfClusters"] = json!(wanted);
            }
            spec
        },
    )
}

fn placement(name: &str, spec: Value, held: bool) -> Value {
    let mut value = object("v1beta1", "Placement", "ns", name);
    value["spec"] = spec;
    if held {
        value["metadata"]["finalizers"] = json!(["x/y"]);
    }
    value
}

fn placements() -> impl Strategy<Value = Vec<Value>> {
    let name = select(vec!["p", "q", "r"]);
    prop::collection::btree_map(name, (spec(), any::<bool>()), 1..3).prop_map(|placements| {
        let list = placements.into_iter();
        list.map(|(name, (spec, held))| placement(name, spec, held))
            .collect()
    })
}

fn binding(set: &str) -> Value {
    let mut value = object("v1beta2", "ManagedClusterSetBinding", "ns", set);
    value["spec"] = json!({"clusterSet": set});
    value
}

fn set(name: &str, selector: Value) -> Value {
    let mut value = object("v1beta2", "ManagedClusterSet", "", name);
    value["spec"] = json!({"clusterSelector": selector});
    value
}

/// Sets and bindings: the set `columns` is always bound, and a set by selector sometimes.
fn sets() -> impl Strategy<Value = Vec<Value>> {
    let selector = select(vec![
        json!({"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"env": "2"}}}),
        json!({"selectorType": "LabelSelector"}),
        json!({"selectorType": "ExclusiveClusterSetLabel"}),
    ]);
    prop::option::weighted(0.3, selector).prop_map(|selector| {
        let mut list = vec![
            set("fleet", json!({"selectorType": "ExclusiveClusterSetLabel"})),
            binding("fleet"),
        ];
        if let Some(selector) = selector {
            list.extend([set("other", selector), binding("other")]);
        }
        list
    })
}

fn later() -> impl Strategy<Value = Later> {
    let place = || select(vec!["p", "q", "r"]);
    prop_oneof![
        3 => (cluster_name(), cluster()).prop_map(|(name, mut cluster)| {
            cluster["metadata"]["name"] = json!(name);
            Later::Merge(cluster)
        }),
        2 => cluster_name().prop_map(|name| Later::Delete(object("v1", "ManagedCluster", "", &name))),
        2 => (cluster_name(), scores()).prop_map(|(name, mut scores)| {
            scores["metadata"]["namespace"] = json!(name);
            Later::Merge(scores)
        }),
        1 => cluster_name().prop_map(|name| Later::Delete(object("v1alpha1", "AddOnPlacementScore", &name, "default"))),
        1 => (place(), prop::option::of(0..8i32), groups()).prop_map(|(name, wanted, groups)| {
            let spec = json!({"numberOfClusters": wanted, "decisionStrategy": {"groupStrategy": groups}});
            Later::Merge(placement(name, spec, true))
        }),
        1 => place().prop_map(|name| Later::Delete(object("v1beta1", "Placement", "ns", name))),
        1 => place().prop_map(|name| Later::Delete(object("v1beta1", "PlacementDecision", "ns", &format!("{name}-decision-1")))),
        1 => Just(Later::Delete(binding("fleet"))),
        1 => Just(Later::Wait(30)),
        1 => Just(Later::Wait(600)),
    ]
}

impl Generator for Hubs {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_ocm::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        let later = prop::collection::vec(later(), 0..5);
        (sets(), columns(), placements(), later, "[a-z]{1,3}")
            .prop_map(|(sets, columns, placements, later, name)| {
                // The best and largest possible cluster, which no placement tolerates and no set contains.
                let mut refused = object("v1", "ManagedCluster", "", &name);
                refused["spec"] = json!({"taints": [{"key": "refused", "effect": "NoSelect"}]});
                refused["metadata"]["labels"] =
                    json!({"cluster.open-cluster-management.io/clusterset": "nobody"});
                refused["status"] = json!({"allocatable": {"cpu": "1000"}, "capacity": {"cpu": "1000"}});
                Case {
                    infeasible: Some(refused),
                    later,
                    ..Case::new(now(), sets.into_iter().chain(columns).chain(placements).collect())
                }
            })
            .boxed()
    }

    fn settles(&self, case: &Case) -> bool {
        let negative = |configuration: &Value| {
            configuration["scoreCoordinate"]["builtIn"] == "Steady"
                && configuration["weight"].as_i64() < Some(0)
        };
        let configurations = |object: &Value| {
            object["spec"]["prioritizerPolicy"]["configurations"]
                .as_array()
                .cloned()
        };
        !case
            .objects
            .iter()
            .filter_map(configurations)
            .flatten()
            .any(|configuration| negative(&configuration))
    }
}

berth_dialect_testing::properties!(Hubs);
