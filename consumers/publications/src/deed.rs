//! Task for one object: the difference between its wanted and its present form.

use std::sync::LazyLock;

use berth_apimachinery::{Key, Kind, Object, Revision};
use berth_apply::Types;
use berth_multicluster::{VERSION, kinds, mark, profile};
use serde_json::{Value, json};

/// Task for one object.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// The object is as wanted.
    Nothing,
    /// The object has to be written.
    Write(Change),
    /// The object is being deleted, which finalizers delay. Once it is deleted, it is created again.
    Terminating,
    /// The object belongs to another client, with this name.
    Foreign(String),
}

/// A write of one object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The object.
    pub(super) key: Key,
    /// Wanted object, without its status; `None` if the present object equals it.
    pub(super) main: Option<Value>,
    /// Wanted status.
    pub(super) status: Option<Value>,
    /// The compared revision; `None` if the object does not exist.
    pub(super) base: Option<Revision>,
    /// Whether only values of the status change, which may happen often, and not the health of the cluster.
    pub(super) is_fast: bool,
}

static PROFILE: LazyLock<Types> = LazyLock::new(|| Types::of(kinds::cluster_profile().schema(VERSION)));
static DECISION: LazyLock<Types> = LazyLock::new(|| Types::of(kinds::placement_decision().schema(VERSION)));

/// Whether Berth published `object`.
pub(super) fn is_ours(object: &Object) -> bool {
    object.annotations().contains_key(mark::PUBLICATION)
}

/// The task that changes the object at `key` from `old` to `wanted`.
pub(super) fn of(key: Key, old: Option<&Object>, wanted: &Value) -> Task {
    let (main, status) = parts(wanted);
    let Some(old) = old else {
        return Task::Write(Change {
            key,
            main: Some(main),
            status,
            base: None,
            is_fast: false,
        });
    };
    if !is_ours(old) {
        return Task::Foreign(owner(old.value()));
    }
    if old.meta().deletion_timestamp().is_some() {
        return Task::Terminating;
    }
    let types = match key.resource == berth_multicluster::CLUSTER_PROFILES {
        true => &PROFILE,
        false => &DECISION,
    };
    let live = old.parse_unmanaged();
    let differs = |config: &Value| types.merge(&live, config) != live;
    let main = Some(main).filter(&differs);
    let status = status.filter(&differs);
    if main.is_none() && status.is_none() {
        return Task::Nothing;
    }
    let is_fast = main.is_none() && profile::health(&live) == profile::health(wanted);
    // A status field that is no longer wanted changes only the digest, which is in the main object. So a
    // change of the main object also writes the status.
    let status = status.or_else(|| main.as_ref().and_then(|_| parts(wanted).1));
    Task::Write(Change {
        key,
        main,
        status,
        base: Some(old.revision()),
        is_fast,
    })
}

/// The object without its status, and the status alone.
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
    fn what_others_add_needs_no_write_and_what_they_change_does() {
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
        assert!(change.main.is_some() && !change.is_fast);
        assert_eq!(change.base, Some(Revision(7)));
    }

    #[test]
    fn values_of_the_status_may_change_often_and_health_is_told_at_once() {
        let live = object(&wanted("fine"));
        let fast = change(of(key(), Some(&live), &wanted("finer")));
        assert!(fast.is_fast && fast.main.is_none() && fast.status.is_some());
        let mut ill = wanted("ill");
        ill["status"]["conditions"][0]["status"] = "False".into();
        assert!(!change(of(key(), Some(&live), &ill)).is_fast);
    }

    #[test]
    fn what_is_not_ours_or_on_its_way_out_is_left_alone() {
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
