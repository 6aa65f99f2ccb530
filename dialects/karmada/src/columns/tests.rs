//! Updated columns are equal to newly built ones.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::affinity::Affinity;
use crate::testing::{cluster, cluster_value};

/// One version of the cluster with the index `index`.
fn reading(index: usize) -> impl Strategy<Value = Arc<Cluster>> {
    let one = |values: &'static [&'static str]| prop::sample::select(values);
    (
        one(&["prod", "dev", ""]),
        one(&["eu", "us", ""]),
        prop::sample::subsequence(vec!["z1", "z2"], 0..=2),
        one(&["gpu", "edge", ""]),
        one(&["Deployment", "Job", ""]),
        prop::bool::weighted(0.2),
        0_u32..3,
    )
        .prop_map(move |(env, region, zones, taint, kind, is_deleting, models)| {
            let mut value = cluster_value(&format!("c{index}"), 10);
            if !env.is_empty() {
                value["metadata"]["labels"] = json!({"env": env});
            }
            if is_deleting {
                value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            }
            value["spec"] = json!({"syncMode": "Push", "region": region, "zones": zones});
            if !taint.is_empty() {
                value["spec"]["taints"] = json!([{"key": taint, "effect": "NoSchedule"}]);
            }
            if kind.is_empty() {
                value["status"]["apiEnablements"] = json!([]);
            } else {
                value["status"]["apiEnablements"][0]["resources"][0]["kind"] = kind.into();
            }
            if models > 0 {
                let least = models.to_string();
                value["spec"]["resourceModels"] =
                    json!([{"grade": 0, "ranges": [{"name": "cpu", "min": least, "max": "9"}]}]);
                value["status"]["resourceSummary"]["allocatableModelings"] =
                    json!([{"grade": 0, "count": 2}]);
            }
            cluster(&value)
        })
}

fn affinities() -> Vec<Affinity> {
    let field = |key: &str, operator: &str, values: &[&str]| json!({"fieldSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}});
    let all: Vec<Value> = vec![
        json!({}),
        json!({"labelSelector": {"matchLabels": {"env": "prod"}}, "exclude": ["c1"]}),
        json!({"labelSelector": {"matchExpressions": [{"key": "env", "operator": "Near"}]}}),
        json!({"clusterNames": ["c0", "c3", "nobody"], "exclude": ["c3"]}),
        field("region", "In", &["eu", ""]),
        field("region", "NotIn", &["eu"]),
        field("provider", "NotIn", &["aws"]),
        field("zone", "In", &["z2", "z9"]),
        field("zone", "NotIn", &["z1"]),
        field("zone", "Exists", &[]),
        field("planet", "NotIn", &["earth"]),
    ];
    let compiled = all
        .into_iter()
        .map(|raw| serde_json::from_value(raw).expect("an affinity"));
    compiled.map(|raw| Affinity::compile(&raw)).collect()
}

/// All content of `columns` about each cluster, in words.
fn said(columns: &Columns) -> Vec<String> {
    let affinities = affinities();
    let meant: Vec<Bits> = affinities
        .iter()
        .map(|affinity| affinity.select(columns))
        .collect();
    let taints = columns.taints.judge(|taints| format!("{taints:?}"));
    let apis = columns.apis.judge(|apis| format!("{apis:?}"));
    let shapes = columns.shapes.judge(|shape| format!("{shape:?}"));
    let each = 0..columns.count();
    each.map(|candidate| {
        let meant: Vec<bool> = meant.iter().map(|meant| meant.has(candidate)).collect();
        let leaves = columns.deleting.has(candidate);
        let (taints, apis) = (
            &taints[columns.taints.number_of(candidate)],
            &apis[columns.apis.number_of(candidate)],
        );
        let shape = &shapes[columns.shapes.number_of(candidate)];
        format!(
            "{} {leaves} {meant:?} {taints} {apis} {shape}",
            columns.row(candidate).name
        )
    })
    .collect()
}

proptest! {
    #[test]
    fn columns_that_change_are_those_that_are_built_anew(
        first in (0..6_usize).map(reading).collect::<Vec<_>>(),
        later in prop::collection::vec((0..6_usize).prop_flat_map(reading), 0..12),
    ) {
        let mut clusters = first;
        let mut columns = Columns::build(clusters.iter());
        for row in later {
            columns.replace(&row);
            let place = clusters.iter().position(|known| known.name == row.name).expect("it is there");
            clusters[place] = row;
            prop_assert_eq!(said(&columns), said(&Columns::build(clusters.iter())));
        }
    }

    #[test]
    fn an_affinity_means_of_all_clusters_those_that_it_means_one_by_one(
        clusters in (0..6_usize).map(reading).collect::<Vec<_>>(),
    ) {
        let columns = Columns::build(clusters.iter());
        for affinity in affinities() {
            let one_by_one: Vec<bool> = clusters.iter().map(|cluster| affinity.matches(cluster)).collect();
            let selected = affinity.select(&columns);
            let together: Vec<bool> = (0..columns.count()).map(|candidate| selected.has(candidate)).collect();
            prop_assert_eq!(together, one_by_one, "{:?}", affinity);
        }
    }
}

#[test]
fn values_that_no_cluster_has_any_more_are_dropped() {
    let tainted = |turn: i32| {
        let mut value = cluster_value("c0", 1);
        value["spec"]["taints"] = json!([{"key": format!("turn-{turn}"), "effect": "NoSchedule"}]);
        cluster(&value)
    };
    let mut columns = Columns::build([tainted(0)].iter());
    for turn in 1..500 {
        columns.replace(&tainted(turn));
    }
    assert!(columns.taints.judge(|_| ()).len() < 100);
    assert_eq!(
        columns
            .taints
            .judge_candidates(|taints| Some(taints[0].key == "turn-499")),
        [(0, true)]
    );
}
