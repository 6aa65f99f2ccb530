//! Properties of every decision, tested with generated fleets of kcp.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::Timestamp;
use berth_dialect_contract::Dialect;
use berth_dialect_testing::{Case, Generator, Later};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Fleets with few names, so that many events affect the same objects.
struct Kcp;

const CLUSTERS: [&str; 5] = ["amber", "birch", "cedar", "delta", "ember"];
/// The identifiers of the clusters, of which only `delta` has a uid.
const IDENTIFIERS: [&str; 5] = ["amber", "birch", "cedar", "u-delta", "ember"];
const LOCATIONS: [&str; 3] = ["default", "east", "west"];
const NAMESPACES: [&str; 4] = ["app", "shop", "mail", "kube-system"];
const REGIONS: [&str; 3] = ["east", "west", "north"];
const STATES: [&str; 4] = ["Pending", "Bound", "Removing", "Unbound"];
const NOW: i64 = 1_635_411_600;

impl Generator for Kcp {
    fn dialect(&self) -> Arc<dyn Dialect> {
        berth_dialect_kcp::dialect()
    }

    fn case(&self) -> BoxedStrategy<Case> {
        (
            btree_map(select(&CLUSTERS[..]), cluster(), 0..5),
            btree_map(select(&LOCATIONS[..]), location(), 0..3),
            btree_map(select(&NAMESPACES[..]), namespace(), 0..4),
            option::weighted(0.3, config()),
            vec(later(), 0..4),
        )
            .prop_map(|(clusters, locations, namespaces, config, later)| Case {
                config,
                later,
                infeasible: Some(infeasible()),
                ..Case::new(at(0), objects(clusters, locations, namespaces))
            })
            .boxed()
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).expect("an instant of our time")
}

fn objects(
    clusters: BTreeMap<&str, Value>,
    locations: BTreeMap<&str, Value>,
    namespaces: BTreeMap<&str, Value>,
) -> Vec<Value> {
    let all = clusters.into_iter().chain(locations).chain(namespaces);
    all.map(|(name, mut object)| {
        object["metadata"]["name"] = name.into();
        if name == "delta" {
            object["metadata"]["uid"] = "u-delta".into();
        }
        object
    })
    .collect()
}

/// A cordoned cluster in any location, which accepts no namespace.
fn infeasible() -> Value {
    json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": "cordoned", "labels": {"region": "east"}},
        "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A cluster, which is mostly ready. Its instants are around now, and include the exact one.
fn cluster() -> impl Strategy<Value = Value> {
    let region = option::weighted(0.9, select(&REGIONS[..]));
    let unschedulable = prop::bool::weighted(0.15);
    let evict_after = option::weighted(0.25, select(&[-60i64, 0, 1, 60, 300][..]));
    let beat = option::weighted(0.5, select(&[-300i64, -61, -60, -30, 0][..]));
    let ready = option::weighted(0.9, select(&["True", "True", "True", "False", "Unknown"][..]));
    (region, unschedulable, evict_after, beat, ready).prop_map(
        |(region, unschedulable, evict_after, beat, ready)| {
            let mut status = Map::new();
            if let Some(beat) = beat {
                status.insert(
                    "lastSyncerHeartbeatTime".to_owned(),
                    berth_apimachinery::time::rfc3339(at(beat)).into(),
                );
            }
            if let Some(ready) = ready {
                status.insert(
                    "conditions".to_owned(),
                    json!([{"type": "Ready", "status": ready}]),
                );
            }
            let mut spec = json!({"unschedulable": unschedulable});
            if let Some(evict_after) = evict_after {
                spec["evictAfter"] = berth_apimachinery::time::rfc3339(at(evict_after)).into();
            }
            let labels = region.map_or(json!({}), |region| json!({"region": region}));
            json!({
                "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
                "metadata": {"labels": labels}, "spec": spec, "status": status,
            })
        },
    )
}

fn location() -> impl Strategy<Value = Value> {
    let selector = prop_oneof![
        Just(json!({})),
        select(&REGIONS[..]).prop_map(|region| json!({"matchLabels": {"region": region}})),
        select(&REGIONS[..]).prop_map(
            |region| json!({"matchExpressions": [{"key": "region", "operator": "NotIn", "values": [region]}]})
        ),
    ];
    selector.prop_map(|selector| {
        json!({
            "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location", "metadata": {},
            "spec": {
                "resource": {"group": "workloads.kcp.dev", "version": "v1alpha1", "resource": "workloadclusters"},
                "instanceSelector": selector,
            },
        })
    })
}

/// The text of the annotation: absent, as written by the controllers, or in a form that no controller
/// writes.
fn annotation() -> impl Strategy<Value = Option<String>> {
    let location_clusters = select(&["root:compute", "root:compute", "root:compute", "root:old"][..]);
    let clusters = prop_oneof![4 => select(&IDENTIFIERS[..]), 1 => Just("gone")];
    let place = (location_clusters, select(&LOCATIONS[..]), clusters)
        .prop_map(|(cluster, location, id)| format!("{cluster}+{location}+{id}"));
    let entry = prop_oneof![12 => place, 1 => Just("nonsense".to_owned())];
    let state = prop_oneof![12 => select(&STATES[..]), 1 => Just("Odd")];
    let map = btree_map(entry, state, 0..4).prop_map(|map| Some(json!(map).to_string()));
    prop_oneof![
        4 => Just(None),
        8 => map,
        1 => select(&["", "null", "{", "[]", r#"{"root:compute+east+amber":1}"#][..]).prop_map(|text| Some(text.to_owned())),
    ]
}

fn namespace() -> impl Strategy<Value = Value> {
    let disabled = option::weighted(0.15, select(&["true", "false"][..]));
    let team = option::of(select(&["a", "b"][..]));
    let conditions = option::weighted(
        0.3,
        select(&["True", "False"][..]).prop_map(|status| {
            json!([
                {"type": "Other", "status": "True"},
                {"type": "NamespaceScheduled", "status": status, "reason": "Unschedulable",
                 "lastTransitionTime": "2021-01-01T00:00:00Z"},
            ])
        }),
    );
    (annotation(), disabled, team, conditions).prop_map(|(annotation, disabled, team, conditions)| {
        let mut labels = json!({});
        if let Some(disabled) = disabled {
            labels["experimental.workloads.kcp.dev/scheduling-disabled"] = disabled.into();
        }
        if let Some(team) = team {
            labels["team"] = team.into();
        }
        let mut metadata = json!({"labels": labels, "annotations": {"note": "kept"}});
        if let Some(annotation) = annotation {
            metadata["annotations"]["scheduling.kcp.dev/placement"] = annotation.into();
        }
        let mut status = json!({"phase": "Active"});
        if let Some(conditions) = conditions {
            status["conditions"] = conditions;
        }
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": status})
    })
}

fn config() -> impl Strategy<Value = Value> {
    let location_cluster = select(&["root:compute", "root:old"][..]);
    let threshold = select(&["1m", "10s", "1h"][..]);
    let selector = prop_oneof![Just(json!({})), Just(json!({"matchLabels": {"team": "a"}}))];
    (location_cluster, threshold, selector).prop_map(|(location_cluster, threshold, selector)| {
        json!({"locationCluster": location_cluster, "heartbeatThreshold": threshold, "namespaceSelector": selector})
    })
}

/// An event: clusters, locations and namespaces are added, changed and deleted, another controller acts, or
/// time passes.
fn later() -> impl Strategy<Value = Later> {
    let named = |names: &'static [&'static str], objects: BoxedStrategy<Value>| {
        (select(names), objects).prop_map(|(name, mut object)| {
            object["metadata"]["name"] = name.into();
            object
        })
    };
    let object = prop_oneof![
        3 => named(&CLUSTERS, cluster().boxed()),
        1 => named(&LOCATIONS, location().boxed()),
        2 => named(&NAMESPACES, namespace().boxed()),
    ];
    prop_oneof![
        4 => object.clone().prop_map(Later::Merge),
        2 => object.prop_map(Later::Delete),
        2 => select(&[1i64, 30, 61, 120, 3600][..]).prop_map(Later::Wait),
    ]
}

berth_dialect_testing::properties!(Kcp);
