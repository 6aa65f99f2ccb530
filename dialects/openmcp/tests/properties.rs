//! Properties of every decision, tested with generated fleets.

use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Dialect;
use berth_dialect_testing::{Case, Generator, Later};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use serde_json::{Value, json};

const API_VERSION: &str = "clusters.openmcp.cloud/v1alpha1";
const DELETE_LABEL: &str = "clusters.openmcp.cloud/delete-without-requests";
const NAMESPACES: [&str; 2] = ["a", "b"];
const PURPOSES: [&str; 4] = ["mcp", "platform", "workload", "gone"];
const REQUESTS: [&str; 4] = ["r1", "r2", "r3", "r4"];
/// Names of Clusters. Some are names that the scheduler generates, too, so that names clash.
const CLUSTERS: [&str; 6] = ["c1", "c2", "c3", "platform", "workload-i72qbnmc", "x"];

struct OpenMcp;

berth_dialect_testing::properties!(OpenMcp);

impl Generator for OpenMcp {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_openmcp::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        let clusters = some_of(places(&CLUSTERS)).prop_flat_map(each(cluster));
        let requests = some_of(places(&REQUESTS)).prop_flat_map(each(request));
        let config = prop_oneof![8 => config().prop_map(Some), 1 => Just(None)];
        let later = prop::collection::vec(later(), 0..4);
        (clusters, requests, config, later)
            .prop_map(|(clusters, requests, config, later)| Case {
                config,
                infeasible: Some(foreign_to_all()),
                later,
                ..Case::new(now(), clusters.into_iter().chain(requests).collect())
            })
            .boxed()
    }
}

fn now() -> Timestamp {
    "2021-10-28T09:00:00Z".parse().expect("it is an instant")
}

type Spot = (&'static str, &'static str);

fn places(names: &[&'static str]) -> Vec<Spot> {
    let pairs = names
        .iter()
        .flat_map(|&name| NAMESPACES.map(|namespace| (namespace, name)));
    pairs.collect()
}

fn some_of(all: Vec<Spot>) -> impl Strategy<Value = Vec<Spot>> {
    let most = all.len().min(6);
    subsequence(all, 0..=most)
}

fn each<S: Strategy<Value = Value> + 'static>(make: fn(Spot) -> S) -> impl Fn(Vec<Spot>) -> Vec<S> {
    move |spots| spots.into_iter().map(make).collect()
}

/// A Cluster with a purpose that no request has.
fn foreign_to_all() -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "Cluster", "metadata": {"name": "foreign", "namespace": "a"},
        "spec": {"profile": "p", "tenancy": "Shared", "purposes": ["none"]},
    })
}

fn uid(namespace: &str, name: &str) -> String {
    format!("uid-{namespace}-{name}")
}

fn request_finalizers() -> impl Strategy<Value = Vec<String>> {
    let all = places(&REQUESTS).into_iter();
    let all = all.map(|(namespace, name)| format!("request.clusters.openmcp.cloud/{}", uid(namespace, name)));
    prop_oneof![
        2 => Just(Vec::new()),
        3 => subsequence(all.collect::<Vec<_>>(), 1..=3),
    ]
}

fn labels() -> impl Strategy<Value = Value> {
    (any::<bool>(), select(vec!["true", "false", "-"])).prop_map(|(live, delete)| {
        let mut labels = json!({});
        if live {
            labels["env"] = "live".into();
        }
        if delete != "-" {
            labels[DELETE_LABEL] = delete.into();
        }
        labels
    })
}

fn cluster((namespace, name): Spot) -> impl Strategy<Value = Value> {
    let tenancy = select(vec!["Shared", "Shared", "Exclusive"]);
    let purposes = subsequence(PURPOSES[..3].to_vec(), 1..=2);
    let parts = (
        labels(),
        request_finalizers(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        tenancy,
        purposes,
    );
    parts.prop_map(
        move |(labels, mut finalizers, provided, deleting, tenancy, purposes)| {
            if provided {
                finalizers.push("gardener.clusters.openmcp.cloud/cluster".to_owned());
            }
            let mut metadata =
                json!({"name": name, "namespace": namespace, "labels": labels, "finalizers": finalizers});
            if deleting && !finalizers.is_empty() {
                metadata["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
            }
            json!({
                "apiVersion": API_VERSION, "kind": "Cluster", "metadata": metadata,
                "spec": {"profile": "p", "tenancy": tenancy, "purposes": purposes},
            })
        },
    )
}

fn request((namespace, name): Spot) -> impl Strategy<Value = Value> {
    let operation = select(vec!["", "", "", "ignore", "reconcile"]);
    let wait = select(vec![None, None, Some(true), Some(false)]);
    let state = (
        any::<bool>(),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        granted(),
    );
    let parts = (
        select(&PURPOSES[..]),
        operation,
        wait,
        prop::bool::weighted(0.2),
        state,
    );
    parts.prop_map(move |(purpose, operation, wait, random, (mine, other, deleting, status))| {
        let mut finalizers: Vec<&str> = Vec::new();
        if mine {
            finalizers.push("clusters.openmcp.cloud/request");
        }
        if other {
            finalizers.push("example.com/other");
        }
        let mut metadata = json!({
            "name": name, "namespace": namespace, "uid": uid(namespace, name), "generation": 1,
            "finalizers": finalizers, "labels": {"team": if other { "x" } else { "y" }},
        });
        if !operation.is_empty() {
            metadata["annotations"] = json!({"openmcp.cloud/operation": operation});
        }
        if random {
            metadata["labels"]["clusters.openmcp.cloud/randomize-cluster-name"] = "true".into();
        }
        if deleting && !finalizers.is_empty() {
            metadata["deletionTimestamp"] = "2021-10-28T08:00:00Z".into();
        }
        let mut object = json!({
            "apiVersion": API_VERSION, "kind": "ClusterRequest", "metadata": metadata, "spec": {"purpose": purpose},
        });
        if let Some(wait) = wait {
            object["spec"]["waitForClusterDeletion"] = wait.into();
        }
        if let Some(status) = status {
            object["status"] = status;
        }
        object
    })
}

/// The status of a request, which is mostly absent.
fn granted() -> impl Strategy<Value = Option<Value>> {
    let cluster =
        select(places(&CLUSTERS)).prop_map(|(namespace, name)| json!({"namespace": namespace, "name": name}));
    prop_oneof![
        3 => Just(None),
        2 => (select(vec!["Granted", "Granted", "Pending"]), 0..=1i64, cluster).prop_map(|(phase, observed, cluster)| {
            Some(json!({"phase": phase, "observedGeneration": observed, "cluster": cluster}))
        }),
        1 => Just(Some(json!({"phase": "Pending", "observedGeneration": 1}))),
    ]
}

fn config() -> impl Strategy<Value = Value> {
    let scope = select(vec!["Namespaced", "Cluster"]);
    let strategy = select(vec!["Balanced", "Random", "Simple"]);
    let parts = (
        scope,
        strategy,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..=3i64,
        any::<bool>(),
    );
    parts.prop_map(|(scope, strategy, live, team, homed, count, exclusive)| {
        let labels = if live { json!({"env": "live"}) } else { json!({}) };
        let template = |tenancy: &str| {
            let mut template =
                json!({"metadata": {"labels": labels}, "spec": {"profile": "p", "tenancy": tenancy}});
            if homed {
                template["metadata"]["namespace"] = "a".into();
            }
            template
        };
        let mut scheduler = json!({"scope": scope, "strategy": strategy, "purposeMappings": {
            "platform": {"template": template("Shared")},
            "workload": {"tenancyCount": count, "template": template("Shared")},
            "mcp": {"template": template(if exclusive { "Exclusive" } else { "Shared" })},
        }});
        if live {
            scheduler["selectors"] = json!({"clusters": {"matchLabels": labels}});
        }
        if team {
            scheduler["selectors"]["requests"] = json!({"matchLabels": {"team": "y"}});
        }
        json!({ "scheduler": scheduler })
    })
}

/// A finalizer of another program. No API server keeps an object that is being deleted and has no finalizer.
const KEEPER: &str = "example.com/keeper";

fn held(mut object: Value) -> Value {
    if let Some(list) = object
        .pointer_mut("/metadata/finalizers")
        .and_then(Value::as_array_mut)
    {
        list.push(KEEPER.into());
    }
    object
}

fn later() -> impl Strategy<Value = Later> {
    let named = |kind: &'static str, (namespace, name): Spot, rest: Value| {
        let mut object = json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"namespace": namespace, "name": name}});
        if let (Some(fields), Value::Object(rest)) = (object.as_object_mut(), rest) {
            for (field, value) in rest {
                match (fields.get_mut(&field).and_then(Value::as_object_mut), value) {
                    (Some(have), Value::Object(more)) => have.extend(more),
                    (_, value) => {
                        fields.insert(field, value);
                    }
                }
            }
        }
        object
    };
    let a_cluster = select(places(&CLUSTERS));
    let a_request = select(places(&REQUESTS));
    let edit = (any::<Index>(), a_cluster.clone()).prop_map(move |(index, spot)| {
        let edits = [
            json!({"metadata": {"finalizers": [KEEPER]}}),
            json!({"metadata": {"labels": {"env": null}}}),
            json!({"metadata": {"labels": {DELETE_LABEL: "true"}}}),
        ];
        (spot, index.get(&edits).clone())
    });
    prop_oneof![
        a_cluster
            .clone()
            .prop_map(move |spot| Later::Delete(named("Cluster", spot, json!({})))),
        a_request
            .clone()
            .prop_map(move |spot| Later::Delete(named("ClusterRequest", spot, json!({})))),
        a_cluster
            .prop_flat_map(cluster)
            .prop_map(|object| Later::Merge(held(object))),
        a_request
            .prop_flat_map(request)
            .prop_map(|object| Later::Merge(held(object))),
        edit.prop_map(move |(spot, edit)| {
            let mut object = named("Cluster", spot, edit);
            // If the Cluster does not exist, it is created.
            object["spec"] = json!({"profile": "p", "tenancy": "Shared", "purposes": ["workload"]});
            Later::Merge(object)
        }),
    ]
}
