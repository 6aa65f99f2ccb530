//! Filters have the same verdicts on single clusters as on all clusters at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::columns::Columns;
use crate::question::Neighbors;
use crate::testing::{binding_value, cluster, cluster_value, record};

/// A change that is applied to a cluster.
type Change = fn(&mut Value);

/// Columns of clusters of which every filter refuses some.
fn columns() -> Columns {
    let changes: [(&str, Change); 8] = [
        ("a", |_| {}),
        ("b", |value| {
            value["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into()
        }),
        ("c", |value| value["status"]["apiEnablements"] = json!([])),
        ("d", |value| {
            value["status"]["apiEnablements"][0]["groupVersion"] = "batch/v1".into()
        }),
        (
            "e",
            |value| {
                value["spec"]["taints"] =
                    json!([{"key": "x", "effect": "PreferNoSchedule"}, {"key": "y", "effect": "NoExecute"}])
            },
        ),
        ("f", |value| value["spec"]["region"] = "".into()),
        ("g", |value| value["metadata"]["labels"] = json!({"env": "dev"})),
        ("h", |value| value["spec"]["provider"] = "".into()),
    ];
    let clusters = changes.map(|(name, change)| {
        let mut value = cluster_value(name, 10);
        value["metadata"]["labels"] = json!({"env": "prod"});
        value["spec"] = json!({"syncMode": "Push", "region": "eu", "provider": "aws", "zones": ["z"]});
        change(&mut value);
        cluster(&value)
    });
    Columns::build(clusters.iter())
}

#[test]
fn a_filter_says_the_same_of_one_cluster_as_of_all() {
    let columns = columns();
    let affinities = [
        json!({"clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}, "exclude": ["a"]}}),
        json!({"clusterAffinity": {"clusterNames": ["a", "g"]}}),
        json!({"clusterAffinities": [{"affinityName": "g1", "clusterNames": ["a"], "overflowAffinities": [
            {"affinityName": "o", "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}}]}]}),
        json!({}),
    ];
    let mut refused = BTreeSet::new();
    for mut placement in affinities {
        placement["spreadConstraints"] = ["provider", "region", "cluster"]
            .map(|field| json!({"spreadByField": field, "minGroups": 1, "maxGroups": 2}))
            .to_vec()
            .into();
        for held in ["", "c1 e1 h1"] {
            let mut value = binding_value(&placement, 3, held);
            value["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "a"}, {"fromCluster": "nobody"}]);
            let record = record(&value);
            let compiled = record.placement.as_ref().expect("a placement");
            let set = |names: &[&str]| names.iter().map(|name| std::sync::Arc::from(*name)).collect();
            let neighbors = Neighbors {
                affinity_peers: vec![set(&["a", "e"]), set(&[])],
                anti_affinity_peers: vec![set(&["g"])],
                ..Neighbors::default()
            };
            let question = Question::new(&columns, &record, compiled, &neighbors);
            let asked = GroupQuestion::new(&question, compiled.groups().first());
            for plugin in Plugin::ALL {
                let Refusals::List(together) = plugin.refuse(&asked, columns.count()) else {
                    panic!("{plugin:?} lists what it refuses");
                };
                let each =
                    (0..columns.count()).filter_map(|candidate| match plugin.check(&asked, candidate) {
                        Verdict::Pass => None,
                        Verdict::Reject(reason) => Some((candidate, reason)),
                    });
                assert_eq!(together, each.collect::<Vec<_>>(), "{plugin:?} of {placement}");
                refused.extend(together.first().map(|_| plugin.number()));
            }
        }
    }
    assert_eq!(refused.len(), Plugin::ALL.len(), "every filter refuses some");
}
