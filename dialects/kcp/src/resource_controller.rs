//! Step of the resource controller on a resource in a placed namespace (docs/systems/kcp.md, "Controllers"):
//! it hands the namespace's state labels and removals on, and tidies up after clusters that are gone. A pure
//! function over the stored objects.

use std::collections::BTreeSet;

use berth_apimachinery::Timestamp;
use serde_json::Value;

use crate::edit::{
    ANNOTATIONS, deleted_at, deletion, has_state, has_syncer_finalizer, identifiers, name, set, set_deletion,
    set_state, set_syncer_finalizer, softly_held, state,
};
use crate::machine;
use crate::names::{SPEC_DIFF, STATUS_OF, is_system_namespace};

/// Knowledge of the controller in addition to the two objects.
pub struct Context<'a> {
    /// Whether there is a WorkloadCluster with this identifier.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// Whether a coordination controller comes first for resources of this kind.
    pub coordinated: bool,
    /// The instant.
    pub now: Timestamp,
}

/// The resource `object` of `namespace` after the controller's step, in one write; `None` when there is
/// nothing to do.
#[must_use]
pub fn reconcile(namespace: &Value, object: &Value, context: &Context<'_>) -> Option<Value> {
    if is_system_namespace(name(namespace)) {
        return None;
    }
    let mut all: BTreeSet<String> = identifiers(object);
    all.extend(identifiers(namespace));
    let mut new = object.clone();
    for identifier in &all {
        if (context.exists)(identifier) {
            follow(namespace, object, &mut new, identifier, context);
        } else {
            forget(&mut new, identifier);
        }
    }
    (new != *object).then_some(new)
}

/// The resource `object` of a kind that is no longer synced, without the keys of any cluster, in one
/// write; `None` when it has none. Its syncers do not see it any more, so no other program would remove
/// their finalizers. Their copies at the clusters stay there.
#[must_use]
pub fn clear(object: &Value) -> Option<Value> {
    let mut new = object.clone();
    for identifier in identifiers(object) {
        forget(&mut new, &identifier);
    }
    (new != *object).then_some(new)
}

/// Brings label and deletion annotation of one cluster in line with the namespace.
fn follow(namespace: &Value, object: &Value, new: &mut Value, identifier: &str, context: &Context<'_>) {
    let (label, of_namespace) = (state(object, identifier), state(namespace, identifier));
    let leaving = deletion(namespace, identifier);
    let held = has_syncer_finalizer(object, identifier) || softly_held(object, identifier);
    let going = leaving.is_some() || deleted_at(object).is_some();
    let next = machine::resource_controller(label, of_namespace, going, held, context.coordinated);
    if next != label || next.is_none() && has_state(object, identifier) {
        set_state(new, identifier, next);
    }
    if next.is_none() {
        set_deletion(new, identifier, None);
        return;
    }
    // A removal that has begun keeps its instant, and is never taken back.
    if deletion(object, identifier).is_some() {
        return;
    }
    let synced = of_namespace == Some(machine::SyncState::Sync);
    let from = deleted_at(object)
        .or(leaving)
        .or((!synced).then_some(context.now));
    if from.is_some() {
        set_deletion(new, identifier, from);
    }
}

/// Removes all keys of a deleted cluster.
fn forget(object: &mut Value, identifier: &str) {
    set_state(object, identifier, None);
    set_deletion(object, identifier, None);
    set_syncer_finalizer(object, identifier, false);
    for prefix in [STATUS_OF, SPEC_DIFF] {
        set(object, ANNOTATIONS, &format!("{prefix}{identifier}"), None);
    }
}

#[cfg(test)]
mod tests;
