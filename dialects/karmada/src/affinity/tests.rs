//! Clusters that match an affinity, and the part that excludes another one.

use serde_json::{Value, json};

use super::*;
use crate::testing::{cluster, cluster_value};

fn mismatch(affinity: Value) -> Option<Mismatch> {
    let mut value = cluster_value("a", 1);
    value["metadata"]["labels"] = json!({"env": "prod"});
    value["spec"] = json!({"syncMode": "Push", "region": "eu", "zones": ["z1", "z2"]});
    let raw = serde_json::from_value(affinity).expect("an affinity");
    Affinity::compile(&raw).mismatch(&cluster(&value))
}

fn field(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"fieldSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}})
}

#[test]
fn the_first_part_that_leaves_a_cluster_out_is_told() {
    for (affinity, expected) in [
        (json!({}), None),
        (json!({"clusterNames": ["a"]}), None),
        (json!({"clusterNames": ["b"]}), Some(Mismatch::Names)),
        (
            json!({"clusterNames": ["a"], "exclude": ["a"]}),
            Some(Mismatch::Excluded),
        ),
        (json!({"labelSelector": {"matchLabels": {"env": "prod"}}}), None),
        (
            json!({"labelSelector": {"matchLabels": {"env": "dev"}}, "clusterNames": ["b"]}),
            Some(Mismatch::Labels),
        ),
    ] {
        assert_eq!(mismatch(affinity.clone()), expected, "{affinity}");
    }
}

#[test]
fn a_label_selector_that_is_none_matches_nothing() {
    let bad =
        json!({"labelSelector": {"matchExpressions": [{"key": "env", "operator": "Near", "values": ["x"]}]}});
    assert_eq!(mismatch(bad.clone()), Some(Mismatch::Labels));
    let raw = serde_json::from_value(bad).expect("an affinity");
    assert!(Affinity::compile(&raw).problem().is_some());
}

#[test]
fn a_field_that_is_not_set_is_in_nothing() {
    for (selector, matches) in [
        (field("region", "In", &["eu", "us"]), true),
        (field("region", "NotIn", &["eu"]), false),
        (field("provider", "In", &["aws", ""]), false),
        (field("provider", "NotIn", &["aws"]), true),
        (field("zone", "In", &["z2", "z9"]), true),
        (field("zone", "NotIn", &["z2"]), false),
        (field("zone", "NotIn", &["z9"]), true),
        (field("region", "Exists", &[]), false),
    ] {
        assert_eq!(mismatch(selector.clone()).is_none(), matches, "{selector}");
    }
    assert_eq!(mismatch(json!({"fieldSelector": {"matchExpressions": []}})), None);
}
