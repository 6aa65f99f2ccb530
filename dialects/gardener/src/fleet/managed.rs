//! Seeds that are Shoots themselves: a ManagedSeed has the name of its Seed and names the Shoot, whose own
//! Seed selectors see as a label of the Seed above it (docs/systems/gardener.md, "Filters").

use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use imbl::{OrdMap, OrdSet};

use crate::names::{GARDEN_NAMESPACE, SHOOTS};

/// Seeds that are Shoots, and Shoots that are Seeds.
#[derive(Clone, Default)]
pub(super) struct ManagedSeeds {
    shoots: OrdMap<Arc<str>, Key>,
    seeds: OrdMap<Key, OrdSet<Arc<str>>>,
}

impl ManagedSeeds {
    /// Records the ManagedSeed at `key`; returns whether it names another Shoot than before. Those of other
    /// namespaces than the garden's mean nothing.
    pub(super) fn take(&mut self, key: &Key, object: Option<&Arc<Object>>) -> bool {
        if *key.namespace != *GARDEN_NAMESPACE {
            return false;
        }
        let named = object.and_then(|object| object.value().pointer("/spec/shoot/name")?.as_str());
        let new = named.map(|name| Key::new(SHOOTS, GARDEN_NAMESPACE, name));
        let old = match &new {
            Some(shoot) => self.shoots.insert(Arc::clone(&key.name), shoot.clone()),
            None => self.shoots.remove(&key.name),
        };
        if old == new {
            return false;
        }
        if let Some(old) = old
            && let Some(seeds) = self.seeds.get_mut(&old)
        {
            seeds.remove(&key.name);
            if seeds.is_empty() {
                self.seeds.remove(&old);
            }
        }
        if let Some(new) = new {
            self.seeds.entry(new).or_default().insert(Arc::clone(&key.name));
        }
        true
    }

    /// The Shoot that the Seed `name` is.
    pub(super) fn shoot_of(&self, name: &str) -> Option<&Key> {
        self.shoots.get(name)
    }

    /// The names of the Seeds that `shoot` is.
    pub(super) fn seeds_of(&self, shoot: &Key) -> Vec<Arc<str>> {
        let seeds = self.seeds.get(shoot).into_iter().flatten();
        seeds.cloned().collect()
    }
}
