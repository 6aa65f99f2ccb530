//! Properties of every decision, tested with generated fleets.

use berth_dialect_contract::Dialect;
use berth_dialect_testing::properties::{Case, Generator, Later};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: &str = "2021-10-28T09:00:00Z";
const FRESH: &str = "2021-10-28T08:59:30Z";
const STALE: &str = "2021-10-28T08:00:00Z";

struct Fleets;

/// A cluster with the index `index`, which fits some placements and not others.
fn cluster(index: usize) -> BoxedStrategy<Value> {
    let label = |values: &'static [&'static str]| prop::option::weighted(0.8, prop::sample::select(values));
    (
        label(&["prod", "dev"]),
        label(&["a", "b", "c"]),
        prop::option::weighted(0.8, 0_u8..5),
        prop::option::weighted(0.2, prop::sample::select(&["gpu", "edge"][..])),
        0_u8..12,
    )
        .prop_map(move |(env, zone, nodes, taint, health)| {
            let mut labels = json!({});
            if let Some(env) = env {
                labels["env"] = env.into();
            }
            if let Some(zone) = zone {
                labels["zone"] = zone.into();
            }
            let mut value = member(&format!("c{index}"), &labels, health);
            if let Some(nodes) = nodes {
                value["status"]["properties"] =
                    json!({"kubernetes-fleet.io/node-count": {"value": nodes.to_string(), "observationTime": FRESH}});
            }
            if nodes == Some(3) {
                value["status"]["conditions"] = json!([{"type": "NamespaceCollectionSucceeded", "status": "True",
                    "reason": "Said", "message": "", "lastTransitionTime": STALE}]);
                let namespaces = if taint.is_some() { json!({"other": ""}) } else { json!({"team": ""}) };
                value["status"]["namespaces"] = namespaces;
            }
            if let Some(taint) = taint {
                value["spec"]["taints"] = json!([{"key": taint, "effect": "NoSchedule"}]);
            }
            value
        })
        .boxed()
}

fn member(name: &str, labels: &Value, health: u8) -> Value {
    let condition = |r#type: &str, status: &str, since: &str| {
        json!({
            "type": r#type, "status": status, "reason": "Said", "message": "", "lastTransitionTime": since,
        })
    };
    let (heartbeat, joined, healthy) = match health {
        0 => (STALE, "True", Some(("True", STALE))),
        1 => (FRESH, "False", Some(("True", STALE))),
        2 => (FRESH, "True", None),
        3 => (FRESH, "True", Some(("False", STALE))),
        4 => (FRESH, "True", Some(("Unknown", FRESH))),
        _ => (FRESH, "True", Some(("True", STALE))),
    };
    let mut conditions = vec![condition("Joined", joined, STALE)];
    conditions.extend(healthy.map(|(status, since)| condition("Healthy", status, since)));
    json!({
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels, "generation": 1},
        "spec": {"identity": {"kind": "ServiceAccount", "name": name}},
        "status": {"agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": heartbeat, "conditions": conditions}]},
    })
}

fn required() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!([{"labelSelector": {"matchLabels": {"env": "prod"}}}]),
        json!([{"labelSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}},
               {"labelSelector": {"matchLabels": {"env": "dev"}}}]),
        json!([{"propertySelector": {"matchExpressions": [
            {"name": "kubernetes-fleet.io/node-count", "operator": "Ge", "values": ["2"]}]}}]),
        json!([{}]),
    ])
}

fn preferred(sorters: bool) -> BoxedStrategy<Value> {
    let labels = |(weight, env): (i32, &'static str)| json!({"weight": weight, "preference": {"labelSelector": {"matchLabels": {"env": env}}}});
    let by_label = (-20..20, prop::sample::select(&["prod", "dev"][..])).prop_map(labels);
    if !sorters {
        return by_label.boxed();
    }
    let by_property =
        (-20..20, prop::sample::select(&["Ascending", "Descending"][..])).prop_map(|(weight, order)| {
            json!({"weight": weight, "preference": {"propertySorter": {
            "name": "kubernetes-fleet.io/node-count", "sortOrder": order}}})
        });
    prop_oneof![by_label, by_property].boxed()
}

fn constraint() -> impl Strategy<Value = Value> {
    (prop::sample::select(&["zone", "env"][..]), 1..3, prop::bool::ANY).prop_map(|(key, skew, hard)| {
        json!({"topologyKey": key, "maxSkew": skew,
               "whenUnsatisfiable": if hard { "DoNotSchedule" } else { "ScheduleAnyway" }})
    })
}

/// A policy of one type. If `plain` is true, no pick depends on clusters that cannot be picked.
fn policy(kind: u8, plain: bool) -> BoxedStrategy<Option<Value>> {
    let tolerations = prop::sample::select(vec![json!([]), json!([{"key": "gpu", "operator": "Exists"}])]);
    let affinity = prop::option::of(required());
    match kind {
        0 => Just(None).boxed(),
        1 => (affinity, tolerations)
            .prop_map(|(required, tolerations)| {
                let mut policy = json!({"placementType": "PickAll", "tolerations": tolerations});
                require(&mut policy, required);
                Some(policy)
            })
            .boxed(),
        2 => prop::collection::btree_set(0_usize..8, 0..4)
            .prop_map(|names| {
                let names: Vec<String> = names.into_iter().rev().map(|index| format!("c{index}")).collect();
                Some(json!({"placementType": "PickFixed", "clusterNames": names}))
            })
            .boxed(),
        _ => {
            let spread = prop::collection::vec(constraint(), if plain { 0..1 } else { 0..3 });
            let preferred = prop::collection::vec(preferred(!plain), 0..3);
            (0..5, affinity, preferred, spread, tolerations)
                .prop_map(|(number, required, preferred, spread, tolerations)| {
                    let mut policy = json!({
                        "placementType": "PickN", "numberOfClusters": number, "tolerations": tolerations,
                        "topologySpreadConstraints": spread,
                    });
                    require(&mut policy, required);
                    if !preferred.is_empty() {
                        policy["affinity"]["clusterAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
                            preferred.into();
                    }
                    Some(policy)
                })
                .boxed()
        }
    }
}

fn require(policy: &mut Value, terms: Option<Value>) {
    if let Some(terms) = terms {
        policy["affinity"]["clusterAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"clusterSelectorTerms": terms});
    }
}

fn placement(name: &str, policy: Option<&Value>) -> Value {
    let mut value = json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
        "metadata": {"name": name, "generation": 1},
        "spec": {"revisionHistoryLimit": 2,
                 "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "app"}]},
    });
    if let Some(policy) = policy {
        value["spec"]["policy"] = policy.clone();
    }
    value
}

/// Converts an object of a ClusterResourcePlacement to that of a ResourcePlacement in the namespace `team`.
fn in_namespace(mut value: Value) -> Value {
    let kind = value["kind"].as_str().unwrap_or_default();
    value["kind"] = kind.trim_start_matches("Cluster").into();
    value["metadata"]["namespace"] = "team".into();
    value
}

/// A binding from an earlier scheduler: of an older policy, being released, or with a finalizer of the
/// rollout.
fn binding(placement: &'static str, index: usize) -> BoxedStrategy<Value> {
    let states = prop::sample::select(&["Scheduled", "Bound", "Unscheduled"][..]);
    (states, prop::option::of((-5..5, -2..2)), 0_usize..8, prop::bool::ANY, prop::bool::weighted(0.2))
        .prop_map(move |(state, score, cluster, was_bound, deleting)| {
            let cluster = format!("c{cluster}");
            let mut decision = json!({"clusterName": cluster, "selected": true, "reason": "picked before"});
            if let Some((affinity, topology)) = score {
                decision["clusterScore"] = json!({"affinityScore": affinity, "priorityScore": topology});
            }
            let mut value = json!({
                "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourceBinding",
                "metadata": {"name": format!("{placement}-{cluster}-0000000{index}"), "generation": 1,
                             "labels": {"kubernetes-fleet.io/parent-CRP": placement},
                             "finalizers": ["kubernetes-fleet.io/work-cleanup"]},
                "spec": {"state": state, "targetCluster": cluster, "resourceSnapshotName": "",
                         "schedulingPolicySnapshotName": format!("{placement}-0"), "clusterDecision": decision},
            });
            if state == "Unscheduled" {
                let previous = if was_bound { "Bound" } else { "Scheduled" };
                value["metadata"]["annotations"] = json!({"kubernetes-fleet.io/previous-binding-state": previous});
            }
            if deleting {
                value["metadata"]["deletionTimestamp"] = STALE.into();
                value["metadata"]["finalizers"] =
                    json!(["kubernetes-fleet.io/scheduler-crb-cleanup", "kubernetes-fleet.io/work-cleanup"]);
            }
            value
        })
        .boxed()
}

/// An event: clusters and placements are added, changed and deleted, or time passes. The placement `q` is
/// namespaced if `spaced` is true.
fn later(kind: u8, plain: bool, spaced: bool) -> BoxedStrategy<Later> {
    let named = |kind: &str, group: &str, name: String| json!({"apiVersion": format!("{group}.kubernetes-fleet.io/v1beta1"), "kind": kind, "metadata": {"name": name}});
    prop_oneof![
        3 => (0_usize..8).prop_flat_map(cluster).prop_map(Later::Merge),
        1 => (0_usize..8).prop_map(move |index| Later::Delete(named("MemberCluster", "cluster", format!("c{index}")))),
        2 => policy(kind, plain).prop_map(|policy| Later::Merge(placement("p", policy.as_ref()))),
        1 => Just(Later::Delete({
            let value = named("ClusterResourcePlacement", "placement", "q".to_owned());
            if spaced { in_namespace(value) } else { value }
        })),
        1 => (0_i64..400).prop_map(Later::Wait),
    ]
    .boxed()
}

impl Generator for Fleets {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_fleet::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        (0_u8..6, 0_u8..6, prop::bool::ANY, prop::bool::ANY)
            .prop_flat_map(|(kind, other, plain, spaced)| {
                let clusters: Vec<_> = (0..8)
                    .map(|index| prop::option::weighted(0.8, cluster(index)))
                    .collect();
                let bindings: Vec<_> = (0..4)
                    .map(|index| {
                        prop::option::weighted(0.4, binding(if index < 3 { "p" } else { "q" }, index))
                    })
                    .collect();
                let config = prop::option::weighted(0.2, Just(json!({"clusterHeartbeatCheckTimeout": "2h"})));
                (
                    clusters,
                    bindings,
                    policy(kind, plain),
                    policy(other, plain),
                    config,
                    prop::collection::vec(later(kind, plain, spaced), 0..5),
                )
                    .prop_map(move |(clusters, bindings, first, second, config, later)| {
                        let of_q = |value: Value| if spaced { in_namespace(value) } else { value };
                        let parent = |binding: &Value| {
                            binding["metadata"]["labels"]["kubernetes-fleet.io/parent-CRP"] == "q"
                        };
                        let bindings = bindings
                            .into_iter()
                            .flatten()
                            .map(|binding| if parent(&binding) { of_q(binding) } else { binding });
                        let mut objects: Vec<Value> =
                            clusters.into_iter().flatten().chain(bindings).collect();
                        objects.push(placement("p", first.as_ref()));
                        objects.push(of_q(placement("q", second.as_ref())));
                        let mut infeasible = member("c9", &json!({"env": "prod"}), 1);
                        infeasible["status"]["properties"] = json!({});
                        Case {
                            config,
                            infeasible: plain.then_some(infeasible),
                            later,
                            ..Case::new(NOW.parse().expect("an instant"), objects)
                        }
                    })
            })
            .boxed()
    }
}

berth_dialect_testing::properties!(Fleets);
