//! Seeds that are Shoots themselves. The ManagedSeed with the name of such a Seed refers to the Shoot. For
//! selectors, the Seed has a label with the name of the Seed that hosts the Shoot (docs/systems/gardener.md,
//! "Filters").

use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use imbl::{OrdMap, OrdSet};

use crate::names::{GARDEN_NAMESPACE, SHOOTS};

/// The Seeds that are Shoots themselves, by ManagedSeeds.
#[derive(Clone, Default)]
pub(super) struct ManagedSeeds {
    /// The key of the Shoot of each such Seed, by the name of the Seed.
    shoots: OrdMap<Arc<str>, Key>,
    /// The names of the Seeds of each Shoot.
    seeds: OrdMap<Key, OrdSet<Arc<str>>>,
}

impl ManagedSeeds {
    /// Applies a change of the ManagedSeed at `key` to `object`, or its deletion if `object` is `None`.
    /// Returns whether the ManagedSeed refers to another Shoot than before. ManagedSeeds outside the
    /// namespace of the garden are ignored.
    pub(super) fn apply(&mut self, key: &Key, object: Option<&Arc<Object>>) -> bool {
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

    /// The key of the Shoot that is the Seed `name`.
    pub(super) fn shoot_of(&self, name: &str) -> Option<&Key> {
        self.shoots.get(name)
    }

    /// The names of the Seeds that are the Shoot `shoot`.
    pub(super) fn seeds_of(&self, shoot: &Key) -> Vec<Arc<str>> {
        let seeds = self.seeds.get(shoot).into_iter().flatten();
        seeds.cloned().collect()
    }
}
