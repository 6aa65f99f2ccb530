//! A hub in memory, for unit tests.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision};
use berth_dialect_contract::{Ask, ChoiceRefusal, Consequences, Decision, Inventory, Verb};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{
    BINDINGS, CLUSTERS, PLACEMENTS, RESOURCE_BINDINGS, RESOURCE_PLACEMENTS, RESOURCE_SNAPSHOTS, SNAPSHOTS,
};

/// The time of the decisions.
pub(crate) const NOW: &str = "2021-10-28T09:00:00Z";

/// A hub in memory: the inventory into which all stored objects are folded.
#[derive(Default)]
pub(crate) struct TestHub {
    pub(crate) fleet: Fleet,
}

/// The key of the object `value`.
pub(crate) fn key(value: &Value) -> Key {
    let resource: GroupResource = match value["kind"].as_str().unwrap_or_default() {
        "MemberCluster" => CLUSTERS,
        "ClusterResourcePlacement" => PLACEMENTS,
        "ClusterSchedulingPolicySnapshot" => SNAPSHOTS,
        "ClusterResourceBinding" => BINDINGS,
        "ResourcePlacement" => RESOURCE_PLACEMENTS,
        "SchedulingPolicySnapshot" => RESOURCE_SNAPSHOTS,
        "ResourceBinding" => RESOURCE_BINDINGS,
        _ => berth_dialect_contract::config::RESOURCE,
    };
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
    Key::new(resource, text("namespace"), text("name"))
}

/// An eligible MemberCluster.
pub(crate) fn cluster(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels},
        "status": {"agentStatus": [{"type": "MemberAgent", "lastReceivedHeartbeat": "2021-10-28T08:59:00Z",
            "conditions": [{"type": "Joined", "status": "True"}, {"type": "Healthy", "status": "True"}]}]},
    })
}

/// A ClusterResourcePlacement named `p`.
pub(crate) fn placement(policy: &Value) -> Value {
    json!({
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1", "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p", "uid": "u", "generation": 1},
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "app"}], "policy": policy},
    })
}

/// The key of the ClusterResourcePlacement `p`.
pub(crate) fn placement_key() -> Key {
    Key::new(PLACEMENTS, "", "p")
}

/// A ResourcePlacement named `p` in the namespace `team`.
pub(crate) fn resource_placement(policy: &Value) -> Value {
    let mut value = placement(policy);
    value["kind"] = "ResourcePlacement".into();
    value["metadata"]["namespace"] = "team".into();
    value["metadata"]["uid"] = "v".into();
    value["spec"]["resourceSelectors"][0]["kind"] = "ConfigMap".into();
    value
}

impl TestHub {
    /// Creates a hub with these `objects`.
    pub(crate) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut hub = Self::default();
        for object in objects {
            hub.put(&object);
        }
        hub
    }

    /// Stores an object on the hub.
    pub(crate) fn put(&mut self, value: &Value) -> Consequences {
        let object = Arc::new(Object::new(value, Revision(1)).unwrap());
        self.fleet.fold(&Change::added(key(value), object))
    }

    /// Deletes an object from the hub.
    pub(crate) fn remove(&mut self, value: &Value) -> Consequences {
        let old = Arc::new(Object::new(value, Revision(2)).unwrap());
        self.fleet.fold(&Change {
            revision: Revision(2),
            key: key(value),
            old: Some(old),
            new: None,
        })
    }

    /// Decides the ClusterResourcePlacement `p`. The caller chooses the clusters in `chosen`, unless it is
    /// empty.
    pub(crate) fn choose(&self, chosen: &[&str]) -> Result<Decision, ChoiceRefusal> {
        self.choose_for(&placement_key(), chosen)
    }

    /// Decides the placement at `demand`. The caller chooses the clusters in `chosen`, unless it is empty.
    pub(crate) fn choose_for(&self, demand: &Key, chosen: &[&str]) -> Result<Decision, ChoiceRefusal> {
        let chosen: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
        let ask = Ask {
            demand,
            now: NOW.parse().unwrap(),
            seed: 0,
            chosen: (!chosen.is_empty()).then_some(chosen.as_slice()),
        };
        self.fleet.decide(&ask).unwrap()
    }

    /// Decides the ClusterResourcePlacement `p`, and applies the writes. Returns the consequences of the
    /// writes.
    pub(crate) fn apply_decision(&mut self) -> Vec<Consequences> {
        self.apply_decision_for(&placement_key())
    }

    /// Decides the placement at `demand`, and applies the writes. Returns the consequences of the writes.
    pub(crate) fn apply_decision_for(&mut self, demand: &Key) -> Vec<Consequences> {
        let decision = self.choose_for(demand, &[]).unwrap();
        let writes = self.fleet.writes(&decision);
        let consequences = writes.into_iter().map(|write| match write.verb {
            Verb::Delete => self.remove(&write.object),
            Verb::Create | Verb::Update => self.put(&write.object),
        });
        consequences.collect()
    }

    /// The stored bindings of the ClusterResourcePlacement `p`.
    pub(crate) fn bindings(&self) -> Vec<Value> {
        self.bindings_for(&placement_key())
    }

    /// The stored bindings of the placement at `demand`.
    pub(crate) fn bindings_for(&self, demand: &Key) -> Vec<Value> {
        self.fleet
            .bindings_of(demand)
            .map(|binding| binding.object.parse())
            .collect()
    }
}
