//! Properties of every decision, tested with generated control planes.
//!
//! Decisions from scratch are not tested. They depend on the present clusters, so that a decision that is
//! interrupted between its writes continues from another state, as in Karmada.

use std::sync::Arc;

use berth_dialect_contract::Dialect;
use berth_dialect_testing::properties::{Case, Generator, Later};
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: &str = "2021-10-28T09:00:00Z";
const CLUSTERS: &str = "cluster.karmada.io/v1alpha1";
const BINDINGS: &str = "work.karmada.io/v1alpha2";

struct Planes;

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    let mut value = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if kind == "ResourceBinding" {
        value["metadata"]["namespace"] = "team".into();
    }
    value
}

/// A cluster with the index `index`, which fits some templates and not others.
fn cluster(index: usize) -> BoxedStrategy<Value> {
    let one = |values: &'static [&'static str]| prop::sample::select(values);
    (
        prop::option::weighted(0.8, one(&["prod", "dev"])),
        one(&["eu", "us", ""]),
        prop::option::weighted(0.2, one(&["NoSchedule", "NoExecute"])),
        0_i64..15,
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.2),
    )
        .prop_map(move |(env, region, taint, pods, serves, is_modelled)| {
            let mut value = named(CLUSTERS, "Cluster", &format!("c{index}"));
            if let Some(env) = env {
                value["metadata"]["labels"] = json!({"env": env});
            }
            value["metadata"]["generation"] = 1.into();
            value["spec"] = json!({"syncMode": "Push", "region": region});
            value["spec"]["taints"] = match taint {
                Some(effect) => json!([{"key": "gpu", "effect": effect}]),
                None => json!([]),
            };
            let kind = if serves { "Deployment" } else { "DaemonSet" };
            value["status"] = json!({
                "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "any", "kind": kind}]}],
                "resourceSummary": {"allocatable": {"pods": pods.to_string(), "cpu": "4"}},
            });
            if is_modelled {
                value["spec"]["resourceModels"] =
                    json!([{"grade": 1, "ranges": [{"name": "cpu", "min": "1", "max": "2"}]}]);
                value["status"]["resourceSummary"]["allocatableModelings"] =
                    json!([{"grade": 1, "count": 3}]);
            }
            value
        })
        .boxed()
}

fn affinity() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"labelSelector": {"matchLabels": {"env": "prod"}}}),
        json!({"clusterNames": ["c0", "c1", "c2", "c9"]}),
        json!({"exclude": ["c1"], "fieldSelector": {"matchExpressions": [
            {"key": "region", "operator": "In", "values": ["eu"]}]}}),
    ])
}

fn scheduling() -> impl Strategy<Value = Value> {
    let divided = |preference: &str| json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference});
    let weighted = |weights: Value| {
        let mut weighted = divided("Weighted");
        weighted["weightPreference"] = weights;
        weighted
    };
    prop::sample::select(vec![
        json!({"replicaSchedulingType": "Duplicated"}),
        divided("Aggregated"),
        divided("Aggregated"),
        weighted(json!({"dynamicWeight": "AvailableReplicas"})),
        weighted(
            json!({"staticWeightList": [{"targetCluster": {"clusterNames": ["c1"]}, "weight": 2},
                                             {"targetCluster": {}, "weight": 1}]}),
        ),
    ])
}

/// A placement with one or several groups of clusters.
fn placement() -> impl Strategy<Value = Value> {
    (
        scheduling(),
        prop::collection::vec(affinity(), 1..4),
        prop::bool::ANY,
        prop::option::weighted(0.4, (1_i64..4, 0_i64..3)),
        prop::bool::ANY,
    )
        .prop_map(|(scheduling, affinities, in_groups, clusters, tolerates)| {
            let mut placement = json!({"replicaScheduling": scheduling});
            if in_groups {
                let groups = affinities.into_iter().enumerate().map(|(index, mut affinity)| {
                    affinity["affinityName"] = format!("g{index}").into();
                    affinity
                });
                placement["clusterAffinities"] = groups.collect::<Vec<_>>().into();
            } else {
                placement["clusterAffinity"] = affinities[0].clone();
            }
            if let Some((least, more)) = clusters {
                placement["spreadConstraints"] =
                    json!([{"spreadByField": "cluster", "minGroups": least, "maxGroups": least + more}]);
            }
            if tolerates {
                placement["clusterTolerations"] = json!([{"key": "gpu", "operator": "Exists"}]);
            }
            placement
        })
}

fn binding(name: &'static str) -> BoxedStrategy<Value> {
    (
        placement(),
        prop::sample::select(vec![0_i64, 1, 3, 7, 12, 30]),
        prop::collection::btree_map(0_usize..8, 1_i64..6, 0..3),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.7),
    )
        .prop_map(move |(placement, replicas, held, is_claimed, asks)| {
            let mut value = named(BINDINGS, "ResourceBinding", name);
            value["metadata"]["generation"] = 1.into();
            if is_claimed {
                value["metadata"]["labels"] = json!({"propagationpolicy.karmada.io/permanent-id": "p"});
            }
            value["spec"] = json!({
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team", "name": name, "uid": name},
                "replicas": replicas, "placement": placement,
            });
            if asks {
                value["spec"]["replicaRequirements"] = json!({"resourceRequest": {"cpu": "500m"}});
            }
            let targets = held.into_iter().map(|(index, replicas)| json!({"name": format!("c{index}"), "replicas": replicas}));
            let targets: Vec<Value> = targets.collect();
            if !targets.is_empty() {
                value["spec"]["clusters"] = targets.into();
            }
            value
        })
        .boxed()
}

/// An event: clusters and templates are added, changed and deleted.
fn later() -> BoxedStrategy<Later> {
    let scaled = |replicas: i64| {
        let mut value = named(BINDINGS, "ResourceBinding", "p");
        value["spec"] = json!({"replicas": replicas});
        value
    };
    prop_oneof![
        3 => (0_usize..8).prop_flat_map(cluster).prop_map(Later::Merge),
        1 => (0_usize..8).prop_map(|index| Later::Delete(named(CLUSTERS, "Cluster", &format!("c{index}")))),
        2 => (0_i64..20).prop_map(move |replicas| Later::Merge(scaled(replicas))),
        1 => Just(Later::Delete(named(BINDINGS, "ResourceBinding", "q"))),
    ]
    .boxed()
}

impl Generator for Planes {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_karmada::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        let clusters: Vec<_> = (0..8)
            .map(|index| prop::option::weighted(0.8, cluster(index)))
            .collect();
        (
            clusters,
            binding("p"),
            prop::option::of(binding("q")),
            prop::option::weighted(0.2, Just(json!({"emptyWorkloadPropagation": true}))),
            prop::collection::vec(later(), 0..5),
        )
            .prop_map(|(clusters, first, second, config, later)| {
                let mut objects: Vec<Value> = clusters.into_iter().flatten().collect();
                objects.push(first);
                objects.extend(second);
                let mut infeasible = named(CLUSTERS, "Cluster", "c9");
                infeasible["spec"] = json!({"syncMode": "Push", "region": "eu"});
                Case {
                    config,
                    infeasible: Some(infeasible),
                    later,
                    ..Case::new(NOW.parse().expect("an instant"), objects)
                }
            })
            .boxed()
    }
}

berth_dialect_testing::properties!(Planes);
