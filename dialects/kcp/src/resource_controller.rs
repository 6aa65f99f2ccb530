//! The step of the resource controller on a resource in a placed namespace (docs/systems/kcp.md,
//! "Controllers"), as a pure function over the stored objects. The controller copies the namespace's state
//! labels and deletion annotations, and removes the metadata of deleted clusters.

use std::collections::BTreeSet;

use berth_apimachinery::Timestamp;
use serde_json::Value;

use crate::edit::{
    ANNOTATIONS, deleted_at, deletion, has_soft_finalizers, has_state, has_syncer_finalizer, identifiers,
    name, set, set_deletion, set_state, set_syncer_finalizer, state,
};
use crate::machine;
use crate::names::{SPEC_DIFF, STATUS_OF, is_system_namespace};

/// The input of [`reconcile`] in addition to the two objects.
pub struct Context<'a> {
    /// Returns whether there is a WorkloadCluster with this identifier.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// Whether a coordination controller changes resources of this kind before they are synced.
    pub coordinated: bool,
    /// The instant of the step.
    pub now: Timestamp,
}

/// Returns the resource `object` of `namespace` after the controller's step, for one write; `None` if there
/// is nothing to do.
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
            follow_namespace(namespace, object, &mut new, identifier, context);
        } else {
            remove_metadata(&mut new, identifier);
        }
    }
    (new != *object).then_some(new)
}

/// Returns the resource `object`, of a kind that is no longer synced, without the syncing metadata of any
/// cluster, for one write; `None` if there is no such metadata. Syncers no longer see the object, so they
/// would not remove their finalizers. The copies of the object on workload clusters stay.
#[must_use]
pub fn clear(object: &Value) -> Option<Value> {
    let mut new = object.clone();
    for identifier in identifiers(object) {
        remove_metadata(&mut new, &identifier);
    }
    (new != *object).then_some(new)
}

/// Sets the state label and the deletion annotation of one cluster in `new` according to the namespace.
fn follow_namespace(
    namespace: &Value,
    object: &Value,
    new: &mut Value,
    identifier: &str,
    context: &Context<'_>,
) {
    let (label, namespace_label) = (state(object, identifier), state(namespace, identifier));
    let leaving_since = deletion(namespace, identifier);
    let has_finalizer = has_syncer_finalizer(object, identifier) || has_soft_finalizers(object, identifier);
    let is_leaving = leaving_since.is_some() || deleted_at(object).is_some();
    let next = machine::resource_step(
        label,
        namespace_label,
        is_leaving,
        has_finalizer,
        context.coordinated,
    );
    if next != label || next.is_none() && has_state(object, identifier) {
        set_state(new, identifier, next);
    }
    if next.is_none() {
        set_deletion(new, identifier, None);
        return;
    }
    // A removal that has begun keeps its instant, and is never reverted.
    if deletion(object, identifier).is_some() {
        return;
    }
    let is_synced = namespace_label == Some(machine::SyncState::Sync);
    let deletion_time = deleted_at(object)
        .or(leaving_since)
        .or((!is_synced).then_some(context.now));
    if deletion_time.is_some() {
        set_deletion(new, identifier, deletion_time);
    }
}

/// Removes the syncing metadata of one cluster: the state label, the annotations for deletion, status and
/// spec, and the syncer's finalizer. Soft finalizers stay.
fn remove_metadata(object: &mut Value, identifier: &str) {
    set_state(object, identifier, None);
    set_deletion(object, identifier, None);
    set_syncer_finalizer(object, identifier, false);
    for prefix in [STATUS_OF, SPEC_DIFF] {
        set(object, ANNOTATIONS, &format!("{prefix}{identifier}"), None);
    }
}

#[cfg(test)]
mod tests;
