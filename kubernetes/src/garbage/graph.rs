//! Who belongs to whom: only objects with owners are kept.

use std::collections::{HashMap, HashSet};

use meta::{Change, Key, Object};

/// The dependents of each owner's uid.
#[derive(Default)]
pub(crate) struct Graph {
    dependents: HashMap<String, HashSet<Key>>,
    owners: HashMap<Key, Vec<String>>,
}

impl Graph {
    /// Takes one change in; taking the same one in twice changes nothing.
    pub(crate) fn fold(&mut self, change: &Change) {
        let before = self.owners.remove(&change.key).unwrap_or_default();
        for owner in before {
            if let Some(set) = self.dependents.get_mut(&owner) {
                set.remove(&change.key);
                if set.is_empty() {
                    self.dependents.remove(&owner);
                }
            }
        }
        let Some(owners) = change
            .new
            .as_deref()
            .map(owners)
            .filter(|owners| !owners.is_empty())
        else {
            return;
        };
        for owner in &owners {
            self.dependents
                .entry(owner.clone())
                .or_default()
                .insert(change.key.clone());
        }
        self.owners.insert(change.key.clone(), owners);
    }

    /// What names the owner with that uid.
    pub(crate) fn dependents(&self, owner: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(owner).into_iter().flatten()
    }
}

fn owners(object: &Object) -> Vec<String> {
    object
        .meta()
        .owner_references()
        .iter()
        .map(|reference| reference.uid.clone())
        .collect()
}
