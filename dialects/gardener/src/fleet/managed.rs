//! Seeds that are Shoots themselves. The ManagedSeed with the name of such a Seed refers to the Shoot.
//! Selectors also see a label of the Seed with the name of the Seed on which the Shoot runs
//! (docs/systems/gardener.md, "Filters").

use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use imbl::{OrdMap, OrdSet};

use crate::names::{GARDEN_NAMESPACE, SHOOTS};

/// The Shoots of Seeds, and the Seeds of Shoots.
#[derive(Clone, Default)]
pub(super) struct ManagedSeeds {
    shoots: OrdMap<Arc<str>, Key>,
    seeds: OrdMap<Key, OrdSet<Arc<str>>>,
}

impl ManagedSeeds {
    /// Records the ManagedSeed at `key`. Returns whether it refers to another Shoot than before.
    /// ManagedSeeds outside the garden's namespace are ignored.
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

    /// The Shoot behind the Seed `name`.
    pub(super) fn shoot_of(&self, name: &str) -> Option<&Key> {
        self.shoots.get(name)
    }

    /// The names of the Seeds of `shoot`.
    pub(super) fn seeds_of(&self, shoot: &Key) -> Vec<Arc<str>> {
        let seeds = self.seeds.get(shoot).into_iter().flatten();
        seeds.cloned().collect()
    }
}
