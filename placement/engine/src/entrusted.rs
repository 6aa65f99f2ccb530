//! Changes of what is decided here: of the configuration that says so, and of the labels by which requests are selected.

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::config;
use serde_json::Value;

use crate::dirty::Dirty;
use crate::engine::{Engine, Slot};
use crate::mandate::NAMESPACES;

/// Fields of a SchedulerConfiguration that say what is decided, by whom.
const FIELDS: [&str; 3] = ["mode", "otherScheduler", "requests"];

impl Engine {
    /// The demands of `slot` that `changes` may have made another scheduler's, or Berth's.
    pub(crate) fn entrusted_anew(&self, slot: &Slot, changes: &[&Change]) -> Dirty {
        let dialect = slot.dialect.name();
        if changes.iter().any(|change| is_of_mandate(change, dialect)) {
            return Dirty::everything();
        }
        let mut dirty = Dirty::default();
        let Some(requests) = self.requests(dialect) else {
            return dirty;
        };
        let demands = slot.dialect.demands();
        for change in changes.iter().filter(|change| is_labelled_anew(change)) {
            let key = &change.key;
            if demands.iter().any(|demand| demand.resource == key.resource) {
                dirty.decide.mark(Some([key.clone()]));
            }
            if key.resource == NAMESPACES && requests.go_by_namespaces() {
                let all = slot.snapshot().inventory.demands().into_iter();
                let within: Vec<Key> = all.filter(|demand| demand.namespace == key.name).collect();
                dirty.decide.mark(Some(within));
            }
            dirty.since = dirty.since.max(change.revision);
        }
        dirty
    }
}

/// Whether `change` is one of what the configuration of `dialect` says of deciding.
fn is_of_mandate(change: &Change, dialect: &str) -> bool {
    if change.key.resource != config::RESOURCE || *change.key.name != *dialect {
        return false;
    }
    said(change.old.as_deref()) != said(change.new.as_deref())
}

/// Choices of a configuration about deciding.
fn said(configuration: Option<&Object>) -> [Value; 3] {
    FIELDS.map(|field| configuration.map_or(Value::Null, |object| object.value()["spec"][field].clone()))
}

/// Whether the labels of what changed are others.
fn is_labelled_anew(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.meta().labels() != new.meta().labels(),
        _ => true,
    }
}
