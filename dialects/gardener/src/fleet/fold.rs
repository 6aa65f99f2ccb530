//! Folding changes, and their effects on other records.

use std::sync::Arc;

use berth_apimachinery::{Change, Key, Object};
use berth_dialect_contract::config;
use berth_dialect_contract::rules::RulesChoice;
use berth_dialect_contract::{AffectedDemands, Consequences};
use serde::Deserialize;

use super::exposure::Exposure;
use super::profile::{OwnProfile, Profile};
use super::project::Project;
use super::region::RegionMap;
use super::seed::Row;
use super::shoot::{Record, Requirements};
use super::{Fleet, Resident, Seats};
use crate::config::Config;
use crate::kind::shoot::spec::NAMESPACED_CLOUD_PROFILE;
use crate::names::{
    CLOUD_PROFILES, CONFIG_MAPS, DIALECT, EXPOSURE_CLASSES, GARDEN_NAMESPACE, MANAGED_SEEDS,
    NAMESPACED_CLOUD_PROFILES, PROJECTS, SEEDS, SHOOTS,
};

impl Fleet {
    /// Applies one change of any resource that is read.
    pub(crate) fn apply_change(&mut self, change: &Change) -> Consequences {
        let resource = change.key.resource;
        let new = change.new.as_ref();
        if resource == SHOOTS {
            self.take_shoot(&change.key, new)
        } else if resource == SEEDS {
            self.take_seed(&change.key, new)
        } else if resource == CLOUD_PROFILES {
            self.take_profile(&change.key, new)
        } else if resource == NAMESPACED_CLOUD_PROFILES {
            self.take_own_profile(&change.key, new)
        } else if resource == PROJECTS {
            self.take_project(&change.key, new)
        } else if resource == EXPOSURE_CLASSES {
            self.take_exposure_class(&change.key, new)
        } else if resource == MANAGED_SEEDS {
            self.take_managed_seed(&change.key, new)
        } else if resource == CONFIG_MAPS {
            self.take_config_map(&change.key, new)
        } else if change.key == config::key(DIALECT) {
            self.take_config(&change.key, new)
        } else {
            Consequences::nothing()
        }
    }

    fn take_shoot(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let old = self.shoots.remove(key);
        let resident = match new {
            Some(object) => {
                let record = self.unusable.note(key, Record::read(object)).map(Arc::new);
                let seats = record
                    .as_ref()
                    .map_or_else(|| seats_of(object), |record| record.seats.clone());
                Some(Resident { seats, record })
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let none = Seats::default();
        let before = old.as_ref().map_or(&none, |resident| &resident.seats);
        let after = resident.as_ref().map_or(&none, |resident| &resident.seats);
        let (mut targets, freed) = self.move_seats(before, after);

        let old_record = old.as_ref().and_then(|resident| resident.record.as_ref());
        let new_record = resident.as_ref().and_then(|resident| resident.record.as_ref());
        let waits = new_record.is_some_and(|record| record.waits());
        let is_due = waits
            && !old_record.is_some_and(|old_record| {
                old_record.waits()
                    && new_record.is_some_and(|new_record| new_record.wants == old_record.wants)
            });
        if waits {
            self.waiting.insert(key.clone());
        } else {
            self.waiting.remove(key);
        }
        if let Some(resident) = resident {
            self.shoots.insert(key.clone(), resident);
        }
        let moved = self.managed.seeds_of(key);
        let relabelled: Vec<Arc<str>> = moved.into_iter().filter(|seed| self.relabel(seed)).collect();
        let decide = if freed || !relabelled.is_empty() {
            self.all_waiting()
        } else if is_due {
            AffectedDemands::Some(vec![key.clone()])
        } else {
            AffectedDemands::None
        };
        let mut demands = vec![key.clone()];
        if let AffectedDemands::Some(others) = &decide {
            demands.extend(others.iter().filter(|other| *other != key).cloned());
        }
        targets.extend(relabelled);
        Consequences {
            decide,
            demands: AffectedDemands::Some(demands),
            targets: Some(targets),
        }
    }

    fn take_managed_seed(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        if !self.managed.take(key, new) || !self.relabel(&key.name) {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(vec![Arc::clone(&key.name)]),
        }
    }

    /// The seed on which the seed `name` runs, if `name` is a shoot itself.
    fn below(&self, name: &str) -> Option<Arc<str>> {
        self.shoot(self.managed.shoot_of(name)?)?.seed.clone()
    }

    /// Labels the seed `name` with the seed on which it runs. Returns whether a fact of the row changed.
    fn relabel(&mut self, name: &str) -> bool {
        let Ok(place) = self.place(name) else {
            return false;
        };
        let (object, used) = (Arc::clone(&self.rows[place].record.object), self.rows[place].used);
        let below = self.below(name);
        match Row::read(&object, used, below.as_deref(), &mut self.names) {
            Ok(row) => {
                let old = self.rows.set(place, row);
                self.rows[place].facts != old.facts
            }
            // The object has been parsed before; the seed below does not affect parsing.
            Err(_) => false,
        }
    }

    /// Moves a shoot from its seats `before` to `after`. Returns the existing seeds whose count changed, and
    /// whether a full seed got room.
    fn move_seats(&mut self, before: &Seats, after: &Seats) -> (Vec<Arc<str>>, bool) {
        let mut touched = Vec::new();
        let mut freed = false;
        let removed = before
            .names()
            .filter(|name| !after.names().any(|other| other == *name))
            .map(|name| (name, -1));
        let added = after
            .names()
            .filter(|name| !before.names().any(|other| other == *name))
            .map(|name| (name, 1));
        for (name, step) in removed.chain(added) {
            let count = self.seats.get(name).copied().unwrap_or(0) + step;
            if count == 0 {
                self.seats.remove(name);
            } else {
                self.seats.insert(Arc::clone(name), count);
            }
            if let Ok(place) = self.place(name)
                && let Some(row) = self.rows.get_mut(place)
            {
                let full = !row.has_room(0);
                row.used = count;
                freed |= full && row.has_room(0);
                touched.push(Arc::clone(name));
            }
        }
        (touched, freed)
    }

    fn take_seed(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let used = self.seats.get(&key.name).copied().unwrap_or(0);
        let row = match new {
            Some(object) => {
                let below = self.below(&key.name);
                let read = Row::read(object, used, below.as_deref(), &mut self.names);
                self.unusable.note(key, read)
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let rules = self.rules();
        let is_modern = |row: &Row| usize::from(row.facts.modern);
        self.modern += row.as_ref().map_or(0, is_modern);
        let is_unchanged = match (self.place(&key.name), row) {
            (Ok(place), Some(row)) => {
                let old = self.rows.set(place, row);
                self.modern -= is_modern(&old);
                self.rows.get(place).is_some_and(|row| row.facts == old.facts)
            }
            (Err(place), Some(row)) => {
                self.rows.insert(place, row);
                false
            }
            (Ok(place), None) => {
                let old = self.rows.remove(place);
                self.modern -= is_modern(&old);
                false
            }
            (Err(_), None) => true,
        };
        let decide = if is_unchanged {
            AffectedDemands::None
        } else {
            self.all_waiting()
        };
        // If the rules change, readiness and visibility change for every seed.
        let has_same_rules = self.rules() == rules;
        Consequences {
            demands: decide.clone(),
            decide,
            targets: has_same_rules.then(|| vec![Arc::clone(&key.name)]),
        }
    }

    fn take_profile(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let profile = match new {
            Some(object) => self.unusable.note(key, Profile::read(object)).map(Arc::new),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let old = match &profile {
            Some(profile) => self.profiles.insert(Arc::clone(&key.name), Arc::clone(profile)),
            None => self.profiles.remove(&key.name),
        };
        if old == profile {
            return Consequences::nothing();
        }
        self.due_where(|wants| self.root_of(&wants.namespace, &wants.profile) == Some(&*key.name))
    }

    fn take_own_profile(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let profile = match new {
            Some(object) => self.unusable.note(key, OwnProfile::read(object)).map(Arc::new),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let place = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let old = match &profile {
            Some(profile) => self.own_profiles.insert(place, Arc::clone(profile)),
            None => self.own_profiles.remove(&place),
        };
        if old == profile {
            return Consequences::nothing();
        }
        self.due_where(|wants| {
            let (kind, name) = &wants.profile;
            kind == NAMESPACED_CLOUD_PROFILE && *name == *key.name && *wants.namespace == *key.namespace
        })
    }

    /// Applies an ExposureClass. It makes nothing due: its requirements are copied to new shoots.
    fn take_exposure_class(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let class = match new {
            Some(object) => self.unusable.note(key, Exposure::read(object)),
            None => {
                self.unusable.forget(key);
                None
            }
        };
        match class {
            Some(class) => drop(
                self.exposure_classes
                    .insert(Arc::clone(&key.name), Arc::new(class)),
            ),
            None => drop(self.exposure_classes.remove(&key.name)),
        }
        Consequences::nothing()
    }

    fn take_config_map(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        if *key.namespace != *GARDEN_NAMESPACE {
            return Consequences::nothing();
        }
        let map = new.and_then(|object| RegionMap::read(key, object)).map(Arc::new);
        let old = match &map {
            Some(map) => self.region_maps.insert(Arc::clone(&key.name), Arc::clone(map)),
            None => self.region_maps.remove(&key.name),
        };
        if old == map {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(Vec::new()),
        }
    }

    fn take_project(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let project = match new {
            Some(object) => {
                let read = self.unusable.note(key, Project::read(object));
                Some(Arc::new(read.unwrap_or_else(|| Project::unreadable(object))))
            }
            None => {
                self.unusable.forget(key);
                None
            }
        };
        let old = match &project {
            Some(project) => self.projects.insert(Arc::clone(&key.name), Arc::clone(project)),
            None => self.projects.remove(&key.name),
        };
        let is_same = match (&old, &project) {
            (Some(old), Some(new)) => old.has_same_settings(new),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return Consequences::nothing();
        }
        if let Some(old) = &old {
            self.remove_claim(old);
        }
        if let Some(new) = &project {
            let names = self.grounds.entry(Arc::clone(&new.namespace)).or_default();
            names.insert(new.claim.clone());
        }
        let grounds: Vec<&Arc<str>> = old
            .iter()
            .chain(&project)
            .map(|project| &project.namespace)
            .collect();
        self.due_where(|wants| grounds.iter().any(|ground| ***ground == *wants.namespace))
    }

    /// Removes the claim of a project to its namespace.
    fn remove_claim(&mut self, project: &Project) {
        let Some(names) = self.grounds.get_mut(&project.namespace) else {
            return;
        };
        names.remove(&project.claim);
        if names.is_empty() {
            self.grounds.remove(&project.namespace);
        }
    }

    /// Makes waiting shoots due if `concerns` returns true for their requirements.
    fn due_where(&self, concerns: impl Fn(&Requirements) -> bool) -> Consequences {
        let waiting = self
            .waiting
            .iter()
            .filter(|key| self.shoot(key).is_some_and(|record| concerns(&record.wants)));
        let decide = some(waiting.cloned().collect());
        Consequences {
            demands: decide.clone(),
            decide,
            targets: Some(Vec::new()),
        }
    }

    /// Applies a configuration. If it is invalid, the last valid one stays in force; if there was none,
    /// nothing is decided.
    fn take_config(&mut self, key: &Key, new: Option<&Arc<Object>>) -> Consequences {
        let before = (self.config.clone(), self.config_problem.clone(), self.choice);
        let rules = self.rules();
        let read = new.map(|object| {
            let path = format!("spec.{DIALECT}");
            let spec = object.value().get("spec").and_then(|spec| spec.get(DIALECT));
            Config::read(spec, &path).map_err(|errors| berth_apimachinery::field::aggregate(&errors))
        });
        self.unusable.forget(key);
        match read {
            None => {
                self.config = Config::default();
                self.choice = RulesChoice::default();
                self.configured = false;
                self.config_problem = None;
            }
            Some(Ok(config)) => {
                self.config = config;
                self.choice = new
                    .map(|object| RulesChoice::of(object.value()))
                    .unwrap_or_default();
                self.configured = true;
                self.config_problem = None;
            }
            Some(Err(problem)) => {
                let problem: Arc<str> = problem.into();
                self.unusable.note::<()>(key, Err(problem.to_string()));
                self.config_problem = (!self.configured).then_some(problem);
            }
        }
        if before == (self.config.clone(), self.config_problem.clone(), self.choice) {
            return Consequences::nothing();
        }
        let decide = self.all_waiting();
        Consequences {
            demands: decide.clone(),
            decide,
            targets: (self.rules() == rules).then(Vec::new),
        }
    }

    fn all_waiting(&self) -> AffectedDemands {
        some(self.waiting.iter().cloned().collect())
    }
}

fn some(keys: Vec<Key>) -> AffectedDemands {
    if keys.is_empty() {
        AffectedDemands::None
    } else {
        AffectedDemands::Some(keys)
    }
}

/// The seats of a shoot that cannot be parsed, but still occupies its seeds.
fn seats_of(object: &Object) -> Seats {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct NamedReference {
        seed_name: Option<String>,
    }
    let name = |part: &str| {
        let part = object.value().get(part)?;
        NamedReference::deserialize(part).ok()?.seed_name
    };
    Seats::of(name("spec").as_deref(), name("status").as_deref())
}
