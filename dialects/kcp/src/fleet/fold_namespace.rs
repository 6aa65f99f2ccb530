//! Folding changes of namespaces into the fleet: indexes and counts are updated, not rebuilt.

use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use berth_dialect_contract::{AffectedDemands, Consequences};
use imbl::HashMap;

use super::{Fleet, NamespaceRecord};
use crate::names::is_system_namespace;

impl Fleet {
    /// Folds a change or the deletion of a namespace.
    pub(super) fn fold_namespace(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        if is_system_namespace(&key.name) {
            return Consequences::nothing();
        }
        let record = new.map(|object| Arc::new(NamespaceRecord::read(object)));
        let old = match &record {
            Some(record) => self.namespaces.insert(key.clone(), Arc::clone(record)),
            None => self.namespaces.remove(key),
        };
        let targets = self.update_indexes(key, old.as_deref(), record.as_deref());
        let is_due = match (&old, &record) {
            (Some(old), Some(new)) => {
                let selection_changed = self.is_subject(new) != self.is_subject(old);
                self.is_demand(new) && (selection_changed || new.needs_decision(old))
            }
            (None, Some(new)) => self.is_demand(new),
            (_, None) => false,
        };
        Consequences {
            decide: if is_due {
                AffectedDemands::Some(vec![key.clone()])
            } else {
                AffectedDemands::None
            },
            demands: AffectedDemands::Some(vec![key.clone()]),
            targets: Some(targets),
        }
    }

    /// Updates the indexes and counts for the change of one namespace. Returns the identifiers of the
    /// clusters whose counts changed.
    fn update_indexes(
        &mut self,
        key: &Key,
        old: Option<&NamespaceRecord>,
        new: Option<&NamespaceRecord>,
    ) -> Vec<Arc<str>> {
        if new.is_some_and(NamespaceRecord::lacks_cluster) {
            self.waiting.insert(key.clone());
        } else {
            self.waiting.remove(key);
        }
        for identifier in old.into_iter().flat_map(NamespaceRecord::identifiers) {
            self.placed.remove(&(Arc::clone(identifier), key.clone()));
        }
        for identifier in new.into_iter().flat_map(NamespaceRecord::identifiers) {
            self.placed.insert((Arc::clone(identifier), key.clone()));
        }
        let occupied = |record: Option<&NamespaceRecord>| -> Vec<Arc<str>> {
            record
                .into_iter()
                .flat_map(NamespaceRecord::occupied)
                .cloned()
                .collect()
        };
        let leaving = |record: Option<&NamespaceRecord>| -> Vec<Arc<str>> {
            record
                .into_iter()
                .flat_map(NamespaceRecord::leaving)
                .cloned()
                .collect()
        };
        let mut touched = count(&mut self.namespace_counts, &occupied(old), &occupied(new));
        touched.extend(count(&mut self.leaving_counts, &leaving(old), &leaving(new)));
        touched
    }

    /// The namespaces with an entry of the workload cluster `identifier`, all of which are demands.
    pub(crate) fn placed_on<'a>(&'a self, identifier: &'a Arc<str>) -> impl Iterator<Item = Key> + 'a {
        let first = Key::new(crate::names::NAMESPACES, "", "");
        self.placed
            .range((Arc::clone(identifier), first)..)
            .take_while(move |(found, _)| found == identifier)
            .map(|(_, key)| key.clone())
    }

    /// The namespaces that are to be placed and lack a cluster.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Key> + '_ {
        self.waiting
            .iter()
            .filter(|key| self.namespace(key).is_some_and(|record| self.is_subject(record)))
            .cloned()
    }
}

/// Counts the identifiers in `after` instead of those in `before`, and returns the identifiers whose count
/// changed.
fn count(counts: &mut HashMap<Arc<str>, i64>, before: &[Arc<str>], after: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut touched = Vec::new();
    for (identifiers, others, step) in [(before, after, -1), (after, before, 1)] {
        for identifier in identifiers
            .iter()
            .filter(|identifier| !others.contains(identifier))
        {
            let count = counts.get(identifier).copied().unwrap_or(0) + step;
            if count == 0 {
                counts.remove(identifier);
            } else {
                counts.insert(Arc::clone(identifier), count);
            }
            touched.push(Arc::clone(identifier));
        }
    }
    touched
}
