//! Policies of placements.

use berth_tests::differential::Draw;
use serde_json::{Value, json};

use super::generate::NAMES;

const PROPERTIES: [&str; 4] = [
    "kubernetes-fleet.io/node-count",
    "example.com/cost",
    "resources.kubernetes-fleet.io/available-cpu",
    "resources.kubernetes-fleet.io/total-memory",
];

/// A random policy, or none.
pub(super) fn one(draw: &mut Draw, clusters: usize) -> Value {
    match draw.below(12) {
        0 => Value::Null,
        1..3 => {
            let mut policy = json!({"placementType": "PickAll", "tolerations": tolerations(draw)});
            require(draw, &mut policy);
            policy
        }
        3 => {
            let mut names: Vec<&str> = (0..1 + draw.below(4)).map(|_| draw.one(&NAMES)).collect();
            names.sort_unstable();
            names.dedup();
            json!({"placementType": "PickFixed", "clusterNames": names})
        }
        _ => pick_n(draw, clusters),
    }
}

fn pick_n(draw: &mut Draw, clusters: usize) -> Value {
    let mut policy = json!({
        "placementType": "PickN", "numberOfClusters": draw.below(clusters + 2), "tolerations": tolerations(draw),
    });
    require(draw, &mut policy);
    let preferred: Vec<Value> = (0..draw.below(4)).map(|_| preferred(draw)).collect();
    if !preferred.is_empty() {
        policy["affinity"]["clusterAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
            json!(preferred);
    }
    let constraints: Vec<Value> = ["zone", "env"]
        .iter()
        .filter(|_| draw.once_in(4))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|key| constraint(draw, key))
        .collect();
    if !constraints.is_empty() {
        policy["topologySpreadConstraints"] = json!(constraints);
    }
    policy
}

fn constraint(draw: &mut Draw, key: &str) -> Value {
    json!({
        "topologyKey": key, "maxSkew": 1 + draw.below(3),
        "whenUnsatisfiable": draw.one(&["DoNotSchedule", "ScheduleAnyway"]),
    })
}

fn tolerations(draw: &mut Draw) -> Value {
    let mut list = Vec::new();
    for key in ["gpu", "edge"] {
        if draw.once_in(3) {
            let mut toleration = match draw.below(2) {
                0 => json!({"key": key, "operator": "Exists"}),
                _ => json!({"key": key, "operator": "Equal", "value": draw.one(&["a", "b", ""])}),
            };
            if draw.below(2) == 0 {
                toleration["effect"] = json!("NoSchedule");
            }
            list.push(toleration);
        }
    }
    if draw.once_in(12) {
        list.push(json!({"operator": "Exists"}));
    }
    json!(list)
}

fn require(draw: &mut Draw, policy: &mut Value) {
    if draw.below(2) == 0 {
        let terms: Vec<Value> = (0..1 + draw.below(2)).map(|_| required(draw)).collect();
        policy["affinity"]["clusterAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"clusterSelectorTerms": terms});
    }
}

fn required(draw: &mut Draw) -> Value {
    let mut term = json!({});
    if draw.often() {
        term["labelSelector"] = selector(draw);
    }
    if draw.once_in(3) {
        let operator = draw.one(&["Gt", "Ge", "Eq", "Ne", "Lt", "Le"]);
        term["propertySelector"]["matchExpressions"] = json!([
            {"name": draw.one(&PROPERTIES), "operator": operator, "values": [draw.one(&["3", "0.5", "8Gi", "4000m", "-1"])]},
        ]);
    }
    term
}

fn preferred(draw: &mut Draw) -> Value {
    let mut preference = json!({});
    if draw.often() {
        preference["labelSelector"] = selector(draw);
    }
    if draw.below(2) == 0 {
        let order = draw.one(&["Ascending", "Descending"]);
        preference["propertySorter"] = json!({"name": draw.one(&PROPERTIES), "sortOrder": order});
    }
    json!({"weight": i64::try_from(draw.below(201)).unwrap_or_default() - 100, "preference": preference})
}

fn selector(draw: &mut Draw) -> Value {
    match draw.below(5) {
        0 => json!({"matchLabels": {"env": draw.one(&["prod", "dev"])}}),
        1 => json!({"matchLabels": {"env": "prod", "tier": draw.one(&["1", "2"])}}),
        2 => {
            json!({"matchExpressions": [{"key": "zone", "operator": draw.one(&["In", "NotIn"]), "values": ["a", "b"]}]})
        }
        3 => {
            json!({"matchExpressions": [{"key": draw.one(&["zone", "tier"]), "operator": draw.one(&["Exists", "DoesNotExist"])}]})
        }
        _ => json!({}),
    }
}
