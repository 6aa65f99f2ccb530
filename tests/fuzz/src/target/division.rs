//! Bindings of Karmada with any spec: they are read or left out, decided or refused, and never get more
//! replicas than they request.

use std::sync::{Arc, OnceLock};

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{Ask, Inventory, report};
use serde_json::{Value, json};

use super::Target;

/// The target.
pub(super) const TARGET: Target = Target {
    name: "division of replicas",
    seeds: &[
        r#"{"replicas":12,"placement":{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"dynamicWeight":"AvailableReplicas"}}}}"#,
        r#"{"replicas":7,"clusters":[{"name":"a","replicas":3}],"placement":{"replicaScheduling":{"replicaDivisionPreference":"Aggregated"},"spreadConstraints":[{"spreadByField":"region","minGroups":1,"maxGroups":2},{"spreadByField":"cluster","maxGroups":3}]}}"#,
        r#"{"replicas":3,"placement":{"clusterAffinities":[{"affinityName":"g","clusterNames":["a"],"overflowAffinities":[{"affinityName":"o","exclude":["a"]}]}],"replicaScheduling":{"replicaDivisionPreference":"Aggregated"}}}"#,
        r#"{"replicas":2147483647,"replicaRequirements":{"resourceRequest":{"cpu":"1n","memory":"1Ei"}},"placement":{}}"#,
    ],
    words: &[
        "\"staticWeightList\":[{\"targetCluster\":{\"clusterNames\":[\"a\"]},\"weight\":9223372036854775807}]",
        "\"maxGroups\":0",
        "\"minGroups\":-1",
        "\"replicas\":-1",
        "\"fieldSelector\":{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"NotIn\",\"values\":[\"z\"]}]}",
        "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"\",\"operator\":\"In\"}]}",
        "\"clusterTolerations\":[{\"operator\":\"Exists\"}]",
        "\"gracefulEvictionTasks\":[{\"fromCluster\":\"b\"}]",
        "2147483648",
        "null",
        "{}",
    ],
    run,
};

const CLUSTERS: GroupResource = GroupResource::new("cluster.karmada.io", "clusters");
const BINDINGS: GroupResource = GroupResource::new("work.karmada.io", "resourcebindings");

fn put(inventory: &mut Arc<dyn Inventory>, key: Key, value: &Value) {
    let Ok(object) = Object::new(value, Revision(1)) else {
        return;
    };
    let change = Change {
        revision: Revision(1),
        key,
        old: None,
        new: Some(Arc::new(object)),
    };
    Arc::get_mut(inventory).expect("nobody else has it").fold(&change);
}

/// Four clusters in two regions.
fn fleet() -> &'static Arc<dyn Inventory> {
    static FLEET: OnceLock<Arc<dyn Inventory>> = OnceLock::new();
    FLEET.get_or_init(|| {
        let karmada = berth_dialect_registry::by_name("karmada").expect("Karmada is registered");
        let mut inventory = karmada.inventory();
        for (name, region, pods) in [("a", "x", 10), ("b", "x", 6), ("c", "y", 6), ("d", "y", 0)] {
            let cluster = json!({
                "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
                "spec": {"syncMode": "Push", "region": region},
                "status": {
                    "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
                    "resourceSummary": {"allocatable": {"pods": pods.to_string(), "cpu": "4", "memory": "8Gi"}},
                },
            });
            put(&mut inventory, Key::new(CLUSTERS, "", name), &cluster);
        }
        inventory
    })
}

fn run(input: &[u8]) {
    let Ok(mut spec) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    if !spec.is_object() {
        return;
    }
    spec["resource"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "t"});
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "t", "namespace": "n", "labels": {"propagationpolicy.karmada.io/permanent-id": "p"}},
        "spec": spec,
    });
    let demand = Key::new(BINDINGS, "n", "t");
    let mut inventory = fleet().fork();
    put(&mut inventory, demand.clone(), &binding);
    let ask = Ask {
        demand: &demand,
        now: Timestamp::UNIX_EPOCH,
        seed: 1,
        chosen: None,
    };
    let Some(Ok(decision)) = inventory.decide(&ask) else {
        return;
    };
    let amounts = &decision.amounts;
    assert!(amounts.is_empty() || amounts.len() == decision.solved.picked.len());
    assert!(amounts.iter().all(|amount| *amount >= 0), "{amounts:?}");
    let report = report::report("karmada", &*inventory, 1, &decision);
    assert!(serde_json::to_vec(&report).is_ok());
}
