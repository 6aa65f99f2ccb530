//! Copies of statuses in namespaces, with objects in memory.

use std::collections::BTreeMap;

use berth_apimachinery::Revision;
use berth_dialect_contract::{Inventory, Objects};

use super::*;

#[derive(Default)]
struct Memory(BTreeMap<Key, Arc<Object>>);

impl Objects for Memory {
    fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.0.get(key)
    }

    fn list<'a>(
        &'a self,
        resource: GroupResource,
        namespace: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        let inside = move |key: &&Key| {
            key.resource == resource && namespace.is_none_or(|namespace| *key.namespace == *namespace)
        };
        Box::new(self.0.keys().filter(inside).map(|key| &self.0[key]))
    }
}

#[derive(Default)]
struct World {
    memory: Memory,
    fleet: Fleet,
    revision: u64,
    now: i64,
}

fn key_of(value: &Value) -> Key {
    let text = |name: &str| value["metadata"][name].as_str().unwrap_or_default();
    let resource = match value["kind"].as_str() {
        Some("Namespace") => NAMESPACES,
        Some("ClusterResourcePlacementStatus") => STATUS_COPIES,
        _ => PLACEMENTS,
    };
    Key::new(resource, text("namespace"), text("name"))
}

impl World {
    fn of(objects: &[Value]) -> Self {
        let mut world = Self::default();
        for object in objects {
            world.store(object);
        }
        world
    }

    fn context(&self) -> Context<'_> {
        Context {
            objects: &self.memory,
            inventory: &self.fleet,
            now: Timestamp::from_second(self.now).expect("it is a time"),
        }
    }

    /// Stores `new` at `key`. Returns the keys that become due.
    fn put(&mut self, key: Key, new: Option<&Value>) -> Vec<String> {
        self.revision += 1;
        let revision = Revision(self.revision);
        let new = new.map(|value| Arc::new(Object::new(value, revision).expect("it is an object")));
        let old = match &new {
            Some(object) => self.memory.0.insert(key.clone(), Arc::clone(object)),
            None => self.memory.0.remove(&key),
        };
        let change = Change {
            revision,
            key,
            old,
            new,
        };
        self.fleet.fold(&change);
        let due = StatusCopier.due(&change, &self.context());
        due.iter()
            .map(|key| format!("{}/{}", key.namespace, key.name))
            .collect()
    }

    fn store(&mut self, value: &Value) -> Vec<String> {
        self.put(key_of(value), Some(value))
    }

    fn remove(&mut self, value: &Value) -> Vec<String> {
        self.put(key_of(value), None)
    }

    /// Handles all due keys, and those that become due by the writes, until none is left. Returns the number
    /// of writes.
    fn settle(&mut self) -> usize {
        let mut due = StatusCopier.all(&self.context());
        let mut count = 0;
        while let Some(key) = due.pop() {
            for write in StatusCopier.step(&key, &self.context()).writes {
                count += 1;
                assert!(count < 20, "it never settles");
                let new = Some(&write.object).filter(|_| write.verb != Verb::Delete);
                self.put(write.key, new);
            }
        }
        count
    }

    fn at(&self, resource: GroupResource, namespace: &str, name: &str) -> Value {
        let object = self.memory.0.get(&Key::new(resource, namespace, name));
        object.map(|object| object.parse()).unwrap_or_default()
    }

    /// Status, reason and message of the condition about the report.
    fn told(&self) -> String {
        let placement = self.at(PLACEMENTS, "", "p");
        let conditions = placement["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions.iter().find(|known| known["type"] == STATUS_SYNCED);
        found.map_or_else(String::new, |known| {
            format!("{} {}: {}", known["status"], known["reason"], known["message"]).replace('"', "")
        })
    }
}

fn placement(namespace: &str) -> Value {
    json!({
        "apiVersion": PLACEMENT_API_VERSION, "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p", "uid": "u", "generation": 2},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": namespace}],
            "statusReportingScope": "NamespaceAccessible",
        },
        "status": {"observedResourceIndex": "0", "conditions": [scheduled("True")]},
    })
}

fn scheduled(status: &str) -> Value {
    json!({
        "type": "ClusterResourcePlacementScheduled", "status": status, "reason": "SchedulingPolicyFulfilled", "message": "",
        "lastTransitionTime": "2021-10-28T09:00:00Z", "observedGeneration": 2,
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

#[test]
fn the_namespace_shows_the_status_of_its_placement_and_follows_it() {
    let mut world = World::of(&[namespace("app"), namespace("other")]);
    assert_eq!(world.store(&placement("app")), ["app/p"]);
    assert_eq!(world.settle(), 2, "the report, and the condition about it");
    let report = world.at(STATUS_COPIES, "app", "p");
    assert_eq!(
        report["sourceStatus"],
        json!({"observedResourceIndex": "0", "conditions": [scheduled("True")]})
    );
    assert_eq!(report["lastUpdatedTime"], "1970-01-01T00:00:00Z");
    assert_eq!(report["metadata"]["ownerReferences"][0]["uid"], "u");
    assert_eq!(
        world.told(),
        "True StatusSyncSucceeded: the status is in the ClusterResourcePlacementStatus p of the namespace app"
    );
    assert_eq!(world.settle(), 0, "its own condition is nothing to report");

    world.now = 60;
    let mut changed = world.at(PLACEMENTS, "", "p");
    changed["status"]["conditions"][0] = scheduled("False");
    assert_eq!(world.store(&changed), ["app/p"]);
    assert_eq!(world.settle(), 1);
    let report = world.at(STATUS_COPIES, "app", "p");
    assert_eq!(report["sourceStatus"]["conditions"], json!([scheduled("False")]));
    assert_eq!(report["lastUpdatedTime"], "1970-01-01T00:01:00Z");

    let mut forged = report.clone();
    forged["sourceStatus"] = json!({});
    assert_eq!(
        world.store(&forged),
        ["app/p"],
        "what others write into it is put right"
    );
    assert_eq!(world.remove(&forged), ["app/p"], "and made again");
    assert_eq!(world.settle(), 1);
    assert_eq!(
        world.at(STATUS_COPIES, "app", "p")["sourceStatus"],
        report["sourceStatus"]
    );
}

#[test]
fn a_namespace_that_is_not_there_is_told_and_one_that_comes_is_written_to() {
    let mut world = World::of(&[namespace("other"), placement("app")]);
    assert_eq!(world.settle(), 1);
    assert_eq!(
        world.told(),
        "False StatusSyncFailed: there is no namespace app: create it, or select another one"
    );
    assert_eq!(world.store(&namespace("app")), ["app/p"]);
    assert_eq!(world.settle(), 2);
    let mut leaving = namespace("app");
    leaving["metadata"]["deletionTimestamp"] = json!("2021-10-28T09:00:00Z");
    assert_eq!(world.store(&leaving), ["app/p"]);
    assert_eq!(world.settle(), 1);
    assert_eq!(
        world.told(),
        "False StatusSyncFailed: the namespace app is being deleted"
    );
}

#[test]
fn a_report_goes_from_where_it_is_not_wanted_any_more_and_others_stay() {
    let mut world = World::of(&[namespace("app"), namespace("other"), placement("app")]);
    world.settle();
    let mut moved = world.at(PLACEMENTS, "", "p");
    moved["spec"]["resourceSelectors"][0]["name"] = json!("other");
    assert_eq!(world.store(&moved), ["app/p", "other/p"]);
    world.settle();
    assert_eq!(world.at(STATUS_COPIES, "app", "p"), Value::Null);
    assert_eq!(world.at(STATUS_COPIES, "other", "p")["metadata"]["name"], "p");
    world.remove(&moved);
    world.settle();
    assert_eq!(world.at(STATUS_COPIES, "other", "p"), Value::Null);

    let own = json!({
        "apiVersion": PLACEMENT_API_VERSION, "kind": "ClusterResourcePlacementStatus",
        "metadata": {"name": "mine", "namespace": "app"}, "sourceStatus": {},
    });
    assert_eq!(world.store(&own), [""; 0]);
    assert_eq!(world.settle(), 0, "somebody made it for themselves");
}

#[test]
fn the_status_stays_where_it_is_unless_one_namespace_is_to_show_it() {
    let mut of_hub = placement("app");
    of_hub["spec"]["statusReportingScope"] = json!("ClusterScopeOnly");
    let mut unclear = placement("app");
    let selector = unclear["spec"]["resourceSelectors"][0].clone();
    unclear["spec"]["resourceSelectors"] = json!([selector, selector]);
    let mut unnamed = placement("app");
    unnamed["spec"]["resourceSelectors"][0]["name"] = json!("");
    for placement in [of_hub, unclear, unnamed] {
        let mut world = World::of(&[namespace("app"), placement.clone()]);
        assert_eq!(world.settle(), 0, "{placement}");
    }
    let mut elsewhere = World::of(&[placement("app")]);
    assert_eq!(
        elsewhere.settle(),
        2,
        "a server that follows no namespaces judges none"
    );
}
