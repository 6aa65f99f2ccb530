//! One story per system with all forms of its scheduler's writes, and one of kcp's further controllers.

pub(super) mod fleet;
pub(super) mod gardener;
pub(super) mod kcp;
pub(super) mod ocm;
pub(super) mod openmcp;
pub(super) mod reconcilers;

use serde_json::{Value, json};

use super::victim::{Died, Victim};
use super::{Phase, Story};

/// A phase that applies `TEXT`.
macro_rules! apply {
    ($text:expr, $is_done:expr) => {
        Phase {
            act: |victim| victim.apply($text),
            is_done: $is_done,
        }
    };
}
use apply;

/// Removes the fields that differ between runs, and sorts the objects.
fn settle(mut objects: Vec<Value>) -> Value {
    for object in &mut objects {
        strip(object);
    }
    objects.sort_by_key(Value::to_string);
    Value::Array(objects)
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for name in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "observedGeneration",
                "observedCRPGeneration",
                "lastTransitionTime",
                "managedFields",
                "kubectl.kubernetes.io/last-applied-configuration",
                "kubernetes-fleet.io/CRP-generation",
            ] {
                map.remove(name);
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Replaces the uid of each of `owners` by its name, in all texts of `value`.
fn name_uids(value: Vec<Value>, owners: &[Value]) -> Vec<Value> {
    let mut text = Value::Array(value).to_string();
    for owner in owners {
        let metadata = &owner["metadata"];
        let (uid, name) = (metadata["uid"].as_str(), metadata["name"].as_str());
        let (uid, name) = (uid.expect("a uid"), name.expect("a name"));
        text = text.replace(uid, &format!("<{name}>"));
    }
    let value: Value = serde_json::from_str(&text).expect("it was JSON");
    value.as_array().expect("a list").clone()
}
