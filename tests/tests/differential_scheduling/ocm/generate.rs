//! Hubs of clusters, and placements on them.

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use super::{GROUP, expressions};
use crate::world::World;

/// The sets: of members by label, of a selector's matches, of all clusters, of none, and a missing one.
const SETS: [&str; 5] = ["fleet", "other", "east", "all", "gone"];
const NAMES: [&str; 16] = [
    "a1", "a2", "b1", "b10", "b2", "c1", "c2", "c3", "d1", "e-1", "e-2", "f", "g", "h", "z", "z0",
];
const PLACEMENTS: [&str; 3] = ["p", "q", "r"];

/// A random world.
pub(super) fn world(draw: &mut Draw) -> World {
    let count = 2 + draw.below(NAMES.len() - 1);
    let names = &NAMES[..count];
    let mut objects = sets(draw);
    objects.extend(names.iter().map(|name| cluster(draw, name)));
    for name in names {
        for resource in ["default", "usage"] {
            if draw.below(3) > 0 {
                objects.push(scores(draw, name, resource));
            }
        }
    }
    for place in 0..draw.below(4) {
        let name = format!("foreign-{place}");
        objects.push(decision("others", &name, &name, some(draw, names, 6)));
    }
    for name in &PLACEMENTS[..1 + draw.below(PLACEMENTS.len())] {
        objects.push(placement(draw, name, count));
        if draw.below(2) == 0 {
            for number in 1..2 + draw.below(3) {
                let object = format!("{name}-decision-{number}");
                objects.push(decision("ns", &object, name, some(draw, &NAMES, 5)));
            }
        }
    }
    World {
        objects,
        ..World::default()
    }
}

/// Fewer than `most` distinct names of `names`.
fn some<'a>(draw: &mut Draw, names: &[&'a str], most: usize) -> Vec<&'a str> {
    let mut list: Vec<&str> = (0..draw.below(most)).map(|_| draw.one(names)).collect();
    list.sort_unstable();
    list.dedup();
    list
}

fn object(version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let mut value = json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": kind,
        "metadata": {"name": name, "uid": format!("uid-{kind}-{namespace}-{name}"), "creationTimestamp": "2021-10-01T00:00:00Z"},
    });
    if !namespace.is_empty() {
        value["metadata"]["namespace"] = json!(namespace);
    }
    value
}

fn sets(draw: &mut Draw) -> Vec<Value> {
    let mut objects = Vec::new();
    for name in SETS {
        let mut set = object("v1beta2", "ManagedClusterSet", "", name);
        set["spec"]["clusterSelector"] = match name {
            "east" => json!({"selectorType": "LabelSelector", "labelSelector": selector(draw)}),
            "all" if draw.often() => json!({"selectorType": "LabelSelector", "labelSelector": {}}),
            "all" => json!({"selectorType": "LabelSelector"}),
            _ => json!({"selectorType": "ExclusiveClusterSetLabel"}),
        };
        if name != "gone" {
            objects.push(set);
        }
        let bound = match name {
            "fleet" => 15,
            "gone" => 3,
            _ => 5,
        };
        if draw.below(16) < bound {
            let mut binding = object("v1beta2", "ManagedClusterSetBinding", "ns", name);
            binding["spec"]["clusterSet"] = json!(name);
            objects.push(binding);
        }
    }
    objects
}

fn cluster(draw: &mut Draw, name: &str) -> Value {
    let mut value = object("v1", "ManagedCluster", "", name);
    let set = draw.one(&["fleet", "fleet", "fleet", "fleet", "other", "default", "nobody"]);
    value["metadata"]["labels"] = json!({format!("{GROUP}/clusterset"): set});
    for (key, values) in [
        ("env", ["prod", "dev", "prod", "test"]),
        ("tier", ["0", "1", "2", "10"]),
        ("region", ["eu", "us", "", "ap"]),
    ] {
        if draw.often() {
            value["metadata"]["labels"][key] = json!(draw.one(&values));
        }
    }
    if draw.once_in(12) {
        value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
        value["metadata"]["finalizers"] = json!([format!("{GROUP}/api-resource-cleanup")]);
    }
    let taints = taints(draw);
    value["spec"] = json!({"hubAcceptsClient": draw.often(), "leaseDurationSeconds": 60});
    // An empty list does not exist for OCM's expressions, which see its Go types; real objects have none.
    if !taints.is_empty() {
        value["spec"]["taints"] = json!(taints);
    }
    value["status"] = status(draw);
    value
}

fn status(draw: &mut Draw) -> Value {
    let mut status = json!({"conditions": [], "version": {}});
    if draw.often() {
        status["version"]["kubernetes"] =
            json!(draw.one(&["v1.29.3", "v1.30.0", "v1.30.0-rc.1+k3s1", "v1.9.11"]));
    }
    let mut claims = Vec::new();
    for (name, values) in [
        ("zone", ["z0", "z1", "z2", "Z1"]),
        ("count.example.com", ["1", "2", "3", "x"]),
    ] {
        if draw.often() {
            claims.push(json!({"name": name, "value": draw.one(&values)}));
        }
    }
    if !claims.is_empty() {
        status["clusterClaims"] = json!(claims);
    }
    for part in ["capacity", "allocatable"] {
        for (resource, values) in [
            ("cpu", ["4", "8", "16", "500m"]),
            ("memory", ["16Gi", "32Gi", "1000Ki", "64Gi"]),
        ] {
            if draw.below(8) > 0 {
                status[part][resource] = json!(draw.one(&values));
            }
        }
    }
    status
}

/// Of several taints with the same key, value and effect, the API keeps one time.
fn taints(draw: &mut Draw) -> Vec<Value> {
    let mut list: Vec<Value> = (0..draw.below(5).saturating_sub(2))
        .map(|_| taint(draw))
        .collect();
    let same = |one: &Value, two: &Value| {
        ["key", "value", "effect"]
            .iter()
            .all(|part| one[part] == two[part])
    };
    list.dedup_by(|one, two| same(one, two));
    list
}

fn taint(draw: &mut Draw) -> Value {
    let mut taint = json!({
        "key": draw.one(&["gpu", "dedicated", "example.com/gpu"]),
        "effect": draw.one(&["NoSelect", "PreferNoSelect", "NoSelectIfNew"]),
    });
    if draw.often() {
        taint["value"] = json!(draw.one(&["a", "b"]));
    }
    if draw.often() {
        // One and two minutes ago, now, and in the future.
        let added = [
            "2021-10-28T08:59:00Z",
            "2021-10-28T08:58:00Z",
            "2021-10-28T09:00:00Z",
            "2021-10-28T09:05:00Z",
        ];
        taint["timeAdded"] = json!(draw.one(&added));
    }
    taint
}

fn scores(draw: &mut Draw, cluster: &str, resource: &str) -> Value {
    let mut value = object("v1alpha1", "AddOnPlacementScore", cluster, resource);
    let mut listed = Vec::new();
    for name in ["cpu", "mem"] {
        if draw.often() {
            let score = i64::try_from(draw.below(201)).unwrap_or_default() - 100;
            listed.push(json!({"name": name, "value": score}));
        }
    }
    value["status"]["scores"] = json!(listed);
    if draw.below(2) == 0 {
        // Long ago, just ago, now, and in the future.
        let until = [
            "2021-10-01T00:00:00Z",
            "2021-10-28T08:59:59Z",
            "2021-10-28T09:00:00Z",
            "2100-01-01T00:00:00Z",
        ];
        value["status"]["validUntil"] = json!(draw.one(&until));
    }
    value
}

fn decision(namespace: &str, name: &str, placement: &str, clusters: Vec<&str>) -> Value {
    let mut value = object("v1beta1", "PlacementDecision", namespace, name);
    let number = name.rsplit_once('-').map_or("", |(_, number)| number);
    value["metadata"]["labels"] = json!({
        format!("{GROUP}/placement"): placement,
        format!("{GROUP}/decision-group-index"): number.parse::<u32>().unwrap_or(1).saturating_sub(1).to_string(),
        format!("{GROUP}/decision-group-name"): "",
    });
    let listed: Vec<Value> = clusters
        .iter()
        .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
        .collect();
    value["status"]["decisions"] = json!(listed);
    value
}

fn placement(draw: &mut Draw, name: &str, clusters: usize) -> Value {
    let mut value = object("v1beta1", "Placement", "ns", name);
    let mut spec = json!({});
    if draw.often() {
        spec["numberOfClusters"] = json!(draw.below(clusters + 2));
    }
    if draw.once_in(6) {
        spec["clusterSets"] = json!(some(draw, &SETS, 4));
    }
    let predicates: Vec<Value> = (0..draw.below(3)).map(|_| predicate(draw)).collect();
    spec["predicates"] = json!(predicates);
    let tolerations: Vec<Value> = (0..draw.below(4)).map(|_| toleration(draw)).collect();
    spec["tolerations"] = json!(tolerations);
    if draw.often() {
        spec["prioritizerPolicy"] = policy(draw);
    }
    if draw.once_in(4) {
        spec["decisionStrategy"]["groupStrategy"] = groups(draw);
    }
    value["spec"] = spec;
    match draw.below(40) {
        0 => {
            value["metadata"]["annotations"] =
                json!({format!("{GROUP}/experimental-scheduling-disable"): "true"})
        }
        1 => {
            value["metadata"]["deletionTimestamp"] = json!("2021-10-28T08:00:00Z");
            value["metadata"]["finalizers"] = json!(["example.com/held"]);
        }
        _ => {}
    }
    value
}

fn selector(draw: &mut Draw) -> Value {
    let mut selector = json!({});
    if draw.below(2) == 0 {
        selector["matchLabels"] = match draw.below(3) {
            0 => json!({"env": draw.one(&["prod", "dev"])}),
            1 => json!({"tier": draw.one(&["1", "10"])}),
            _ => json!({"env": "prod", "region": draw.one(&["eu", "", "us"])}),
        };
    }
    if selector == json!({}) || draw.once_in(3) {
        selector["matchExpressions"] = json!([requirement(
            draw,
            &["env", "tier", "region", "absent"],
            &["prod", "1", "eu", ""]
        )]);
    }
    selector
}

fn requirement(draw: &mut Draw, keys: &[&str], values: &[&str]) -> Value {
    let operator = draw.one(&["In", "NotIn", "Exists", "DoesNotExist"]);
    let key = draw.one(keys);
    if operator.ends_with("In") {
        let one = draw.one(values);
        json!({"key": key, "operator": operator, "values": [one, draw.one(values)]})
    } else {
        json!({"key": key, "operator": operator})
    }
}

fn predicate(draw: &mut Draw) -> Value {
    let mut required = json!({});
    if draw.below(2) == 0 {
        required["labelSelector"] = selector(draw);
    }
    if draw.once_in(4) {
        let keys = ["zone", "count.example.com", "absent"];
        required["claimSelector"]["matchExpressions"] =
            json!([requirement(draw, &keys, &["z0", "z1", "2", "x"])]);
    }
    if draw.once_in(3) {
        let expressions: Vec<String> = (0..1 + draw.below(2)).map(|_| expressions::one(draw)).collect();
        required["celSelector"]["celExpressions"] = json!(expressions);
    }
    json!({"requiredClusterSelector": required})
}

fn toleration(draw: &mut Draw) -> Value {
    let mut toleration = json!({});
    let operator = draw.one(&["Equal", "Exists", "Equal", ""]);
    if !operator.is_empty() {
        toleration["operator"] = json!(operator);
    }
    if draw.below(20) > 0 || operator == "Equal" {
        toleration["key"] = json!(draw.one(&["gpu", "dedicated", "example.com/gpu"]));
    }
    if operator != "Exists" || draw.once_in(25) {
        toleration["value"] = json!(draw.one(&["a", "b", ""]));
    }
    if draw.below(2) == 0 {
        toleration["effect"] = json!(draw.one(&["NoSelect", "PreferNoSelect", "NoSelectIfNew"]));
    }
    if draw.once_in(3) {
        toleration["tolerationSeconds"] = json!([0, 59, 60, 61, 120, 100_000][draw.below(6)]);
    }
    toleration
}

/// Each coordinate occurs at most once: the meaning of duplicates is accidental upstream.
fn policy(draw: &mut Draw) -> Value {
    let mut configurations = Vec::new();
    let mut weighted = |draw: &mut Draw, coordinate: Value| {
        let mut one = json!({"scoreCoordinate": coordinate});
        if draw.often() {
            one["weight"] = json!(i64::try_from(draw.below(21)).unwrap_or_default() - 10);
        }
        configurations.push(one);
    };
    for name in [
        "Balance",
        "Steady",
        "ResourceAllocatableCPU",
        "ResourceAllocatableMemory",
    ] {
        if draw.once_in(3) {
            weighted(draw, json!({"type": "BuiltIn", "builtIn": name}));
        }
    }
    for (resource, score) in [
        ("default", "cpu"),
        ("default", "mem"),
        ("usage", "cpu"),
        ("absent", "cpu"),
    ] {
        if draw.once_in(4) {
            weighted(
                draw,
                json!({"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}),
            );
        }
    }
    let mode = match draw.below(60) {
        0 => "Nonsense",
        1..40 => "Additive",
        _ => "Exact",
    };
    json!({"mode": mode, "configurations": configurations})
}

fn groups(draw: &mut Draw) -> Value {
    let size = match draw.below(4) {
        0 => json!(1 + draw.below(6)),
        1 => json!("100%"),
        _ => json!(format!("{}%", 1 + draw.below(100))),
    };
    let mut groups = json!({"clustersPerDecisionGroup": size});
    let mut named = Vec::new();
    for name in ["canary", "rest"] {
        if draw.once_in(3) {
            named.push(json!({"groupName": name, "groupClusterSelector": {"labelSelector": selector(draw)}}));
        }
    }
    if !named.is_empty() {
        groups["decisionGroups"] = json!(named);
    }
    groups
}
