//! The step of the namespace controller on a namespace (docs/systems/kcp.md, "Controllers"), as a pure
//! function over the stored object. The controller adopts pending entries of the placement, requests the
//! release of a namespace from the clusters that it leaves, and records the releases.

use berth_apimachinery::Timestamp;
use serde_json::Value;

use crate::edit::ANNOTATIONS;
use crate::edit::{deleted_at, deletion, has_state, name, set, set_deletion, set_state, text};
use crate::machine::{self, SyncState};
use crate::names::{PLACEMENT, is_system_namespace};
use crate::placement::{Form, State, StoredPlacement};

/// Returns the namespace after the controller's step, for one write; `None` if there is nothing to do.
/// `exists` returns whether there is a WorkloadCluster with an identifier.
///
/// Without a placement there is nothing to do. While the annotation has entries that cannot be parsed, the
/// controller waits until the placement controller has removed them.
#[must_use]
pub fn reconcile(namespace: &Value, exists: impl Fn(&str) -> bool, now: Timestamp) -> Option<Value> {
    if is_system_namespace(name(namespace)) {
        return None;
    }
    let stored = StoredPlacement::of(text(namespace, ANNOTATIONS, PLACEMENT));
    if stored.form != Form::Map || !stored.dropped.is_empty() {
        return None;
    }
    let mut new = namespace.clone();
    let mut placement = stored.placement.clone();
    for (place, state) in &mut placement.0 {
        let identifier = &*place.identifier;
        if *state == State::Pending && deleted_at(namespace).is_some() {
            // No entry is adopted while the namespace is being deleted.
            continue;
        }
        *state = machine::namespace_step(*state, has_state(namespace, identifier), exists(identifier));
        set_syncing_keys(&mut new, identifier, *state, now);
    }
    if placement != stored.placement {
        set(&mut new, ANNOTATIONS, PLACEMENT, Some(&placement.to_text()));
    }
    (new != *namespace).then_some(new)
}

/// Sets the state label and the deletion annotation of one cluster according to the state of its entry. The
/// instant of a removal is set once.
fn set_syncing_keys(namespace: &mut Value, identifier: &str, state: State, now: Timestamp) {
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
