//! The demands that may move between Berth and another scheduler, after a change of the configuration or of
//! labels that select demands.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_apimachinery::{Change, Object};
use berth_dialect_contract::Dialect;

use crate::dirty::Dirty;
use crate::engine::{Engine, Slot};
use crate::in_force::is_configuration;
use crate::mandate::NAMESPACES;

impl Engine {
    /// Returns marks of the demands of `slot` that `changes` may move from Berth to another scheduler, or
    /// back.
    pub(crate) fn reassigned_demands(&self, slot: &Slot, changes: &[&Change]) -> Dirty {
        if changes.iter().any(|change| changes_spec(change, &*slot.dialect)) {
            return Dirty::everything();
        }
        let mut dirty = Dirty::default();
        let Some(requests) = self.requests(slot.dialect.name()) else {
            return dirty;
        };
        let demands = slot.dialect.demands();
        let mut namespaces: BTreeSet<&str> = BTreeSet::new();
        for change in changes.iter().filter(|change| changes_labels(change)) {
            let key = &change.key;
            if demands.iter().any(|demand| demand.resource == key.resource) {
                dirty.decide.mark(Some([key.clone()]));
            }
            if key.resource == NAMESPACES && requests.depend_on_namespaces() {
                namespaces.insert(&key.name);
            }
            dirty.since = dirty.since.max(change.revision);
        }
        // All namespaces at once, since a batch may have hundreds, and a system many demands.
        if !namespaces.is_empty() {
            let all = slot.snapshot().inventory.demands().into_iter();
            let within = all.filter(|demand| namespaces.contains(&*demand.namespace));
            dirty.decide.mark(Some(within));
        }
        dirty
    }
}

/// Whether `change` changes the `spec` of the configuration of `dialect`. A change of any field counts: it
/// may change the configuration in force, and with it the settings about the scheduler that decides.
fn changes_spec(change: &Change, dialect: &dyn Dialect) -> bool {
    let spec = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.value()["spec"].clone());
    is_configuration(change, dialect) && spec(&change.old) != spec(&change.new)
}

/// Whether `change` creates or deletes an object, or changes the labels of one.
fn changes_labels(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.meta().labels() != new.meta().labels(),
        _ => true,
    }
}
