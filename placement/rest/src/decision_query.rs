//! The decisions that a plan reports even when they do not change (`spec.decisions`), by name or by labels.

use std::collections::{BTreeMap, BTreeSet};

use berth_apimachinery::selector::Selector;
use berth_apimachinery::{FieldError, Key};
use berth_engine::Snapshot;
use berth_scheduling_api::review;
use serde_json::Value;

use super::names;

/// Decisions that `spec.decisions` requests.
#[derive(Default)]
pub(super) struct DecisionQuery {
    /// Index of the first entry for each named decision, by namespace and name.
    named: BTreeMap<(String, String), usize>,
    /// Indices of entries whose decision is not found yet, with the name of the decision.
    missing: BTreeMap<usize, String>,
    selected: Vec<SelectedDecisions>,
}

/// The decisions with matching labels in `namespace`, or in all namespaces if `namespace` is empty.
struct SelectedDecisions {
    namespace: String,
    selector: Selector,
}

impl DecisionQuery {
    /// Reads `spec.decisions`.
    ///
    /// # Errors
    /// All errors of all selectors.
    pub(super) fn read(spec: &Value) -> Result<Self, Vec<FieldError>> {
        let list = spec["decisions"].as_array().map(Vec::as_slice);
        let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let (mut query, mut errors) = (Self::default(), Vec::new());
        for (index, entry) in list.unwrap_or_default().iter().enumerate() {
            let namespace = text(entry, "namespace");
            match review::selector(entry, &format!("spec.decisions[{index}]")) {
                Ok(Some(selector)) => query.selected.push(SelectedDecisions { namespace, selector }),
                Ok(None) => {
                    let name = text(entry, "name");
                    query.missing.insert(index, name.clone());
                    query.named.entry((namespace, name)).or_insert(index);
                }
                Err(problems) => errors.extend(problems),
            }
        }
        // Of repeated entries with one name, only the first one is reported as missing.
        let first: BTreeSet<usize> = query.named.values().copied().collect();
        query.missing.retain(|index, _| first.contains(index));
        if errors.is_empty() { Ok(query) } else { Err(errors) }
    }

    /// The requested demands that exist before or after a change. A selector matches the labels before or
    /// after, so that demands which gain or lose a label are reported as well.
    pub(super) fn find(&mut self, before: &Snapshot, after: &Snapshot) -> BTreeSet<Key> {
        let mut wanted = BTreeSet::new();
        if self.named.is_empty() && self.selected.is_empty() {
            return wanted;
        }
        for side in [before, after] {
            for demand in side.inventory.demands() {
                let place = names::place(&*side.dialect, &demand);
                if let Some(index) = self.named.get(&place) {
                    self.missing.remove(index);
                    wanted.insert(demand);
                } else if self.selects(side, &demand, &place.0) {
                    wanted.insert(demand);
                }
            }
        }
        wanted
    }

    fn selects(&self, side: &Snapshot, demand: &Key, namespace: &str) -> bool {
        let in_namespace =
            |selected: &&SelectedDecisions| selected.namespace.is_empty() || selected.namespace == namespace;
        let mut selected = self.selected.iter().filter(in_namespace).peekable();
        selected.peek().is_some()
            && side.inventory.object(demand).is_some_and(|object| {
                let labels = object.meta().labels();
                selected.any(|selected| selected.selector.matches(labels))
            })
    }

    /// Errors about named decisions that [`DecisionQuery::find`] did not find. A selector that selects
    /// nothing is not an error.
    pub(super) fn missing(self) -> Vec<FieldError> {
        let missing = self.missing.into_iter();
        missing
            .map(|(index, name)| FieldError::not_found(format!("spec.decisions[{index}]"), name))
            .collect()
    }
}
