//! Objects, fleets and decisions for tests.

use std::sync::Arc;

use berth_apimachinery::{Change, GroupResource, Key, Object, Revision, Timestamp};
use berth_dialect_contract::Consequences;
use berth_dialect_contract::{Ask, ChoiceRefusal, Decision, Inventory, config};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::names::{LOCATIONS, NAMESPACES, PLACEMENT, WORKLOAD_CLUSTERS};

/// The instant of decisions in tests.
pub(crate) fn now() -> Timestamp {
    berth_apimachinery::time::parse("2021-10-28T09:00:00Z").unwrap()
}

/// A ready WorkloadCluster with the label `region`.
pub(crate) fn cluster(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "workloads.kcp.dev/v1alpha1", "kind": "WorkloadCluster",
        "metadata": {"name": name, "labels": {"region": region}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A Location of the workload clusters whose label `region` is `name`.
pub(crate) fn location(name: &str) -> Value {
    json!({
        "apiVersion": "scheduling.kcp.dev/v1alpha1", "kind": "Location", "metadata": {"name": name},
        "spec": {
            "resource": {"version": "v1alpha1", "resource": "workloadclusters"},
            "instanceSelector": {"matchLabels": {"region": name}},
        },
    })
}

/// A namespace with `placement` as its annotation.
pub(crate) fn namespace(name: &str, placement: Option<&str>) -> Value {
    let mut value = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if let Some(placement) = placement {
        value["metadata"]["annotations"] = json!({PLACEMENT: placement});
    }
    value
}

/// The configuration object with `spec` as `spec.kcp`.
pub(crate) fn configuration(spec: &Value) -> Value {
    json!({
        "apiVersion": "config.berth.dev/v1alpha1", "kind": "SchedulerConfiguration", "metadata": {"name": "kcp"},
        "spec": {"kcp": spec},
    })
}

/// Returns `value` with the value at `pointer` replaced. Missing maps on the path are created.
pub(crate) fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    let mut place = &mut value;
    for part in pointer.split('/').skip(1) {
        place = &mut place[part.replace("~1", "/")];
    }
    *place = new;
    value
}

fn resource(value: &Value) -> GroupResource {
    match value["kind"].as_str() {
        Some("WorkloadCluster") => WORKLOAD_CLUSTERS,
        Some("Location") => LOCATIONS,
        Some("Namespace") => NAMESPACES,
        _ => config::RESOURCE,
    }
}

/// The key of the object `value`.
pub(crate) fn key(value: &Value) -> Key {
    Key::new(resource(value), "", value["metadata"]["name"].as_str().unwrap())
}

/// Folds the creation of `value` into the fleet.
pub(crate) fn put(fleet: &mut Fleet, value: &Value) -> Consequences {
    fleet.fold(&Change::added(
        key(value),
        Arc::new(Object::new(value, Revision(7)).unwrap()),
    ))
}

/// Folds the deletion of `value` into the fleet.
pub(crate) fn remove(fleet: &mut Fleet, value: &Value) -> Consequences {
    fleet.fold(&Change {
        revision: Revision(9),
        key: key(value),
        old: Some(Arc::new(Object::new(value, Revision(9)).unwrap())),
        new: None,
    })
}

/// Creates a fleet of these objects.
pub(crate) fn fleet(objects: &[Value]) -> Fleet {
    let mut fleet = Fleet::default();
    for object in objects {
        put(&mut fleet, object);
    }
    fleet
}

/// The decision on the namespace `name`, for which the caller chose these clusters.
pub(crate) fn ask(fleet: &Fleet, name: &str, chosen: &[&str]) -> Result<Decision, ChoiceRefusal> {
    let chosen: Vec<String> = chosen.iter().map(|&name| name.to_owned()).collect();
    let demand = Key::new(NAMESPACES, "", name);
    let ask = Ask {
        demand: &demand,
        now: now(),
        seed: 1,
        chosen: Some(&chosen),
    };
    fleet.decide(&ask).unwrap()
}

/// The decision on the namespace `name`, without chosen clusters.
pub(crate) fn decide(fleet: &Fleet, name: &str) -> Decision {
    ask(fleet, name, &[]).unwrap()
}

/// The annotation that a decision writes.
pub(crate) fn written(fleet: &Fleet, decision: &Decision) -> Option<String> {
    let writes = fleet.writes(decision);
    let write = writes.iter().find(|write| write.subresource.is_empty())?;
    let text = write.object["metadata"]["annotations"][PLACEMENT].as_str()?;
    Some(text.to_owned())
}
