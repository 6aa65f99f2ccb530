//! A hub in memory: objects are stored as JSON or YAML, placements are decided, and writes are applied as by
//! an API server.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::{
    Ask, ChoiceRefusal, Consequences, Decision, Inventory, Report, Targets, Verb, Write,
};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{BINDINGS, CLUSTERS, DECISIONS, PLACEMENTS, SCORES, SETS};

/// The instant of decisions, unless a test sets another one. The scores of the examples are valid then.
pub(super) fn now() -> Timestamp {
    "2021-10-28T09:00:00Z".parse().unwrap()
}

#[derive(Clone, Default)]
pub(super) struct World {
    pub(super) fleet: Fleet,
    objects: BTreeMap<Key, Arc<Object>>,
    revision: u64,
}

fn resource(kind: &str) -> Option<GroupResource> {
    Some(match kind {
        "ManagedCluster" => CLUSTERS,
        "ManagedClusterSet" => SETS,
        "ManagedClusterSetBinding" => BINDINGS,
        "Placement" => PLACEMENTS,
        "PlacementDecision" => DECISIONS,
        "AddOnPlacementScore" => SCORES,
        _ => return None,
    })
}

pub(super) fn key_of(value: &Value) -> Option<Key> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    Some(Key::new(
        resource(text("/kind"))?,
        text("/metadata/namespace"),
        text("/metadata/name"),
    ))
}

/// The key of a Placement.
pub(super) fn placement(namespace: &str, name: &str) -> Key {
    Key::new(PLACEMENTS, namespace, name)
}

impl World {
    /// Loads the objects in `files`, which are YAML with several documents. Kinds of other groups are
    /// skipped.
    pub(super) fn load(files: &[&str]) -> Self {
        let mut world = Self::default();
        for file in files {
            let documents: Vec<Value> = serde_saphyr::from_multiple(file).unwrap();
            for document in documents.iter().filter(|document| key_of(document).is_some()) {
                world.put(document);
            }
        }
        world
    }

    /// Stores `value`, over an existing object.
    pub(super) fn put(&mut self, value: &Value) -> Consequences {
        let key = key_of(value).unwrap();
        let mut value = value.clone();
        if value["metadata"]["uid"].is_null() {
            value["metadata"]["uid"] = format!("uid-{key}").into();
        }
        self.revision += 1;
        let object = Arc::new(Object::new(&value, Revision(self.revision)).unwrap());
        let old = self.objects.insert(key.clone(), Arc::clone(&object));
        self.fleet.fold(&Change {
            revision: Revision(self.revision),
            key,
            old,
            new: Some(object),
        })
    }

    /// Deletes an object.
    pub(super) fn delete(&mut self, key: &Key) -> Consequences {
        self.revision += 1;
        let old = self.objects.remove(key);
        assert!(old.is_some(), "{key} not found");
        self.fleet.fold(&Change {
            revision: Revision(self.revision),
            key: key.clone(),
            old,
            new: None,
        })
    }

    /// Changes an object in place.
    pub(super) fn edit(&mut self, key: &Key, edit: impl FnOnce(&mut Value)) -> Consequences {
        let mut value = self.objects[key].parse();
        edit(&mut value);
        self.put(&value)
    }

    /// A new world with the same objects.
    pub(super) fn afresh(&self) -> Self {
        let mut world = Self::default();
        for object in self.objects.values() {
            world.put(&object.parse());
        }
        world
    }

    pub(super) fn get(&self, key: &Key) -> Value {
        self.objects[key].parse()
    }

    pub(super) fn decide_at(&self, placement: &Key, now: Timestamp) -> Decision {
        self.ask(placement, now, None).unwrap()
    }

    pub(super) fn decide(&self, placement: &Key) -> Decision {
        self.decide_at(placement, now())
    }

    pub(super) fn ask(
        &self,
        placement: &Key,
        now: Timestamp,
        chosen: Option<&[String]>,
    ) -> Result<Decision, ChoiceRefusal> {
        self.fleet
            .decide(&Ask {
                demand: placement,
                now,
                seed: 0,
                chosen,
            })
            .unwrap()
    }

    /// The names of the picked clusters, best first.
    pub(super) fn picked(&self, decision: &Decision) -> Vec<String> {
        decision
            .solved
            .picked
            .iter()
            .map(|&candidate| self.fleet.cluster_name(candidate).to_string())
            .collect()
    }

    pub(super) fn report(&self, decision: &Decision) -> Report {
        berth_dialect_contract::report::report("ocm", &self.fleet, self.revision, decision)
    }

    /// Applies one write as an API server would: creations and updates without a subresource do not change
    /// the status.
    pub(super) fn apply(&mut self, write: &Write) -> Consequences {
        let known = self.objects.get(&write.key).map(|object| object.parse());
        if let Some(base) = write.base {
            assert_eq!(self.objects[&write.key].revision(), base, "{}", write.key);
        }
        assert!(write.object["metadata"]["resourceVersion"].is_null());
        let mut object = write.object.clone();
        match (write.verb, write.subresource) {
            (Verb::Delete, _) => return self.delete(&write.key),
            (Verb::Create, _) => {
                assert!(known.is_none(), "{} is there already", write.key);
                object.as_object_mut().unwrap().remove("status");
            }
            (Verb::Update, "status") => {
                let status = object["status"].take();
                object = known.unwrap();
                object["status"] = status;
            }
            (Verb::Update, _) => {
                let known = known.unwrap();
                object.as_object_mut().unwrap().remove("status");
                if !known["status"].is_null() {
                    object["status"] = known["status"].clone();
                }
            }
        }
        self.put(&object)
    }

    /// Decides the placement and applies every write. Returns the decision.
    pub(super) fn settle(&mut self, placement: &Key) -> Decision {
        let decision = self.decide(placement);
        for write in self.fleet.writes(&decision) {
            self.apply(&write);
        }
        decision
    }

    /// The clusters that the PlacementDecisions of `placement` list, by object name.
    pub(super) fn listed(&self, placement: &Key) -> Vec<(String, Vec<String>)> {
        let own = self.fleet.own_decisions(placement);
        own.iter()
            .map(|decision| {
                let names = decision.clusters.iter().map(|cluster| cluster.name.to_string());
                (decision.object.meta().name().to_owned(), names.collect())
            })
            .collect()
    }

    /// Every listed cluster, sorted.
    pub(super) fn bound(&self, placement: &Key) -> Vec<String> {
        let mut all: Vec<String> = self
            .listed(placement)
            .into_iter()
            .flat_map(|(_, names)| names)
            .collect();
        all.sort();
        all
    }
}

/// A cluster in the set `columns`.
pub(super) fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/clusterset": "fleet"}},
        "spec": {"hubAcceptsClient": true},
    })
}

/// A hub with the set `columns`, which is bound to the namespace `ns`.
pub(super) fn columns(clusters: &[&str]) -> World {
    let mut world = World::default();
    world.put(&json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
        "metadata": {"name": "fleet"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
    }));
    world.put(&binding("ns", "fleet"));
    for name in clusters {
        world.put(&cluster(name));
    }
    world
}

pub(super) fn binding(namespace: &str, set: &str) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": {"name": set, "namespace": namespace}, "spec": {"clusterSet": set},
    })
}

/// A Placement `name` in the namespace `ns`.
pub(super) fn wants(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": name, "namespace": "ns"}, "spec": spec,
    })
}

/// The scores of `cluster` in the object `default`.
pub(super) fn scores(cluster: &str, values: &Value, valid_until: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore",
        "metadata": {"name": "default", "namespace": cluster},
        "status": {"scores": values, "validUntil": valid_until},
    })
}

/// A PlacementDecision of another placement that lists `clusters`.
pub(super) fn foreign(name: &str, clusters: &[&str]) -> Value {
    let listed: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
        "metadata": {"name": name, "namespace": "other", "labels": {"cluster.open-cluster-management.io/placement": name}},
        "status": {"decisions": listed},
    })
}

/// A list in the spec of a Placement with a largest length.
pub(super) struct LimitedList {
    /// The path of the list.
    pub(super) path: &'static str,
    /// The largest length.
    pub(super) max: usize,
    /// A spec with a list of this length.
    pub(super) spec: fn(usize) -> Value,
}

/// Every list in the spec of a Placement with a largest length.
pub(super) fn limited_lists() -> [LimitedList; 3] {
    [
        LimitedList {
            path: "spec.predicates",
            max: 1_000,
            spec: |count| json!({"predicates": vec![json!({"requiredClusterSelector": {}}); count]}),
        },
        LimitedList {
            path: "spec.prioritizerPolicy.configurations",
            max: 100,
            spec: |count| {
                let configuration = |index: usize| {
                    let score = json!({"resourceName": "default", "scoreName": format!("s{index}")});
                    json!({"scoreCoordinate": {"type": "AddOn", "addOn": score}, "weight": 1})
                };
                let configurations: Vec<Value> = (0..count).map(configuration).collect();
                json!({"prioritizerPolicy": {"configurations": configurations}})
            },
        },
        LimitedList {
            path: "spec.decisionStrategy.groupStrategy.decisionGroups",
            max: 1_000,
            spec: |count| {
                let groups = vec![json!({"groupName": "all", "groupClusterSelector": {}}); count];
                json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": groups}}})
            },
        },
    ]
}
