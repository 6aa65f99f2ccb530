//! Step of the namespace controller on a namespace (docs/systems/kcp.md, "Controllers"): it adopts
//! pending namespaces, asks clusters to release them, and records the releases. A pure function over
//! the stored object.

use berth_apimachinery::Timestamp;
use serde_json::Value;

use crate::edit::ANNOTATIONS;
use crate::edit::{deleted_at, deletion, has_state, name, set, set_deletion, set_state, text};
use crate::machine::{self, SyncState};
use crate::names::{PLACEMENT, is_system_namespace};
use crate::placement::{Form, State, StoredPlacement};

/// The namespace after the controller's step, in one write; `None` when there is nothing to do.
/// `exists` is whether an identifier has a WorkloadCluster.
///
/// Without a placement there is nothing to do. While the annotation has entries that cannot be parsed
/// the controller waits: the placement controller removes them first.
#[must_use]
pub fn reconcile(namespace: &Value, exists: impl Fn(&str) -> bool, now: Timestamp) -> Option<Value> {
    if is_system_namespace(name(namespace)) {
        return None;
    }
    let reading = StoredPlacement::of(text(namespace, ANNOTATIONS, PLACEMENT));
    if reading.form != Form::Map || !reading.dropped.is_empty() {
        return None;
    }
    let mut new = namespace.clone();
    let mut placement = reading.placement.clone();
    for (place, state) in &mut placement.0 {
        let identifier = &*place.identifier;
        if *state == State::Pending && deleted_at(namespace).is_some() {
            // No new work begins while the namespace is being deleted.
            continue;
        }
        *state = machine::namespace_controller(*state, has_state(namespace, identifier), exists(identifier));
        label(&mut new, identifier, *state, now);
    }
    if placement != reading.placement {
        set(&mut new, ANNOTATIONS, PLACEMENT, Some(&placement.to_text()));
    }
    (new != *namespace).then_some(new)
}

/// Brings label and deletion annotation in line with the state. The instant of a removal is set once.
fn label(namespace: &mut Value, identifier: &str, state: State, now: Timestamp) {
    match state {
        State::Pending => {}
        State::Bound => {
            set_state(namespace, identifier, Some(SyncState::Sync));
            set_deletion(namespace, identifier, None);
        }
        State::Removing => {
            if deletion(namespace, identifier).is_none() {
                set_deletion(namespace, identifier, Some(now));
            }
        }
        State::Unbound => {
            set_state(namespace, identifier, None);
            set_deletion(namespace, identifier, None);
        }
    }
}

#[cfg(test)]
mod tests;
