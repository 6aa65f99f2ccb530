//! All objects of a hub, for comparison with an earlier state.

use std::collections::BTreeMap;

use berth_tests::differential::differences;
use berth_tests::hub::Hub;
use serde_json::{Value, json};

/// All objects of all listable kinds, by kind, namespace and name.
pub(crate) struct Dump(BTreeMap<String, Value>);

impl Dump {
    /// Reads all objects of a hub.
    pub(crate) fn of(hub: &Hub) -> Self {
        let resources = hub.kubectl("api-resources --verbs=list -o name").succeeds();
        let wanted: Vec<&str> = resources
            .split_whitespace()
            .filter(|name| !is_left_out(name))
            .collect();
        let list = hub
            .kubectl(&format!("get {} -A -o json", wanted.join(",")))
            .json();
        let objects = list["items"].as_array().expect("a list").iter();
        Self(objects.map(|object| (place(object), lasting(object))).collect())
    }

    /// Requires that the hub soon has the same objects again, after its controllers have deleted dependents.
    pub(crate) fn requires_the_same(&self, hub: &Hub) {
        berth_tests::until(
            "all to be as it was",
            || self.differences(&Self::of(hub)),
            Vec::is_empty,
        );
    }

    /// Lines about the added, missing and changed objects in `now`.
    fn differences(&self, now: &Self) -> Vec<String> {
        let only = |one: &Self, other: &Self, word: &str| -> Vec<String> {
            let places = one.0.keys().filter(|place| !other.0.contains_key(*place));
            places.map(|place| format!("{word}: {place}")).collect()
        };
        let mut lines = only(now, self, "left");
        lines.extend(only(self, now, "gone"));
        for (place, before) in &self.0 {
            let Some(after) = now.0.get(place) else { continue };
            let changed = differences(before, after).into_iter();
            lines.extend(changed.map(|line| format!("changed: {place}{line}")));
        }
        lines
    }

    /// Requires that the hub's objects differ now: an empty comparison would prove nothing.
    pub(crate) fn requires_others(&self, hub: &Hub) {
        let now = Self::of(hub);
        assert!(
            now.0.keys().any(|place| !self.0.contains_key(place)),
            "nothing was installed"
        );
    }
}

/// Whether a resource is not compared: events are a history, and Berth's own API and the components' status
/// are computed.
fn is_left_out(resource: &str) -> bool {
    ["events", "events.events.k8s.io", "componentstatuses"].contains(&resource)
        || resource.ends_with(".scheduling.berth.dev")
}

fn place(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let words = [
        &object["apiVersion"],
        &object["kind"],
        &metadata["namespace"],
        &metadata["name"],
    ];
    words.map(text).join(" ")
}

/// An object without the fields that every write changes, and without the renewals of a Lease.
fn lasting(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    if object["kind"] == "Lease" {
        object["spec"] = json!(null);
    }
    object
}
