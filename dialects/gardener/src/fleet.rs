//! The inventory: seeds as columns in name order, shoots, profiles and configuration, all copied on write.

pub(crate) mod exposure;
mod fold;
mod managed;
pub(crate) mod profile;
pub(crate) mod project;
pub(crate) mod region;
pub(crate) mod seed;
pub(crate) mod shoot;

use std::sync::Arc;

use berth_apimachinery::Key;
use berth_dialect_columns::{Interner, UnusableObjects};
use berth_dialect_contract::rules::{InForce, Rules, RulesChoice};
use berth_scheduling::Ix;
use imbl::{HashMap, OrdMap, OrdSet, Vector};

use crate::config::Config;
use exposure::Exposure;
use managed::ManagedSeeds;
use profile::{OwnProfile, Profile};
use project::{Claim, Project};
use region::RegionMap;
use seed::Row;
use shoot::{Record, Requirements};

/// All objects of the scheduler. Cloning copies a handful of pointers.
#[derive(Clone, Default)]
pub struct Fleet {
    /// The configuration in force.
    pub(crate) config: Config,
    /// The configured choice of rules.
    pub(crate) choice: RulesChoice,
    /// Whether the objects are on a hub.
    pub(crate) on_hub: bool,
    /// Number of seeds that report a version of Gardener with the current rules.
    modern: usize,
    /// Whether [`Fleet::config`] was read from an object.
    pub(crate) configured: bool,
    /// Problem of the stored configuration, if it was never valid.
    pub(crate) config_problem: Option<Arc<str>>,
    /// The seeds, by name.
    pub(crate) rows: Vector<Row>,
    /// Number of shoots on each seed, including missing seeds.
    seats: HashMap<Arc<str>, i64>,
    /// The profiles, by name.
    pub(crate) profiles: OrdMap<Arc<str>, Arc<Profile>>,
    /// The NamespacedCloudProfiles, by namespace and name.
    own_profiles: OrdMap<(Arc<str>, Arc<str>), Arc<OwnProfile>>,
    /// The ConfigMaps with distances between regions, by name.
    region_maps: OrdMap<Arc<str>, Arc<RegionMap>>,
    /// The requirements of each ExposureClass on seeds, by name.
    exposure_classes: OrdMap<Arc<str>, Arc<Exposure>>,
    /// The seeds that are shoots themselves.
    managed: ManagedSeeds,
    /// The projects, by name.
    projects: OrdMap<Arc<str>, Arc<Project>>,
    /// The claims of projects to namespaces, by namespace.
    grounds: OrdMap<Arc<str>, OrdSet<Claim>>,
    /// The shoots, including shoots that cannot be parsed, since they use room, too.
    pub(crate) shoots: OrdMap<Key, Resident>,
    /// The shoots that wait for a seed.
    waiting: OrdSet<Key>,
    /// Objects that could not be parsed, with the reason.
    pub(crate) unusable: UnusableObjects,
    /// Label keys and values, provider types and regions as small numbers.
    pub(crate) names: Names,
}

/// The interned texts of the columns.
#[derive(Clone, Default)]
pub(crate) struct Names {
    pub(crate) labels: Interner,
    pub(crate) providers: Interner,
    pub(crate) regions: Interner,
}

/// A shoot with its seats.
#[derive(Clone)]
pub(crate) struct Resident {
    seats: Seats,
    pub(crate) record: Option<Arc<Record>>,
}

/// The seeds on which a shoot counts: the seed in its spec, and the seed in its status if it differs
/// (docs/systems/gardener.md, "Picking").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seats(pub(crate) [Option<Arc<str>>; 2]);

impl Seats {
    /// The seats of a shoot with these seed names.
    pub(crate) fn of(spec: Option<&str>, status: Option<&str>) -> Self {
        let spec = spec.filter(|name| !name.is_empty());
        let status = status.filter(|name| !name.is_empty() && Some(*name) != spec);
        Self([spec.map(Arc::from), status.map(Arc::from)])
    }

    /// The seeds' names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().flatten()
    }
}

impl Fleet {
    /// The index of the seed `name`, or the index at which it would be inserted.
    pub(crate) fn place(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| (*row.name).cmp(name))
    }

    /// The candidate with this name.
    pub(crate) fn seed(&self, name: &str) -> Option<(Ix, &Row)> {
        let place = self.place(name).ok()?;
        Some((Ix::try_from(place).ok()?, self.rows.get(place)?))
    }

    /// The row of a candidate.
    pub(crate) fn row(&self, candidate: Ix) -> &Row {
        &self.rows[candidate as usize]
    }

    /// The shoot of a demand, if it could be parsed.
    pub(crate) fn shoot(&self, demand: &Key) -> Option<&Arc<Record>> {
        self.shoots.get(demand)?.record.as_ref()
    }

    /// Number of shoots on the seed `name`, which need not exist.
    pub(crate) fn shoots_on(&self, name: &str) -> i64 {
        self.seats.get(name).copied().unwrap_or(0)
    }

    /// The shoots on the seed `name`.
    pub(crate) fn keys_on(&self, name: &str) -> impl Iterator<Item = &Key> {
        let is_on_seed = move |resident: &Resident| resident.seats.names().any(|seat| **seat == *name);
        self.shoots
            .iter()
            .filter(move |(_, resident)| is_on_seed(resident))
            .map(|(key, _)| key)
    }

    /// The shoots for whose requirements `matches` returns true.
    pub(crate) fn shoots_with(&self, matches: impl Fn(&Requirements) -> bool) -> impl Iterator<Item = &Key> {
        let matches = move |resident: &Resident| {
            resident
                .record
                .as_ref()
                .is_some_and(|record| matches(&record.wants))
        };
        self.shoots
            .iter()
            .filter(move |(_, resident)| matches(resident))
            .map(|(key, _)| key)
    }

    /// The rules in force.
    pub(crate) fn rules(&self) -> Rules {
        match self.choice {
            RulesChoice::Documented => Rules::Documented,
            RulesChoice::Current => Rules::Current,
            RulesChoice::Auto if self.on_hub || self.modern > 0 => Rules::Current,
            RulesChoice::Auto => Rules::Documented,
        }
    }

    /// The rules in force, with the reason.
    pub(crate) fn in_force(&self) -> InForce {
        let found = match self.modern {
            0 => "no Seed says that it is of Gardener 1.49 or newer".to_owned(),
            1 => format!("1 of {} Seeds is of Gardener 1.49 or newer", self.seeds()),
            modern => format!("{modern} of {} Seeds are of Gardener 1.49 or newer", self.seeds()),
        };
        let chosen = self.choice.as_str();
        let because = match (self.choice, self.modern) {
            (RulesChoice::Auto, _) if self.on_hub => "the objects are those of a hub".to_owned(),
            (RulesChoice::Auto, _) => found,
            _ if self.is_at_odds() => format!("spec.rules is {chosen}, although {found}"),
            _ => format!("spec.rules is {chosen}"),
        };
        InForce {
            rules: self.rules(),
            is_at_odds: self.is_at_odds(),
            because,
        }
    }

    /// Whether the configured rules differ from the rules of the seeds' release.
    fn is_at_odds(&self) -> bool {
        match self.choice {
            RulesChoice::Auto => false,
            RulesChoice::Documented => self.modern > 0,
            RulesChoice::Current => self.modern == 0 && !self.rows.is_empty(),
        }
    }

    /// Number of seeds.
    pub(crate) fn seeds(&self) -> Ix {
        Ix::try_from(self.rows.len()).unwrap_or(Ix::MAX)
    }
}

#[cfg(test)]
mod tests;
