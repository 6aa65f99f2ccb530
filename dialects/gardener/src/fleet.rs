//! The inventory of Gardener: all objects that decisions read. The collections are persistent, so that clones
//! share their content.

pub(crate) mod exposure;
mod fold;
mod managed;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod region;
pub(crate) mod seed;
pub(crate) mod shoot;

use std::sync::Arc;

use berth_apimachinery::{Key, Object};
use berth_dialect_columns::{Interner, UnusableObjects};
use berth_dialect_contract::rules::{EffectiveRules, Rules, RulesChoice};
use berth_scheduling::Ix;
use imbl::{HashMap, OrdMap, OrdSet, Vector};

use crate::config::Config;
use crate::names::SEEDS;
use exposure::Exposure;
use managed::ManagedSeeds;
use profile::{NamespacedProfile, Profile};
use project::{Claim, Project};
use region::RegionMap;
use seed::Row;
use shoot::ShootRecord;

/// The inventory of Gardener: all objects that decisions read. A clone shares the content of all collections.
#[derive(Clone, Default)]
pub struct Fleet {
    /// The configuration in force.
    pub(crate) config: Config,
    /// The choice of rules in the configuration.
    pub(crate) choice: RulesChoice,
    /// Whether the objects are those of a hub.
    pub(crate) on_hub: bool,
    /// The number of seeds that report a version of Gardener with the current rules.
    seeds_with_current_rules: usize,
    /// Whether [`Fleet::config`] was read from a stored configuration; otherwise, it has the defaults.
    pub(crate) configured: bool,
    /// The problem of the stored configuration, if no valid configuration was stored before.
    pub(crate) config_problem: Option<Arc<str>>,
    /// The seeds, sorted by name.
    pub(crate) rows: Vector<Row>,
    /// The number of shoots on each seed, by the name of the seed. The seed need not exist.
    shoot_counts: HashMap<Arc<str>, i64>,
    /// The CloudProfiles, by name.
    pub(crate) profiles: OrdMap<Arc<str>, Arc<Profile>>,
    /// The NamespacedCloudProfiles, by namespace and name.
    namespaced_profiles: OrdMap<(Arc<str>, Arc<str>), Arc<NamespacedProfile>>,
    /// The ConfigMaps with distances between regions, by name.
    region_maps: OrdMap<Arc<str>, Arc<RegionMap>>,
    /// The requirements of each ExposureClass on seeds, by name.
    exposure_classes: OrdMap<Arc<str>, Arc<Exposure>>,
    /// The seeds that are shoots themselves.
    managed: ManagedSeeds,
    /// The projects, by name.
    projects: OrdMap<Arc<str>, Arc<Project>>,
    /// The claims of projects on namespaces, by namespace.
    claims: OrdMap<Arc<str>, OrdSet<Claim>>,
    /// The shoots, including shoots that cannot be parsed, since these shoots also occupy seeds.
    pub(crate) shoots: OrdMap<Key, ShootEntry>,
    /// The shoots that wait for a seed.
    waiting: OrdSet<Key>,
    /// The objects that could not be parsed, with the reasons.
    pub(crate) unusable: UnusableObjects,
    /// The numbers of label keys and values, provider types and regions in the rows.
    pub(crate) interners: Interners,
}

/// The tables that map texts in the rows to numbers.
#[derive(Clone, Default)]
pub(crate) struct Interners {
    /// Label keys and values.
    pub(crate) labels: Interner,
    /// Provider types.
    pub(crate) providers: Interner,
    /// Regions.
    pub(crate) regions: Interner,
}

/// A shoot with the seeds on which it counts.
#[derive(Clone)]
pub(crate) struct ShootEntry {
    occupied: OccupiedSeeds,
    /// The record of the shoot, or the Shoot itself if it cannot be parsed.
    pub(crate) record: Result<Arc<ShootRecord>, Arc<Object>>,
}

/// The seeds on which a shoot counts: the seed in its spec, and the seed in its status if it differs
/// (docs/systems/gardener.md, "Picking").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OccupiedSeeds(pub(crate) [Option<Arc<str>>; 2]);

impl OccupiedSeeds {
    /// The seeds of a shoot with these names of seeds in `spec` and `status`.
    pub(crate) fn of(spec: Option<&str>, status: Option<&str>) -> Self {
        let spec = spec.filter(|name| !name.is_empty());
        let status = status.filter(|name| !name.is_empty() && Some(*name) != spec);
        Self([spec.map(Arc::from), status.map(Arc::from)])
    }

    /// The names of the seeds.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().flatten()
    }
}

impl Fleet {
    /// The index of the seed `name` in the rows.
    ///
    /// # Errors
    /// The index at which the seed would be inserted.
    pub(crate) fn position(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| (*row.name).cmp(name))
    }

    /// The candidate with the name `name`, and its row.
    pub(crate) fn seed(&self, name: &str) -> Option<(Ix, &Row)> {
        let position = self.position(name).ok()?;
        Some((Ix::try_from(position).ok()?, self.rows.get(position)?))
    }

    /// The row of `candidate`.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        &self.rows[candidate as usize]
    }

    /// The shoot at the key `demand`, if it could be parsed.
    pub(crate) fn shoot(&self, demand: &Key) -> Option<&Arc<ShootRecord>> {
        self.shoots.get(demand)?.record.as_ref().ok()
    }

    /// The number of shoots on the seed `name`, which need not exist.
    pub(crate) fn shoots_on(&self, name: &str) -> i64 {
        self.shoot_counts.get(name).copied().unwrap_or(0)
    }

    /// The keys of the shoots on the seed `name`.
    pub(crate) fn keys_on(&self, name: &str) -> impl Iterator<Item = &Key> {
        self.on_seed(name).map(|(key, _)| key)
    }

    /// The shoots on the seed `name`, each with the seeds on which it counts.
    pub(crate) fn on_seed(&self, name: &str) -> impl Iterator<Item = (&Key, &OccupiedSeeds)> {
        let entries = self.shoots.iter().map(|(key, entry)| (key, &entry.occupied));
        entries.filter(move |(_, occupied)| occupied.names().any(|occupied| **occupied == *name))
    }

    /// The reason why the seed `name` cannot be parsed. `None` if it can, or if there is no such seed.
    pub(crate) fn seed_problem(&self, name: &str) -> Option<String> {
        self.unusable.problem(&Key::new(SEEDS, "", name))
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Rules {
        match self.choice {
            RulesChoice::Documented => Rules::Documented,
            RulesChoice::Current => Rules::Current,
            RulesChoice::Auto if self.on_hub || self.seeds_with_current_rules > 0 => Rules::Current,
            RulesChoice::Auto => Rules::Documented,
        }
    }

    /// The rules in force, with the reason why they are in force.
    pub(crate) fn in_force(&self) -> EffectiveRules {
        let found = match self.seeds_with_current_rules {
            0 => "no Seed is known to be of Gardener 1.49 or newer".to_owned(),
            1 => format!("1 of {} Seeds is of Gardener 1.49 or newer", self.seeds()),
            count => format!("{count} of {} Seeds are of Gardener 1.49 or newer", self.seeds()),
        };
        let chosen = self.choice.as_str();
        let because = match (self.choice, self.seeds_with_current_rules) {
            (RulesChoice::Auto, _) if self.on_hub => "the objects are those of a hub".to_owned(),
            (RulesChoice::Auto, _) => found,
            _ if self.is_at_odds() => format!("spec.rules is {chosen}, although {found}"),
            _ => format!("spec.rules is {chosen}"),
        };
        EffectiveRules {
            rules: self.rules(),
            is_at_odds: self.is_at_odds(),
            because,
        }
    }

    /// Whether the configured rules differ from the rules of the Gardener release of the seeds.
    fn is_at_odds(&self) -> bool {
        match self.choice {
            RulesChoice::Auto => false,
            RulesChoice::Documented => self.seeds_with_current_rules > 0,
            RulesChoice::Current => self.seeds_with_current_rules == 0 && !self.rows.is_empty(),
        }
    }

    /// The number of seeds.
    pub(crate) fn seeds(&self) -> Ix {
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }
}

#[cfg(test)]
mod tests;
