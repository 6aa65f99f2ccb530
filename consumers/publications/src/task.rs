//! Task for one published object: the difference between the wanted and the stored object.

use std::sync::LazyLock;

use berth_apimachinery::{Key, Kind, Object, Revision};
use berth_apply::Types;
use berth_multicluster::{VERSION, kinds, mark, profile};
use serde_json::{Value, json};

/// Task for one published object.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// The object is as wanted.
    Nothing,
    /// The object has to be written.
    Write(Change),
    /// The object is being deleted, and finalizers delay the deletion. Afterwards the object is created
    /// again.
    Terminating,
    /// An object with this name exists already, and belongs to the client with the contained name.
    Foreign(String),
}

/// A write of one object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Key of the object.
    pub(super) key: Key,
    /// The configuration to apply to the object without its status; `None` if only the status differs.
    pub(super) main: Option<Value>,
    /// The configuration to apply to the status; `None` if the object has no status, or the status is not
    /// written.
    pub(super) status: Option<Value>,
    /// The compared revision of the object; `None` if the object does not exist.
    pub(super) base: Option<Revision>,
    /// Whether the change may come often: only values of the status change, and not the health of the
    /// cluster.
    pub(super) is_frequent: bool,
}

/// Field types of ClusterProfiles, for the comparison by a merge.
static PROFILE_TYPES: LazyLock<Types> = LazyLock::new(|| Types::of(kinds::cluster_profile().schema(VERSION)));
/// Field types of PlacementDecisions, for the comparison by a merge.
static DECISION_TYPES: LazyLock<Types> =
    LazyLock::new(|| Types::of(kinds::placement_decision().schema(VERSION)));

/// Whether Berth published `object`.
pub(super) fn is_ours(object: &Object) -> bool {
    object.annotations().contains_key(mark::PUBLICATION)
}

/// The task after which the object at `key`, now `old`, has the fields of `wanted`.
pub(super) fn of(key: Key, old: Option<&Object>, wanted: &Value) -> Task {
    let (main, status) = parts(wanted);
    let Some(old) = old else {
        return Task::Write(Change {
            key,
            main: Some(main),
            status,
            base: None,
            is_frequent: false,
        });
    };
    if !is_ours(old) {
        return Task::Foreign(owner(old.value()));
    }
    if old.meta().deletion_timestamp().is_some() {
        return Task::Terminating;
    }
    let types = match key.resource == berth_multicluster::CLUSTER_PROFILES {
        true => &PROFILE_TYPES,
        false => &DECISION_TYPES,
    };
    let live = old.parse_unmanaged();
    let differs = |config: &Value| types.merge(&live, config) != live;
    let main = Some(main).filter(&differs);
    let status = status.filter(&differs);
    if main.is_none() && status.is_none() {
        return Task::Nothing;
    }
    let is_frequent = main.is_none() && profile::health(&live) == profile::health(wanted);
    // A status field that is no longer wanted changes only the digest, which is in the main object. So a
    // change of the main object also writes the status.
    let status = status.or_else(|| main.as_ref().and_then(|_| parts(wanted).1));
    Task::Write(Change {
        key,
        main,
        status,
        base: Some(old.revision()),
        is_frequent,
    })
}

/// Splits `wanted` into the object without its status, and the status.
fn parts(wanted: &Value) -> (Value, Option<Value>) {
    let mut main = wanted.clone();
    let status = main.as_object_mut().and_then(|fields| fields.remove("status"));
    let status = status.map(|status| {
        let metadata = &wanted["metadata"];
        json!({
            "apiVersion": wanted["apiVersion"], "kind": wanted["kind"],
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "status": status,
        })
    });
    (main, status)
}

/// The owner of an object that Berth did not publish, according to the object itself.
fn owner(object: &Value) -> String {
    let producer = object["spec"]["clusterManager"]["name"]
        .as_str()
        .or_else(|| object["schedulerName"].as_str());
    producer
        .filter(|name| !name.is_empty())
        .map_or_else(|| "another program".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Object {
        Object::new(value, Revision(7)).unwrap()
    }

    fn wanted(message: &str) -> Value {
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "a", "namespace": "n", "annotations": {mark::PUBLICATION: "p"}},
            "spec": {"clusterManager": {"name": "berth"}},
            "status": {"conditions": [{"type": "ControlPlaneHealthy", "status": "True", "message": message}]},
        })
    }

    fn key() -> Key {
        Key::new(berth_multicluster::CLUSTER_PROFILES, "n", "a")
    }

    fn change(task: Task) -> Change {
        match task {
            Task::Write(change) => change,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_of_other_clients_need_no_write_and_their_changes_of_our_fields_do() {
        let mut live = wanted("fine");
        live["metadata"]["finalizers"] = json!(["x.example/y"]);
        live["metadata"]["labels"] = json!({"team": "a"});
        let added = json!({"type": "Joined", "status": "True"});
        live["status"]["conditions"]
            .as_array_mut()
            .unwrap()
            .insert(0, added);
        assert!(matches!(
            of(key(), Some(&object(&live)), &wanted("fine")),
            Task::Nothing
        ));
        live["spec"]["clusterManager"]["name"] = "other".into();
        let change = change(of(key(), Some(&object(&live)), &wanted("fine")));
        assert!(change.main.is_some() && !change.is_frequent);
        assert_eq!(change.base, Some(Revision(7)));
    }

    #[test]
    fn changes_of_status_values_are_frequent_and_changes_of_health_are_not() {
        let live = object(&wanted("fine"));
        let fast = change(of(key(), Some(&live), &wanted("finer")));
        assert!(fast.is_frequent && fast.main.is_none() && fast.status.is_some());
        let mut ill = wanted("ill");
        ill["status"]["conditions"][0]["status"] = "False".into();
        assert!(!change(of(key(), Some(&live), &ill)).is_frequent);
    }

    #[test]
    fn foreign_and_terminating_objects_are_not_written() {
        let mut foreign = wanted("fine");
        foreign["metadata"].as_object_mut().unwrap().remove("annotations");
        foreign["spec"]["clusterManager"]["name"] = "KubeFleet".into();
        let task = of(key(), Some(&object(&foreign)), &wanted("fine"));
        assert!(matches!(task, Task::Foreign(maker) if maker == "KubeFleet"));
        let mut leaving = wanted("other");
        leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert!(matches!(
            of(key(), Some(&object(&leaving)), &wanted("fine")),
            Task::Terminating
        ));
        assert!(change(of(key(), None, &wanted("fine"))).base.is_none());
    }
}
