//! The controllers beside the placement controller, joined with their computations: who watches what, what a
//! change makes due, and what is written (docs/systems/kcp.md, "Controllers").
//!
//! Each says that a key is due only when its computation would write something, so that nobody's own writes,
//! heartbeats or edits of contents cost anything.

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
use crate::names::WORKLOAD_CLUSTERS;

pub(crate) use resources::Resources;

/// The controllers, with the one of resources as it is given; `targets_url` is the URL of all Targets, where
/// it is known.
pub(crate) fn all(resources: Resources, targets_url: Option<Arc<str>>) -> Vec<Arc<dyn Reconciler>> {
    vec![
        Arc::new(heartbeats::Heartbeats { targets_url }),
        Arc::new(locations::Locations),
        Arc::new(namespaces::Namespaces),
        Arc::new(resources),
    ]
}

/// Fleet of kcp. There is none when the inventory is another dialect's, which nobody gives.
fn fleet<'a>(context: &Context<'a>) -> Option<&'a Fleet> {
    let any: &dyn Any = context.inventory;
    any.downcast_ref()
}

/// Whether there is a WorkloadCluster with this identifier. One that cannot be read is one all the same: what
/// it holds must not be taken from it.
fn exists(fleet: &Fleet, context: &Context<'_>, wanted: &str) -> bool {
    let unreadable = || {
        let objects = fleet.unreadable(WORKLOAD_CLUSTERS);
        let mut objects = objects.filter_map(|key| context.objects.get(key));
        objects.any(|object| identifier(object.meta()) == wanted)
    };
    fleet.cluster(wanted).is_some() || unreadable()
}

/// The identifiers of workload clusters that appear or go by a change of a WorkloadCluster.
fn came_or_went(change: &Change) -> BTreeSet<Arc<str>> {
    let of = |object: &Option<Arc<Object>>| {
        let named = object.as_ref().map(|object| identifier(object.meta()).into());
        named.into_iter().collect::<BTreeSet<Arc<str>>>()
    };
    of(&change.old)
        .symmetric_difference(&of(&change.new))
        .cloned()
        .collect()
}

/// An object with nothing but its metadata, which is all that most computations look at.
fn outline(object: &Object) -> Value {
    let metadata: Value =
        serde_json::from_slice(&object.metadata_bytes()).expect("stored metadata is JSON that we wrote");
    json!({"metadata": metadata})
}

/// Whether a change may matter to whoever looks at metadata alone.
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

/// The stored object, to be changed.
fn editable(object: &Object) -> Value {
    let mut value = object.parse();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    value
}

/// The update of `object`, which is at `key`, to `new`.
fn update(key: &Key, object: &Object, new: Value) -> Write {
    Write {
        verb: Verb::Update,
        key: key.clone(),
        subresource: "",
        object: new,
        base: Some(object.revision()),
    }
}
