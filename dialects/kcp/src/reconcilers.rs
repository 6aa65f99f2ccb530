//! The controllers other than the placement controller: their watches, the keys that a change makes due, and
//! their writes (docs/systems/kcp.md, "Controllers").
//!
//! A key becomes due only if the controller's step would write, or if the time of the next step may change.
//! So the controller's own writes, heartbeats in time, and changes of the content of synced objects make no
//! key due. There is one exception: when a workload cluster is added or removed, all objects with metadata of
//! the cluster become due.

mod heartbeats;
mod locations;
mod namespaces;
mod resources;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::{Context, Reconciler, Verb, Write};
use serde_json::{Value, json};

use crate::fleet::{Fleet, identifier};

pub(crate) use resources::ResourceController;

/// All controllers except the placement controller. `resources` is the resource controller, and `targets_url`
/// is the URL of all Targets, if it is known.
pub(crate) fn all(resources: ResourceController, targets_url: Option<Arc<str>>) -> Vec<Arc<dyn Reconciler>> {
    vec![
        Arc::new(heartbeats::HeartbeatController { targets_url }),
        Arc::new(locations::LocationController),
        Arc::new(namespaces::NamespaceController),
        Arc::new(resources),
    ]
}

/// The fleet of kcp. `None` if the inventory is of another dialect, which does not occur.
fn fleet<'a>(context: &Context<'a>) -> Option<&'a Fleet> {
    let any: &dyn Any = context.inventory;
    any.downcast_ref()
}

/// The identifiers of workload clusters that a change of a WorkloadCluster adds or removes.
fn added_or_removed(change: &Change) -> BTreeSet<Arc<str>> {
    let identifier_of = |object: &Option<Arc<Object>>| {
        let found = object.as_ref().map(|object| identifier(object.meta()).into());
        found.into_iter().collect::<BTreeSet<Arc<str>>>()
    };
    identifier_of(&change.old)
        .symmetric_difference(&identifier_of(&change.new))
        .cloned()
        .collect()
}

/// An object with only its metadata, which is all that most steps read.
fn outline(object: &Object) -> Value {
    let metadata: Value =
        serde_json::from_slice(&object.metadata_bytes()).expect("stored metadata is JSON that we wrote");
    json!({"metadata": metadata})
}

/// Whether a change may affect steps that only read metadata.
fn outline_differs(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return change.new.is_some();
    };
    if old.annotations() != new.annotations() {
        return true;
    }
    let (old, new) = (old.meta(), new.meta());
    old.labels() != new.labels()
        || old.finalizers() != new.finalizers()
        || old.deletion_timestamp() != new.deletion_timestamp()
        || old.uid() != new.uid()
}

/// The content of a stored object as the base of an update, without the resourceVersion.
fn editable(object: &Object) -> Value {
    let mut value = object.parse();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    value
}

/// The write that updates `object`, which is at `key`, to `new`.
fn update(key: &Key, object: &Object, new: Value) -> Write {
    Write {
        verb: Verb::Update,
        key: key.clone(),
        subresource: "",
        object: new,
        base: Some(object.revision()),
    }
}
